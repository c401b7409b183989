/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/wfqueue.h, leeward's: the queue that urcu/wfcqueue.h replaced, for programs that have not
 * moved. Enqueueing is wait-free; dequeuers are serialised, by the queue's mutex or by the program.
 * A dequeued node may be freed or reused at once.
 *
 * The queue holds a dummy of its own, which is put at the end whenever it reaches the front. A
 * program that defines CDS_WFQ_DEPRECATED as nothing is not warned. All of it is inlined, leaves
 * errno alone, and is no cancellation point.
 */
#ifndef LEEWARD_COMPAT_URCU_WFQUEUE_H
#define LEEWARD_COMPAT_URCU_WFQUEUE_H

#include <pthread.h>
#include <stddef.h>

#include "assert.h"
#include "compiler.h"
#include "leeward/wait.h"
#include "uatomic.h"

#ifndef CDS_WFQ_DEPRECATED
#define CDS_WFQ_DEPRECATED CDS_DEPRECATED("urcu/wfqueue.h is deprecated: use urcu/wfcqueue.h")
#endif

/* How the functions are defined; libleeward-urcu-common has them as symbols. */
#ifndef LEE_1_URCU_COMMON
#define LEE_1_URCU_COMMON static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The link of an element. */
struct cds_wfq_node {
    struct cds_wfq_node *next;
};

/* The first node, and the link of the last one. */
struct cds_wfq_queue {
    struct cds_wfq_node *head, **tail;
    struct cds_wfq_node dummy;
    pthread_mutex_t lock;
};

/* Puts the node at the end. */
static inline void lee_1_urcu_wfq_append(struct cds_wfq_queue *q, struct cds_wfq_node *node)
{
    /*
     * SeqCst: the promised barrier. Its release is the partner of the acquire of the next exchange
     * here: that enqueuer's link comes after our node's initialisation.
     */
    struct cds_wfq_node **last = __atomic_exchange_n(&q->tail, &node->next, __ATOMIC_SEQ_CST);

    /* Release: partner of the acquire in lee_1_urcu_wfq_take(). The dequeuer sees the element. */
    __atomic_store_n(last, node, __ATOMIC_RELEASE);
}

/* Takes the first node, dummy or not; NULL if only the dummy is there. */
static inline struct cds_wfq_node *lee_1_urcu_wfq_take(struct cds_wfq_queue *q)
{
    struct cds_wfq_node *node = q->head, *next;
    unsigned int round = 0;

    /* Relaxed: nothing is read through the tail. */
    if (node == &q->dummy && __atomic_load_n(&q->tail, __ATOMIC_RELAXED) == &q->dummy.next)
        return NULL;
    /* Acquire: partner of the release in lee_1_urcu_wfq_append(). */
    while ((next = __atomic_load_n(&node->next, __ATOMIC_ACQUIRE)) == NULL)
        lee_1_urcu_wait(round++);
    q->head = next;
    return node;
}

/* Takes the first element. Behind the last one there is the dummy, so that it always has a link. */
static inline struct cds_wfq_node *lee_1_urcu_wfq_dequeue(struct cds_wfq_queue *q)
{
    struct cds_wfq_node *node = lee_1_urcu_wfq_take(q);

    if (node != &q->dummy)
        return node;
    q->dummy.next = NULL;
    lee_1_urcu_wfq_append(q, &q->dummy);
    return lee_1_urcu_wfq_take(q);
}

/* Prepares a node for an enqueue. */
CDS_WFQ_DEPRECATED LEE_1_URCU_COMMON void cds_wfq_node_init(struct cds_wfq_node *node)
{
    node->next = NULL;
}

/* Makes an empty queue. */
CDS_WFQ_DEPRECATED LEE_1_URCU_COMMON void cds_wfq_init(struct cds_wfq_queue *q)
{
    int error = pthread_mutex_init(&q->lock, NULL);

    urcu_posix_assert(!error);
    (void)error;
    q->dummy.next = NULL;
    q->head = &q->dummy;
    q->tail = &q->dummy.next;
}

/* Ends a queue. */
CDS_WFQ_DEPRECATED LEE_1_URCU_COMMON void cds_wfq_destroy(struct cds_wfq_queue *q)
{
    int error = pthread_mutex_destroy(&q->lock);

    urcu_posix_assert(!error);
    (void)error;
}

/*
 * Enqueues the node. Wait-free, by any thread. The thread that dequeues it sees what was stored
 * before.
 */
CDS_WFQ_DEPRECATED LEE_1_URCU_COMMON void cds_wfq_enqueue(struct cds_wfq_queue *q, struct cds_wfq_node *node)
{
    lee_1_urcu_wfq_append(q, node);
}

/*
 * Dequeues the first node; returns NULL if the queue is empty. The caller serialises (see the table
 * above).
 */
CDS_WFQ_DEPRECATED LEE_1_URCU_COMMON struct cds_wfq_node *__cds_wfq_dequeue_blocking(struct cds_wfq_queue *q)
{
    return lee_1_urcu_wfq_dequeue(q);
}

/* __cds_wfq_dequeue_blocking() with the mutex held. */
CDS_WFQ_DEPRECATED LEE_1_URCU_COMMON struct cds_wfq_node *cds_wfq_dequeue_blocking(struct cds_wfq_queue *q)
{
    struct cds_wfq_node *node;
    int error = pthread_mutex_lock(&q->lock);

    urcu_posix_assert(!error);
    node = lee_1_urcu_wfq_dequeue(q);
    error = pthread_mutex_unlock(&q->lock);
    urcu_posix_assert(!error);
    (void)error;
    return node;
}

#ifdef __cplusplus
}
#endif

#endif
