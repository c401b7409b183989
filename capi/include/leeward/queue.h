/*
 * lee_queue_push(3): a queue of nodes inside the program's objects.
 *
 *     struct job { struct lee_node node; int number; };
 *     static struct lee_queue jobs = LEE_QUEUE_INIT;
 *
 *     lee_queue_push(&jobs, &job->node);
 *
 *     struct lee_node *node = lee_queue_pop(&jobs);
 *     struct job *job = LEE_OBJECT(node, struct job, node);
 *
 * A queue is for the threads of one process, has 128 bytes, and takes any number of
 * nodes (LEE_OBJECT()). Zeroed memory is an empty queue, and there is nothing to
 * destroy. A popped node may be freed or pushed again at once.
 *
 * A node is in one queue or stack at a time, and no call finds out that it is not. If
 * the node is pushed again that was pushed last, it is popped for ever; if others were
 * pushed after it, these are lost. If it is pushed to a second queue or stack, the
 * first one waits for ever where others follow it.
 *
 * Any thread pushes at any time, and asks whether the queue is empty; any queue may be
 * the one that nodes are moved to. One thread at a time pops, or moves nodes from the
 * queue.
 *
 * A producer that is preempted in the midst of a push holds up the pops behind it, and
 * no push. lee_queue_pop() rechecks for some microseconds, then sleeps until that
 * producer wakes it.
 *
 * Memory ordering. What was done before a push happens before the return of the pop of
 * that node.
 *
 * Lifetime. The queue lives until each call on it has returned.
 *
 * Signals. lee_queue_push() and lee_queue_is_empty() are async-signal-safe.
 *
 * Fork. The child has a copy. A producer that was in the midst of its push is not
 * there: its node and those behind it cannot be reached. lee_queue_pop() then returns
 * NULL, and the others EBUSY, after a millisecond, where the library noticed the fork.
 *
 * See also lee_stack_push(3), leeward(7).
 */
#ifndef LEEWARD_QUEUE_H
#define LEEWARD_QUEUE_H

#include <leeward/deadline.h>
#include <leeward/node.h>

LEE_1_BEGIN

/* A queue. Programs use its address only. */
struct lee_queue {
	/* The last node; NULL: empty; LEE_1_AWAITED: empty, and the consumer sleeps. */
	struct lee_node *lee_1_tail;
	char lee_1_space[64 - sizeof(void *)];
	/* The consumer's: the first node, and the word that it sleeps on. */
	struct lee_node *lee_1_first;
	uint32_t lee_1_asleep;
	char lee_1_reserved[60 - sizeof(void *)];
};
LEE_1_ASSERT(sizeof(struct lee_queue) == 128, "the queue is a part of the binary interface");

#define LEE_QUEUE_INIT { NULL, { 0 }, NULL, 0, { 0 } }

LEE_1_COLD void lee_1_queue_wake(struct lee_queue *queue);
struct lee_node *lee_1_queue_pop_slow(struct lee_queue *queue);
int lee_1_queue_timedpop_slow(struct lee_queue *queue, struct lee_node **node, const struct timespec *deadline);
int lee_1_queue_splice(struct lee_queue *to, struct lee_queue *from);

/* Makes the memory, which no thread uses, an empty queue. */
LEE_1_INLINE void lee_queue_init(struct lee_queue *queue)
{
	queue->lee_1_tail = NULL;
	queue->lee_1_first = NULL;
	queue->lee_1_asleep = 0;
}

/*
 * Pushes a node to the end, wait-free, and wakes the consumer if it sleeps. Returns
 * true if the queue was empty.
 */
LEE_1_INLINE bool lee_queue_push(struct lee_queue *queue, struct lee_node *node)
{
	struct lee_node *before;
	bool was_empty;

	/* Relaxed: published by the exchange. */
	__atomic_store_n(&node->lee_1_next, (struct lee_node *)NULL, __ATOMIC_RELAXED);
	/*
	 * Acquire and release: this producer writes the link of the node before, after
	 * that one's producer (or the consumer) has emptied it.
	 */
	before = __atomic_exchange_n(&queue->lee_1_tail, node, __ATOMIC_ACQ_REL);
	was_empty = lee_1_node_is_missing(before);
	LEE_1_RELEASING(node);
	lee_1_node_link(was_empty ? &queue->lee_1_first : &before->lee_1_next, node);
	if (LEE_1_UNLIKELY(before == LEE_1_AWAITED))
		lee_1_queue_wake(queue);
	return was_empty;
}

