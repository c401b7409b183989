/*
 * LEE_OBJECT(3): the object that a node of a queue, a stack or a map lies in.
 *
 * A node lies inside an object of the program's, at any offset, and a queue or a stack
 * of nodes leads from one to the next: it allocates nothing. A struct lee_node is that
 * of lee_queue_push() and lee_stack_push(), and has the size of a pointer. It needs no
 * initialization, since a push prepares it. (The node of lee_map_add() is a struct
 * lee_map_node.)
 *
 * The header is included by <leeward/queue.h>, <leeward/stack.h> and <leeward/map.h>,
 * and programs include those.
 */
#ifndef LEEWARD_NODE_H
#define LEEWARD_NODE_H

#include <leeward/lock_words.h>

LEE_1_BEGIN

/* A node. A push prepares it: it needs no initialization. Programs use its address only. */
struct lee_node {
	struct lee_node *lee_1_next;
};
LEE_1_ASSERT(sizeof(struct lee_node) == sizeof(void *), "the node is a part of the binary interface");

/* The object of this `type` whose `member` the `node` is: LEE_OBJECT(node, struct job, node). */
#define LEE_OBJECT(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

/* A link that is not written, and for which a thread waits. */
#define LEE_1_AWAITED ((struct lee_node *)1)
/* The link of a stack's last node. */
#define LEE_1_END_NODE ((struct lee_node *)2)

LEE_1_COLD void lee_1_node_wake(void);

/* Returns true if a link does not lead on yet. */
LEE_1_INLINE bool lee_1_node_is_missing(const struct lee_node *next)
{
	return next == NULL || next == LEE_1_AWAITED;
}

/* Writes a link, and wakes the thread that waits for it. What the link lies in may be gone then. */
LEE_1_INLINE void lee_1_node_link(struct lee_node **link, struct lee_node *next)
{
	/* Release: partner of the acquires that read a link. */
	if (LEE_1_UNLIKELY(__atomic_exchange_n(link, next, __ATOMIC_RELEASE) == LEE_1_AWAITED))
		lee_1_node_wake();
}

LEE_1_END

#endif
