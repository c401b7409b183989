/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/leeward/wfs.h: the types of urcu/wfstack.h, and its algorithm on stacks without a mutex.
 * Programs do not include this.
 *
 * A stack is the address of its top node, or the end mark. A node's link is NULL until its pusher
 * has stored it, and the end mark in the bottom node.
 */
#ifndef LEEWARD_COMPAT_URCU_LEEWARD_WFS_H
#define LEEWARD_COMPAT_URCU_LEEWARD_WFS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "../assert.h"
#include "../compiler.h"
#include "wait.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the nonblocking functions return in place of a node where the blocking ones wait. */
#define CDS_WFS_WOULDBLOCK ((struct cds_wfs_node *)-1)

/* Bits of the state that a pop reports. */
enum cds_wfs_state {
    CDS_WFS_STATE_LAST = 1 << 0
};

/* The link of an element. */
struct cds_wfs_node {
    struct cds_wfs_node *next;
};

/* The nodes that were popped together. */
struct cds_wfs_head {
    struct cds_wfs_node node;
};

/* A stack without a mutex. */
struct __cds_wfs_stack {
    struct cds_wfs_head *head;
};

/* A stack with a mutex. */
struct cds_wfs_stack {
    struct cds_wfs_head *head;
    pthread_mutex_t lock;
};

/* A pointer to either stack. */
typedef union {
    struct __cds_wfs_stack *_s;
    struct cds_wfs_stack *s;
} LEE_1_URCU_EITHER cds_wfs_stack_ptr_t;

typedef union {
    const struct __cds_wfs_stack *_s;
    const struct cds_wfs_stack *s;
} LEE_1_URCU_EITHER cds_wfs_stack_const_ptr_t;

/* The pointer as an argument of the functions for both stacks: the union in C++, itself in C. */
#ifdef __cplusplus
static inline cds_wfs_stack_ptr_t __cds_wfs_stack_cast(struct __cds_wfs_stack *s)
{
    cds_wfs_stack_ptr_t either;

    either._s = s;
    return either;
}

static inline cds_wfs_stack_ptr_t cds_wfs_stack_cast(struct cds_wfs_stack *s)
{
    cds_wfs_stack_ptr_t either;

    either.s = s;
    return either;
}

static inline cds_wfs_stack_const_ptr_t __cds_wfs_stack_const_cast(const struct __cds_wfs_stack *s)
{
    cds_wfs_stack_const_ptr_t either;

    either._s = s;
    return either;
}

static inline cds_wfs_stack_const_ptr_t cds_wfs_stack_const_cast(const struct cds_wfs_stack *s)
{
    cds_wfs_stack_const_ptr_t either;

    either.s = s;
    return either;
}
#else
static inline struct __cds_wfs_stack *__cds_wfs_stack_cast(struct __cds_wfs_stack *s)
{
    return s;
}

static inline struct cds_wfs_stack *cds_wfs_stack_cast(struct cds_wfs_stack *s)
{
    return s;
}

static inline const struct __cds_wfs_stack *__cds_wfs_stack_const_cast(const struct __cds_wfs_stack *s)
{
    return s;
}

static inline const struct cds_wfs_stack *cds_wfs_stack_const_cast(const struct cds_wfs_stack *s)
{
    return s;
}
#endif

/*
 * The end of every stack: no node's address, and not NULL, which is a link that is still missing.
 */
#define LEE_1_URCU_WFS_END ((struct cds_wfs_node *)1)
#define LEE_1_URCU_WFS_EMPTY ((struct cds_wfs_head *)1)

/* A node as a head, which begins with it, and back. Not by member: the end mark is no address. */
static inline struct cds_wfs_head *lee_1_urcu_wfs_head(struct cds_wfs_node *node)
{
    return (struct cds_wfs_head *)(void *)node;
}

static inline struct cds_wfs_node *lee_1_urcu_wfs_node(struct cds_wfs_head *head)
{
    return (struct cds_wfs_node *)(void *)head;
}

