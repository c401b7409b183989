/*
 * lee_stack_push(3): a stack of nodes inside the program's objects.
 *
 *     struct page { struct lee_node node; char bytes[4096]; };
 *     static struct lee_stack pages = LEE_STACK_INIT;
 *
 *     lee_stack_push(&pages, &page->node);
 *
 *     struct lee_node *node, *next;
 *     for (node = lee_stack_pop_all(&pages); node != NULL; node = next) {
 *             next = lee_stack_next(node);
 *             free(LEE_OBJECT(node, struct page, node));
 *     }
 *
 * A stack is for the threads of one process, and has the size of a pointer. Zeroed
 * memory is an empty stack, and there is nothing to destroy. Its nodes lie inside
 * objects of the program's (LEE_OBJECT()). Both pushes may be used on one stack, by
 * any thread at any time.
 *
 * A node is in one stack or queue at a time, and no call finds out that it is not. If a
 * node is pushed that the stack has, pops and walks return it and those above it for
 * ever, by turns. If it is pushed to a second stack, the first one goes on into that
 * one, and loses the nodes below.
 *
 * Memory ordering. What was done before a push happens before the return of the call
 * that pops that node.
 *
 * Lifetime. The stack lives until each call on it has returned.
 *
 * Signals. The pushes, lee_stack_pop_all() and lee_stack_is_empty() are
 * async-signal-safe.
 *
 * Fork. The child has a copy. A link that lee_stack_push_wait_free() was about to
 * write is missing there forever, and a walk that reaches it does not return.
 *
 * See also lee_queue_push(3), leeward(7).
 */
#ifndef LEEWARD_STACK_H
#define LEEWARD_STACK_H

#include <leeward/node.h>

LEE_1_BEGIN

/* A stack. Programs use its address only. */
struct lee_stack {
	struct lee_node *lee_1_top;
};
LEE_1_ASSERT(sizeof(struct lee_stack) == sizeof(void *), "the stack is a part of the binary interface");

#define LEE_STACK_INIT { NULL }

struct lee_node *lee_1_stack_await(struct lee_node *node);

/* Makes the memory, which no thread uses, an empty stack. */
LEE_1_INLINE void lee_stack_init(struct lee_stack *stack)
{
	stack->lee_1_top = NULL;
}

/*
 * Pushes a node by a compare-exchange, which is tried again if another thread was
 * faster: it is lock-free. Returns true if the stack was empty.
 */
LEE_1_INLINE bool lee_stack_push(struct lee_stack *stack, struct lee_node *node)
{
	/* Relaxed: the exchange decides. */
	struct lee_node *top = __atomic_load_n(&stack->lee_1_top, __ATOMIC_RELAXED);

	LEE_1_RELEASING(node);
	do {
		/* Relaxed: published by the exchange. */
		__atomic_store_n(&node->lee_1_next, top == NULL ? LEE_1_END_NODE : top, __ATOMIC_RELAXED);
		/* Release: partner of the acquires of the pops. */
	} while (!__atomic_compare_exchange_n(&stack->lee_1_top, &top, node, true, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
	return top == NULL;
}

/*
 * Pushes a node by two exchanges: it is wait-free. A thread that is preempted between
 * them holds up the pops and walks that reach its node, which sleep until it wakes
 * them. Returns true if the stack was empty.
 */
LEE_1_INLINE bool lee_stack_push_wait_free(struct lee_stack *stack, struct lee_node *node)
{
	struct lee_node *top;

	/* Relaxed: published by the exchange. */
	__atomic_store_n(&node->lee_1_next, (struct lee_node *)NULL, __ATOMIC_RELAXED);
	LEE_1_RELEASING(node);
	/* Release: as above. */
	top = __atomic_exchange_n(&stack->lee_1_top, node, __ATOMIC_RELEASE);
	lee_1_node_link(&node->lee_1_next, top == NULL ? LEE_1_END_NODE : top);
	return top == NULL;
}

/* Returns true if the stack is empty. */
LEE_1_INLINE bool lee_stack_is_empty(const struct lee_stack *stack)
{
	/* Relaxed: says nothing about a node. */
	return __atomic_load_n(&stack->lee_1_top, __ATOMIC_RELAXED) == NULL;
}

/*
 * Pops all nodes, by one exchange: it is wait-free. Returns the top node, or NULL if
 * there is none; lee_stack_next() leads to the others.
 */
LEE_1_INLINE struct lee_node *lee_stack_pop_all(struct lee_stack *stack)
{
	/* Acquire: partner of the releases of the pushes. */
	struct lee_node *top = __atomic_exchange_n(&stack->lee_1_top, (struct lee_node *)NULL, __ATOMIC_ACQUIRE);

	LEE_1_ACQUIRED(top);
	return top;
}

/*
 * Leads from a node that lee_stack_pop_all() or this function returned to the one
 * below. It waits for a lee_stack_push_wait_free() that has not linked the node.
 * Returns NULL for the last node.
 */
LEE_1_INLINE struct lee_node *lee_stack_next(struct lee_node *node)
{
	/* Acquire: partner of the release in lee_1_node_link(). */
	struct lee_node *next = __atomic_load_n(&node->lee_1_next, __ATOMIC_ACQUIRE);

	if (LEE_1_UNLIKELY(lee_1_node_is_missing(next))) {
		next = lee_1_stack_await(node);
		LEE_1_ACQUIRED(node);
	}
	if (next == LEE_1_END_NODE)
		return NULL;
	LEE_1_ACQUIRED(next);
	return next;
}

/*
 * Pops the top node. It reads the node's link before it exchanges the top: so either
 * no other thread calls it or lee_stack_pop_all() meanwhile (a lock, or one consumer),
 * or each call of it is inside a read section of RCU (lee_memb_read_lock()), and
 * popped nodes are freed or pushed again after a grace period. Returns the node, or
 * NULL if there is none.
 */
LEE_1_INLINE struct lee_node *lee_stack_pop(struct lee_stack *stack)
{
	/* Acquire: as in lee_stack_pop_all(). */
	struct lee_node *top = __atomic_load_n(&stack->lee_1_top, __ATOMIC_ACQUIRE);

	/* Acquire: as above, where the top is another. */
	while (top != NULL && !__atomic_compare_exchange_n(&stack->lee_1_top, &top, lee_stack_next(top), false,
							   __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
		;
	LEE_1_ACQUIRED(top);
	return top;
}

LEE_1_END

#endif
