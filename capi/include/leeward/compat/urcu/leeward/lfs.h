/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/leeward/lfs.h: the types of urcu/lfstack.h, and its algorithm on stacks without a mutex
 * (Treiber's). Programs do not include this.
 */
#ifndef LEEWARD_COMPAT_URCU_LEEWARD_LFS_H
#define LEEWARD_COMPAT_URCU_LEEWARD_LFS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "../compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The link of an element. */
struct cds_lfs_node {
    struct cds_lfs_node *next;
};

/* The nodes that were popped together. */
struct cds_lfs_head {
    struct cds_lfs_node node;
};

/* A stack without a mutex: the address of its top node, or NULL. */
struct __cds_lfs_stack {
    struct cds_lfs_head *head;
};

/* A stack with a mutex. */
struct cds_lfs_stack {
    struct cds_lfs_head *head;
    pthread_mutex_t lock;
};

/* A pointer to either stack. */
typedef union {
    struct __cds_lfs_stack *_s;
    struct cds_lfs_stack *s;
} LEE_1_URCU_EITHER cds_lfs_stack_ptr_t;

typedef union {
    const struct __cds_lfs_stack *_s;
    const struct cds_lfs_stack *s;
} LEE_1_URCU_EITHER cds_lfs_stack_const_ptr_t;

/* The pointer as an argument of the functions for both stacks: the union in C++, itself in C. */
#ifdef __cplusplus
static inline cds_lfs_stack_ptr_t __cds_lfs_stack_cast(struct __cds_lfs_stack *s)
{
    cds_lfs_stack_ptr_t either;

    either._s = s;
    return either;
}

static inline cds_lfs_stack_ptr_t cds_lfs_stack_cast(struct cds_lfs_stack *s)
{
    cds_lfs_stack_ptr_t either;

    either.s = s;
    return either;
}

static inline cds_lfs_stack_const_ptr_t __cds_lfs_stack_const_cast(const struct __cds_lfs_stack *s)
{
    cds_lfs_stack_const_ptr_t either;

    either._s = s;
    return either;
}

static inline cds_lfs_stack_const_ptr_t cds_lfs_stack_const_cast(const struct cds_lfs_stack *s)
{
    cds_lfs_stack_const_ptr_t either;

    either.s = s;
    return either;
}
#else
static inline struct __cds_lfs_stack *__cds_lfs_stack_cast(struct __cds_lfs_stack *s)
{
    return s;
}

static inline struct cds_lfs_stack *cds_lfs_stack_cast(struct cds_lfs_stack *s)
{
    return s;
}

static inline const struct __cds_lfs_stack *__cds_lfs_stack_const_cast(const struct __cds_lfs_stack *s)
{
    return s;
}

static inline const struct cds_lfs_stack *cds_lfs_stack_const_cast(const struct cds_lfs_stack *s)
{
    return s;
}
#endif

/* A node as a head, which begins with it, and back. */
static inline struct cds_lfs_head *lee_1_urcu_lfs_head(struct cds_lfs_node *node)
{
    return (struct cds_lfs_head *)(void *)node;
}

static inline struct cds_lfs_node *lee_1_urcu_lfs_node(struct cds_lfs_head *head)
{
    return (struct cds_lfs_node *)(void *)head;
}

/* Pushes the node. Returns true if the stack was not empty. */
static inline bool lee_1_urcu_lfs_push(struct __cds_lfs_stack *s, struct cds_lfs_node *node)
{
    /* Relaxed: nothing is read through it. */
    struct cds_lfs_head *top = __atomic_load_n(&s->head, __ATOMIC_RELAXED);

    do {
        /* Relaxed: a popper that has the node from before may still read its link. */
        __atomic_store_n(&node->next, lee_1_urcu_lfs_node(top), __ATOMIC_RELAXED);
        /*
         * SeqCst: the promised barrier. Its release is the partner of the acquires in
         * lee_1_urcu_lfs_pop() and lee_1_urcu_lfs_pop_all(); its acquire hands the nodes below on
         * to them.
         */
    } while (!__atomic_compare_exchange_n(&s->head, &top, lee_1_urcu_lfs_head(node), 0, __ATOMIC_SEQ_CST,
                                          __ATOMIC_RELAXED));
    return top != NULL;
}

/* Pops the top node; NULL if there is none. */
static inline struct cds_lfs_node *lee_1_urcu_lfs_pop(struct __cds_lfs_stack *s)
{
    /* Acquire: partner of the release of the exchange in lee_1_urcu_lfs_push(). */
    struct cds_lfs_head *top = __atomic_load_n(&s->head, __ATOMIC_ACQUIRE);
    struct cds_lfs_node *next;

    do {
        if (top == NULL)
            return NULL;
        /* Relaxed: if another popper has the node and overwrote it, the exchange fails. */
        next = __atomic_load_n(&top->node.next, __ATOMIC_RELAXED);
        /*
         * SeqCst: liburcu's is a full barrier here. Acquire on failure: the next round reads
         * through it.
         */
    } while (!__atomic_compare_exchange_n(&s->head, &top, lee_1_urcu_lfs_head(next), 0, __ATOMIC_SEQ_CST,
                                          __ATOMIC_ACQUIRE));
    return lee_1_urcu_lfs_node(top);
}

/* Takes all nodes; NULL if there are none. */
static inline struct cds_lfs_head *lee_1_urcu_lfs_pop_all(struct __cds_lfs_stack *s)
{
    /*
     * SeqCst: liburcu's is a full barrier here. Its acquire is the partner of the exchange in push.
     */
    return __atomic_exchange_n(&s->head, (struct cds_lfs_head *)NULL, __ATOMIC_SEQ_CST);
}

#ifdef __cplusplus
}
#endif

#endif
