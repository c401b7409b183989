/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/leeward/wfcq.h: the types of urcu/wfcqueue.h, and its algorithm on heads without a mutex.
 * Programs do not include this.
 *
 * The algorithm is that of Desnoyers and Lai: an exchange of the tail, and a dummy node in the
 * head. The tail is the last node, or the head's where there is none. Only the link of the node
 * that was the tail before may be missing, until its enqueuer has stored it.
 */
#ifndef LEEWARD_COMPAT_URCU_LEEWARD_WFCQ_H
#define LEEWARD_COMPAT_URCU_LEEWARD_WFCQ_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "../compiler.h"
#include "wait.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the nonblocking functions return in place of a node where the blocking ones wait. */
#define CDS_WFCQ_WOULDBLOCK ((struct cds_wfcq_node *)-1)

/* What a splice found. */
enum cds_wfcq_ret {
    CDS_WFCQ_RET_WOULDBLOCK = -1,
    CDS_WFCQ_RET_DEST_EMPTY = 0,
    CDS_WFCQ_RET_DEST_NON_EMPTY = 1,
    CDS_WFCQ_RET_SRC_EMPTY = 2
};

/* Bits of the state that a dequeue reports. */
enum cds_wfcq_state {
    CDS_WFCQ_STATE_LAST = 1 << 0
};

/* The link of an element. */
struct cds_wfcq_node {
    struct cds_wfcq_node *next;
};

/* A head without a mutex. Its node is the dummy before the first element. */
struct __cds_wfcq_head {
    struct cds_wfcq_node node;
};

/* A head with a mutex. */
struct cds_wfcq_head {
    struct cds_wfcq_node node;
    pthread_mutex_t lock;
};

/* The last node, or the head's. Best on another cache line than the head. */
struct cds_wfcq_tail {
    struct cds_wfcq_node *p;
};

/* A pointer to either head. */
typedef union {
    struct __cds_wfcq_head *_h;
    struct cds_wfcq_head *h;
} LEE_1_URCU_EITHER cds_wfcq_head_ptr_t;

typedef union {
    const struct __cds_wfcq_head *_h;
    const struct cds_wfcq_head *h;
} LEE_1_URCU_EITHER cds_wfcq_head_const_ptr_t;

/* The pointer as an argument of the functions for both heads: the union in C++, itself in C. */
#ifdef __cplusplus
static inline cds_wfcq_head_ptr_t __cds_wfcq_head_cast(struct __cds_wfcq_head *head)
{
    cds_wfcq_head_ptr_t either;

    either._h = head;
    return either;
}

static inline cds_wfcq_head_ptr_t cds_wfcq_head_cast(struct cds_wfcq_head *head)
{
    cds_wfcq_head_ptr_t either;

    either.h = head;
    return either;
}

static inline cds_wfcq_head_const_ptr_t __cds_wfcq_head_const_cast(const struct __cds_wfcq_head *head)
{
    cds_wfcq_head_const_ptr_t either;

    either._h = head;
    return either;
}

static inline cds_wfcq_head_const_ptr_t cds_wfcq_head_const_cast(const struct cds_wfcq_head *head)
{
    cds_wfcq_head_const_ptr_t either;

    either.h = head;
    return either;
}
#else
static inline struct __cds_wfcq_head *__cds_wfcq_head_cast(struct __cds_wfcq_head *head)
{
    return head;
}

static inline struct cds_wfcq_head *cds_wfcq_head_cast(struct cds_wfcq_head *head)
{
    return head;
}

static inline const struct __cds_wfcq_head *__cds_wfcq_head_const_cast(const struct __cds_wfcq_head *head)
{
    return head;
}

static inline const struct cds_wfcq_head *cds_wfcq_head_const_cast(const struct cds_wfcq_head *head)
{
    return head;
}
#endif

/* Returns true if the queue is empty: neither a first node, nor a tail that says one is coming. */
static inline bool lee_1_urcu_wfcq_empty(const struct __cds_wfcq_head *head, const struct cds_wfcq_tail *tail)
{
    /* Relaxed: nothing is read through what is found. The tail alone would do, and is contended. */
    return __atomic_load_n(&head->node.next, __ATOMIC_RELAXED) == NULL &&
           __atomic_load_n(&tail->p, __ATOMIC_RELAXED) == &head->node;
}

/* Puts the chain of nodes at the end. Returns false if the queue was empty. */
static inline bool lee_1_urcu_wfcq_append(struct __cds_wfcq_head *head, struct cds_wfcq_tail *tail,
                                          struct cds_wfcq_node *first, struct cds_wfcq_node *last)
{
    /*
     * SeqCst: the promised barrier between what the enqueuer stored and the announcement, and what
     * it asks afterwards (does the consumer sleep?). Its release is the partner of the acquire of
     * the next exchange here: that enqueuer's link comes after our node's initialisation.
     */
    struct cds_wfcq_node *before = __atomic_exchange_n(&tail->p, last, __ATOMIC_SEQ_CST);

    /* Release: partner of the acquire in lee_1_urcu_wfcq_link(). The dequeuer sees the element. */
    __atomic_store_n(&before->next, first, __ATOMIC_RELEASE);
    return before != &head->node;
}

/* Waits in a gap: as the program says, or as wait.h does. */
static inline void lee_1_urcu_wfcq_wait(unsigned int round)
{
#ifdef CDS_WFCQ_WAIT_SLEEP
    if (round < 10)
        caa_cpu_relax();
    else
        CDS_WFCQ_WAIT_SLEEP(10);
#else
    lee_1_urcu_wait(round);
#endif
}

