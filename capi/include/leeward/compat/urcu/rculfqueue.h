/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/rculfqueue.h, leeward's: a lock-free queue under RCU, of any number of enqueuers and
 * dequeuers.
 *
 * Enqueues and dequeues are made inside sections. A dequeued node may be freed or enqueued again
 * after a grace period. A queue always has a node: where the last one is to be dequeued, a dummy is
 * put behind it, which malloc() gives and the call_rcu() of the queue's flavour frees.
 *
 * The algorithm is Michael and Scott's. All of it is inlined and leaves errno alone; a dequeue may
 * call malloc() and call_rcu(), and is not for signal handlers.
 */
#ifndef LEEWARD_COMPAT_URCU_RCULFQUEUE_H
#define LEEWARD_COMPAT_URCU_RCULFQUEUE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "assert.h"
#include "leeward/head.h"
#include "pointer.h"
#include "uatomic.h"
#ifdef _LGPL_SOURCE
#include "call-rcu.h"
#endif

/* How the functions are defined; libleeward-urcu-cds has them as symbols. */
#ifndef LEE_1_URCU_CDS
#define LEE_1_URCU_CDS static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The link of an element. `dummy` is non-zero in nodes of the queue's own. */
struct cds_lfq_node_rcu {
    struct cds_lfq_node_rcu *next;
    int dummy;
};

struct cds_lfq_queue_rcu {
    struct cds_lfq_node_rcu *head, *tail;
    void (*queue_call_rcu)(struct rcu_head *head, void (*func)(struct rcu_head *head));
};

/* A dummy, and how it is freed. */
struct lee_1_urcu_lfq_dummy {
    struct cds_lfq_node_rcu node;
    struct rcu_head head;
};

/* Returns a new dummy, or NULL where memory is out. What malloc() does to errno is undone. */
static inline struct cds_lfq_node_rcu *lee_1_urcu_lfq_new_dummy(void)
{
    int error = errno;
    struct lee_1_urcu_lfq_dummy *dummy = (struct lee_1_urcu_lfq_dummy *)malloc(sizeof(*dummy));

    errno = error;
    if (!dummy)
        return NULL;
    dummy->node.next = NULL;
    dummy->node.dummy = 1;
    return &dummy->node;
}

/* Frees a dummy. Older C libraries' free() changes errno. */
static inline void lee_1_urcu_lfq_free_dummy(struct rcu_head *head)
{
    int error = errno;

    free(caa_container_of(head, struct lee_1_urcu_lfq_dummy, head));
    errno = error;
}

/* The part of a dummy that call_rcu() and the function above know. */
static inline struct rcu_head *lee_1_urcu_lfq_head(struct cds_lfq_node_rcu *dummy)
{
    return &caa_container_of(dummy, struct lee_1_urcu_lfq_dummy, node)->head;
}

/* Moves the tail from a node to its successor, unless another thread has. */
static inline void lee_1_urcu_lfq_advance_tail(struct cds_lfq_queue_rcu *q, struct cds_lfq_node_rcu *from,
                                               struct cds_lfq_node_rcu *to)
{
    /*
     * SeqCst: its release hands on what `to` holds; partner of the acquires of the tail and the
     * head.
     */
    __atomic_compare_exchange_n(&q->tail, &from, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/* Prepares a node for an enqueue. */
LEE_1_URCU_CDS void cds_lfq_node_init_rcu(struct cds_lfq_node_rcu *node)
{
    node->next = NULL;
    node->dummy = 0;
}

/*
 * Makes an empty queue that frees its dummies by `queue_call_rcu`. Aborts if malloc() has no memory
 * for the first.
 */
LEE_1_URCU_CDS void cds_lfq_init_rcu(struct cds_lfq_queue_rcu *q,
                                     void queue_call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head)))
{
    struct cds_lfq_node_rcu *dummy = lee_1_urcu_lfq_new_dummy();

    if (!dummy) {
        fputs("leeward: no memory for a queue's first node\n", stderr);
        abort();
    }
    q->head = dummy;
    q->tail = dummy;
    q->queue_call_rcu = queue_call_rcu;
}

/*
 * Ends a queue that nobody uses any more. Returns 0, or -EPERM, and leaves it as it is, if it is
 * not empty.
 */
LEE_1_URCU_CDS int cds_lfq_destroy_rcu(struct cds_lfq_queue_rcu *q)
{
    struct cds_lfq_node_rcu *head = rcu_dereference(q->head);

    if (!head->dummy || head->next)
        return -EPERM;
    lee_1_urcu_lfq_free_dummy(lee_1_urcu_lfq_head(head));
    return 0;
}

/*
 * Enqueues the node. In a section. The thread that dequeues the node sees what was stored before.
 */
LEE_1_URCU_CDS void cds_lfq_enqueue_rcu(struct cds_lfq_queue_rcu *q, struct cds_lfq_node_rcu *node)
{
    struct cds_lfq_node_rcu *tail, *next;

    for (;;) {
        /* Acquire: partner of the release in lee_1_urcu_lfq_advance_tail(). */
        tail = __atomic_load_n(&q->tail, __ATOMIC_ACQUIRE);
        next = NULL;
        /*
         * SeqCst: its release is the partner of the acquire in the dequeue, which reads the node.
         * Acquire on failure: the successor is handed on by the tail.
         */
        if (__atomic_compare_exchange_n(&tail->next, &next, node, 0, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE)) {
            lee_1_urcu_lfq_advance_tail(q, tail, node);
            return;
        }
        /* Another enqueuer was faster, and may have been interrupted before it moved the tail. */
        lee_1_urcu_lfq_advance_tail(q, tail, next);
    }
}

/*
 * Dequeues the first node; returns NULL if the queue is empty. In a section. Where malloc() has no
 * memory for a dummy, the last node stays in the queue, which then says that it is empty.
 */
LEE_1_URCU_CDS struct cds_lfq_node_rcu *cds_lfq_dequeue_rcu(struct cds_lfq_queue_rcu *q)
{
    struct cds_lfq_node_rcu *head, *next, *dummy;

    for (;;) {
        /* Acquire: partner of the release of the head's exchange below. */
        head = __atomic_load_n(&q->head, __ATOMIC_ACQUIRE);
        /* Acquire: partner of the release in cds_lfq_enqueue_rcu(). */
        next = __atomic_load_n(&head->next, __ATOMIC_ACQUIRE);
        if (next == NULL) {
            if (head->dummy)
                return NULL;
            dummy = lee_1_urcu_lfq_new_dummy();
            if (!dummy)
                return NULL;
            cds_lfq_enqueue_rcu(q, dummy);
            continue;
        }
        /*
         * The head must not pass the tail: a thread that loads the tail in a section of its own,
         * begun after the grace period of the node we dequeue did, must not find that node there.
         * The tail never goes back, so what is seen here holds when the head is exchanged. Relaxed:
         * only compared.
         */
        if (__atomic_load_n(&q->tail, __ATOMIC_RELAXED) == head)
            lee_1_urcu_lfq_advance_tail(q, head, next);
        /* SeqCst: its release hands the next node on; partner of the acquire above. */
        if (!__atomic_compare_exchange_n(&q->head, &head, next, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
            continue;
        if (!head->dummy)
            return head;
        q->queue_call_rcu(lee_1_urcu_lfq_head(head), lee_1_urcu_lfq_free_dummy);
    }
}

#ifdef __cplusplus
}
#endif

#endif