/* Returns true if the queue is empty. A node whose push has not returned counts or not. */
LEE_1_INLINE bool lee_queue_is_empty(const struct lee_queue *queue)
{
	/* Relaxed: says nothing about a node. */
	return lee_1_node_is_missing(__atomic_load_n(&queue->lee_1_tail, __ATOMIC_RELAXED));
}

/*
 * Pops the first node, if that is possible without waiting.
 *
 * EAGAIN: the queue is empty.
 * EBUSY: a producer is in the midst of its push.
 */
LEE_1_INLINE int lee_queue_trypop(struct lee_queue *queue, struct lee_node **node)
{
	/* Acquire: partner of the release in lee_1_node_link(). */
	struct lee_node *first = __atomic_load_n(&queue->lee_1_first, __ATOMIC_ACQUIRE);
	struct lee_node *next, *last;

	if (lee_1_node_is_missing(first))
		return lee_queue_is_empty(queue) ? EAGAIN : EBUSY;
	next = __atomic_load_n(&first->lee_1_next, __ATOMIC_ACQUIRE);
	if (lee_1_node_is_missing(next)) {
		/* Relaxed: released to the next producer by the exchange. */
		__atomic_store_n(&queue->lee_1_first, (struct lee_node *)NULL, __ATOMIC_RELAXED);
		last = first;
		if (__atomic_compare_exchange_n(&queue->lee_1_tail, &last, (struct lee_node *)NULL, false,
						__ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
			LEE_1_ACQUIRED(first);
			*node = first;
			return 0;
		}
		next = __atomic_load_n(&first->lee_1_next, __ATOMIC_ACQUIRE);
	}
	if (lee_1_node_is_missing(next)) {
		/* Relaxed: the consumer's own while the queue is not empty. */
		__atomic_store_n(&queue->lee_1_first, first, __ATOMIC_RELAXED);
		return EBUSY;
	}
	/* Relaxed: as above. */
	__atomic_store_n(&queue->lee_1_first, next, __ATOMIC_RELAXED);
	LEE_1_ACQUIRED(first);
	*node = first;
	return 0;
}

/*
 * Pops the first node, waiting until there is one. Returns the node; and NULL in the
 * child of a fork only, where a link may be missing forever. The call may be made
 * again then.
 */
LEE_1_INLINE struct lee_node *lee_queue_pop(struct lee_queue *queue)
{
	struct lee_node *node;

	if (lee_queue_trypop(queue, &node) != 0) {
		node = lee_1_queue_pop_slow(queue);
		LEE_1_ACQUIRED(node);
	}
	return node;
}

/*
 * Pops the first node, waiting until the deadline at most. Errors: EINVAL.
 *
 * ETIMEDOUT: the deadline has passed, and the queue is empty.
 * EBUSY: the deadline has passed, and a producer is in the midst of its push.
 */
LEE_1_INLINE int lee_queue_timedpop(struct lee_queue *queue, struct lee_node **node, const struct timespec *deadline)
{
	int error;

	if (lee_queue_trypop(queue, node) == 0)
		return 0;
	error = lee_1_queue_timedpop_slow(queue, node, deadline);
	if (error == 0)
		LEE_1_ACQUIRED(*node);
	return error;
}

/*
 * Moves all nodes of `from` to the end of `to`, in their order, in a time that does
 * not depend on how many there are. It may wait for the producer of the first node. No
 * other thread pops from `from` meanwhile; the other queue needs nothing.
 *
 * EAGAIN: there were no nodes.
 * EBUSY: the first link is missing, in the child of a fork only.
 */
LEE_1_INLINE int lee_queue_splice(struct lee_queue *to, struct lee_queue *from)
{
	return lee_1_queue_splice(to, from);
}

LEE_1_END

#endif