/* Pushes the node. Returns true if the stack was not empty. */
static inline bool lee_1_urcu_wfs_push(struct __cds_wfs_stack *s, struct cds_wfs_node *node)
{
    struct cds_wfs_head *below;

    urcu_posix_assert(node->next == NULL);
    /*
     * SeqCst: the promised barrier between what the pusher stored and the push, and what it asks
     * afterwards (does the consumer sleep?). Its release is the partner of the acquires in
     * lee_1_urcu_wfs_pop() and lee_1_urcu_wfs_pop_all().
     */
    below = __atomic_exchange_n(&s->head, lee_1_urcu_wfs_head(node), __ATOMIC_SEQ_CST);
    /* Release: partner of the acquire in lee_1_urcu_wfs_link(), which leads to the node below. */
    __atomic_store_n(&node->next, lee_1_urcu_wfs_node(below), __ATOMIC_RELEASE);
    return below != LEE_1_URCU_WFS_EMPTY;
}

/*
 * The link of a node: waits until its pusher has stored it, or WOULDBLOCK. The end mark at the end.
 */
static inline struct cds_wfs_node *lee_1_urcu_wfs_link(struct cds_wfs_node *node, int blocking)
{
    struct cds_wfs_node *next;
    unsigned int round = 0;

    /* Acquire: partner of the release in lee_1_urcu_wfs_push(). */
    while (caa_unlikely((next = __atomic_load_n(&node->next, __ATOMIC_ACQUIRE)) == NULL)) {
        if (!blocking)
            return CDS_WFS_WOULDBLOCK;
        lee_1_urcu_wait(round++);
    }
    return next;
}

/*
 * Pops the top node. `state`, unless NULL, is set to CDS_WFS_STATE_LAST if it was the last, else to
 * 0.
 */
static inline struct cds_wfs_node *lee_1_urcu_wfs_pop(struct __cds_wfs_stack *s, int *state, int blocking)
{
    struct cds_wfs_head *top;
    struct cds_wfs_node *next;

    if (state)
        *state = 0;
    for (;;) {
        /* Acquire: partner of the release of the exchange in lee_1_urcu_wfs_push(). */
        top = __atomic_load_n(&s->head, __ATOMIC_ACQUIRE);
        if (top == LEE_1_URCU_WFS_EMPTY)
            return NULL;
        next = lee_1_urcu_wfs_link(lee_1_urcu_wfs_node(top), blocking);
        if (next == CDS_WFS_WOULDBLOCK)
            return CDS_WFS_WOULDBLOCK;
        /* SeqCst: liburcu's is a full barrier here. The node itself was acquired above. */
        if (__atomic_compare_exchange_n(&s->head, &top, lee_1_urcu_wfs_head(next), 0, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED))
            break;
        if (!blocking)
            return CDS_WFS_WOULDBLOCK;
    }
    if (state && next == LEE_1_URCU_WFS_END)
        *state = CDS_WFS_STATE_LAST;
    return lee_1_urcu_wfs_node(top);
}

/* Takes all nodes; NULL if there are none. */
static inline struct cds_wfs_head *lee_1_urcu_wfs_pop_all(struct __cds_wfs_stack *s)
{
    /*
     * SeqCst: liburcu's is a full barrier here. Its acquire is the partner of the exchange in push.
     */
    struct cds_wfs_head *top = __atomic_exchange_n(&s->head, LEE_1_URCU_WFS_EMPTY, __ATOMIC_SEQ_CST);

    return top == LEE_1_URCU_WFS_EMPTY ? NULL : top;
}

/* The node after this one in what was popped together; NULL at the end. */
static inline struct cds_wfs_node *lee_1_urcu_wfs_next(struct cds_wfs_node *node, int blocking)
{
    struct cds_wfs_node *next = lee_1_urcu_wfs_link(node, blocking);

    return next == LEE_1_URCU_WFS_END ? NULL : next;
}

#ifdef __cplusplus
}
#endif

#endif