/* The link of a node that has a successor or is about to: waits in the gap, or WOULDBLOCK. */
static inline struct cds_wfcq_node *lee_1_urcu_wfcq_link(struct cds_wfcq_node *node, int blocking)
{
    struct cds_wfcq_node *next;
    unsigned int round = 0;

    /* Acquire: partner of the release in lee_1_urcu_wfcq_append(). */
    while (caa_unlikely((next = __atomic_load_n(&node->next, __ATOMIC_ACQUIRE)) == NULL)) {
        if (!blocking)
            return CDS_WFCQ_WOULDBLOCK;
        lee_1_urcu_wfcq_wait(round++);
    }
    return next;
}

/* The first node, which stays in the queue. */
static inline struct cds_wfcq_node *lee_1_urcu_wfcq_first(struct __cds_wfcq_head *head, struct cds_wfcq_tail *tail,
                                                          int blocking)
{
    if (lee_1_urcu_wfcq_empty(head, tail))
        return NULL;
    return lee_1_urcu_wfcq_link(&head->node, blocking);
}

/* The node after this one, which stays in the queue. */
static inline struct cds_wfcq_node *lee_1_urcu_wfcq_next(struct cds_wfcq_tail *tail, struct cds_wfcq_node *node,
                                                         int blocking)
{
    /* Acquire: partner of the release in lee_1_urcu_wfcq_append(). */
    struct cds_wfcq_node *next = __atomic_load_n(&node->next, __ATOMIC_ACQUIRE);

    if (next)
        return next;
    /*
     * Relaxed: the tail is this node, or a later one: we came here by a link stored after the
     * exchange.
     */
    if (__atomic_load_n(&tail->p, __ATOMIC_RELAXED) == node)
        return NULL;
    return lee_1_urcu_wfcq_link(node, blocking);
}

/*
 * Dequeues the first node. `state`, unless NULL, is set to CDS_WFCQ_STATE_LAST if it was the last,
 * else to 0.
 */
static inline struct cds_wfcq_node *lee_1_urcu_wfcq_dequeue(struct __cds_wfcq_head *head, struct cds_wfcq_tail *tail,
                                                            int *state, int blocking)
{
    struct cds_wfcq_node *node, *next, *expected;

    if (state)
        *state = 0;
    node = lee_1_urcu_wfcq_first(head, tail, blocking);
    if (node == NULL || node == CDS_WFCQ_WOULDBLOCK)
        return node;
    /*
     * Acquire: partner of the release in lee_1_urcu_wfcq_append(): the next dequeue sees that
     * element.
     */
    next = __atomic_load_n(&node->next, __ATOMIC_ACQUIRE);
    if (next == NULL) {
        /* Relaxed: ordered by the exchange below before an enqueuer can store to it. */
        __atomic_store_n(&head->node.next, (struct cds_wfcq_node *)NULL, __ATOMIC_RELAXED);
        expected = node;
        /*
         * The last node, unless an enqueuer comes first. Release: partner of the acquire of the
         * exchange in lee_1_urcu_wfcq_append(), whose link to the head's node comes after our NULL.
         * SeqCst: liburcu's is a full barrier here.
         */
        if (__atomic_compare_exchange_n(&tail->p, &expected, &head->node, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
            if (state)
                *state = CDS_WFCQ_STATE_LAST;
            return node;
        }
        next = lee_1_urcu_wfcq_link(node, blocking);
        if (next == CDS_WFCQ_WOULDBLOCK) {
            /*
             * Relaxed: only dequeuers read it while the queue is not empty, and they are
             * serialised.
             */
            __atomic_store_n(&head->node.next, node, __ATOMIC_RELAXED);
            return CDS_WFCQ_WOULDBLOCK;
        }
    }
    /* Relaxed: as above. */
    __atomic_store_n(&head->node.next, next, __ATOMIC_RELAXED);
    return node;
}

/* Moves all nodes of one queue to the end of another. */
static inline enum cds_wfcq_ret lee_1_urcu_wfcq_splice(struct __cds_wfcq_head *dest_head,
                                                       struct cds_wfcq_tail *dest_tail,
                                                       struct __cds_wfcq_head *src_head,
                                                       struct cds_wfcq_tail *src_tail, int blocking)
{
    struct cds_wfcq_node *const none = NULL, *first, *last;
    unsigned int round = 0;

    if (lee_1_urcu_wfcq_empty(src_head, src_tail))
        return CDS_WFCQ_RET_SRC_EMPTY;
    /*
     * Two splices of one queue may race: one takes the first node, the other waits until the tail
     * is the head's node again. Acquire: partner of the release in lee_1_urcu_wfcq_append().
     */
    while ((first = __atomic_exchange_n(&src_head->node.next, none, __ATOMIC_ACQUIRE)) == NULL) {
        /* Relaxed: nothing is read through the tail. */
        if (__atomic_load_n(&src_tail->p, __ATOMIC_RELAXED) == &src_head->node)
            return CDS_WFCQ_RET_SRC_EMPTY;
        if (!blocking)
            return CDS_WFCQ_RET_WOULDBLOCK;
        lee_1_urcu_wfcq_wait(round++);
    }
    /*
     * Release: partner of the acquire of the exchange in lee_1_urcu_wfcq_append(), whose link to
     * the head's node comes after our NULL. Acquire: partner of that exchange's release, handed on
     * to the next enqueuer of the destination, which stores to the last node.
     */
    last = __atomic_exchange_n(&src_tail->p, &src_head->node, __ATOMIC_SEQ_CST);
    return lee_1_urcu_wfcq_append(dest_head, dest_tail, first, last) ? CDS_WFCQ_RET_DEST_NON_EMPTY
                                                                     : CDS_WFCQ_RET_DEST_EMPTY;
}

#ifdef __cplusplus
}
#endif

#endif
