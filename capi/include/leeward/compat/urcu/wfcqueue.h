/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/wfcqueue.h, leeward's: a queue of many enqueuers, which are wait-free, and of dequeuers that
 * are serialised. It has nothing to do with RCU: a dequeued node may be freed or reused at once.
 *
 * An enqueuer exchanges the tail for its node, and then links the node behind the one it found.
 * Between the two the queue has a gap, which only its enqueuer can close. The blocking functions
 * wait there (urcu/leeward/wait.h: a spin, then short naps; a program may define
 * CDS_WFCQ_WAIT_SLEEP(milliseconds) before it includes any header to have its own sleep, of 10 ms,
 * instead of the naps); the nonblocking ones return CDS_WFCQ_WOULDBLOCK and change nothing.
 *
 * What must be serialised (x), by one consumer, by the head's mutex, or by a lock of the program's:
 *
 *                            dequeue  splice from  first, next
 *     dequeue                   x          x            x
 *     splice from               x                       x
 *     first, next               x          x
 *     enqueue, splice to, empty: never
 *
 * A head is a struct cds_wfcq_head, with a mutex that the functions without leading underscores
 * take where they need to, or a struct __cds_wfcq_head, without one. The functions of type
 * cds_wfcq_head_ptr_t take either: a transparent union in C, templates in C++.
 *
 * All of it is inlined, leaves errno alone, and is no cancellation point. Enqueueing is safe in
 * signal handlers; blocking functions are not, since they may interrupt the one they wait for. A
 * fork copies the queue, and a gap in it, if some thread was in one, for ever.
 */
#ifndef LEEWARD_COMPAT_URCU_WFCQUEUE_H
#define LEEWARD_COMPAT_URCU_WFCQUEUE_H

#include <pthread.h>
#include <stdbool.h>

#include "assert.h"
#include "compiler.h"
#include "leeward/wfcq.h"
#include "uatomic.h"

/*
 * ISO C has no transparent unions, and GCC's -Wpedantic says so at every call of a function that
 * has one, unless a system header declares it. The test of these headers' own warnings defines the
 * name.
 */
#if defined(__GNUC__) && !defined(__cplusplus) && !defined(LEE_1_URCU_WARN)
#pragma GCC system_header
#endif

/* How the functions are defined; libleeward-urcu-common has them as symbols. */
#ifndef LEE_1_URCU_COMMON
#define LEE_1_URCU_COMMON static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Prepares a node for an enqueue. */
LEE_1_URCU_COMMON void cds_wfcq_node_init(struct cds_wfcq_node *node)
{
    node->next = NULL;
}

/* Makes an empty queue of a head without a mutex. */
LEE_1_URCU_COMMON void __cds_wfcq_init(struct __cds_wfcq_head *head, struct cds_wfcq_tail *tail)
{
    head->node.next = NULL;
    tail->p = &head->node;
}

/* Makes an empty queue of a head with a mutex. */
LEE_1_URCU_COMMON void cds_wfcq_init(struct cds_wfcq_head *head, struct cds_wfcq_tail *tail)
{
    int error = pthread_mutex_init(&head->lock, NULL);

    urcu_posix_assert(!error);
    (void)error;
    head->node.next = NULL;
    tail->p = &head->node;
}

/* Ends a queue that cds_wfcq_init() made. */
LEE_1_URCU_COMMON void cds_wfcq_destroy(struct cds_wfcq_head *head, struct cds_wfcq_tail *tail)
{
    int error = pthread_mutex_destroy(&head->lock);

    urcu_posix_assert(!error);
    (void)error;
    (void)tail;
}

/* Locks the mutex, for a row of the functions that must be serialised. */
LEE_1_URCU_COMMON void cds_wfcq_dequeue_lock(struct cds_wfcq_head *head, struct cds_wfcq_tail *tail)
{
    int error = pthread_mutex_lock(&head->lock);

    urcu_posix_assert(!error);
    (void)error;
    (void)tail;
}

/* Unlocks the mutex. */
LEE_1_URCU_COMMON void cds_wfcq_dequeue_unlock(struct cds_wfcq_head *head, struct cds_wfcq_tail *tail)
{
    int error = pthread_mutex_unlock(&head->lock);

    urcu_posix_assert(!error);
    (void)error;
    (void)tail;
}

/*
 * Returns true if the queue is empty. A node whose enqueuer has not linked it counts. No barrier:
 * the answer may be old by the time it is read.
 */
LEE_1_URCU_COMMON bool cds_wfcq_empty(cds_wfcq_head_const_ptr_t u_head, const struct cds_wfcq_tail *tail)
{
    return lee_1_urcu_wfcq_empty(u_head._h, tail);
}

/*
 * Enqueues the node. Wait-free, by any thread. Returns false if the queue was empty: the consumer
 * may sleep. The thread that dequeues the node sees what was stored before.
 */
LEE_1_URCU_COMMON bool cds_wfcq_enqueue(cds_wfcq_head_ptr_t u_head, struct cds_wfcq_tail *tail,
                                        struct cds_wfcq_node *node)
{
    return lee_1_urcu_wfcq_append(u_head._h, tail, node, node);
}

/*
 * Dequeues the first node; returns NULL if the queue is empty. The caller serialises (see the table
 * above). `state` is set to CDS_WFCQ_STATE_LAST if the queue is empty now, else to 0.
 */
LEE_1_URCU_COMMON struct cds_wfcq_node *__cds_wfcq_dequeue_with_state_blocking(cds_wfcq_head_ptr_t u_head,
                                                                               struct cds_wfcq_tail *tail, int *state)
{
    return lee_1_urcu_wfcq_dequeue(u_head._h, tail, state, 1);
}

LEE_1_URCU_COMMON struct cds_wfcq_node *__cds_wfcq_dequeue_blocking(cds_wfcq_head_ptr_t u_head,
                                                                    struct cds_wfcq_tail *tail)
{
    return lee_1_urcu_wfcq_dequeue(u_head._h, tail, NULL, 1);
}

LEE_1_URCU_COMMON struct cds_wfcq_node *__cds_wfcq_dequeue_with_state_nonblocking(cds_wfcq_head_ptr_t u_head,
                                                                                  struct cds_wfcq_tail *tail,
                                                                                  int *state)
{
    return lee_1_urcu_wfcq_dequeue(u_head._h, tail, state, 0);
}

LEE_1_URCU_COMMON struct cds_wfcq_node *__cds_wfcq_dequeue_nonblocking(cds_wfcq_head_ptr_t u_head,
                                                                       struct cds_wfcq_tail *tail)
{
    return lee_1_urcu_wfcq_dequeue(u_head._h, tail, NULL, 0);
}

/*
 * __cds_wfcq_dequeue_with_state_blocking() and __cds_wfcq_dequeue_blocking() with the mutex held.
 */
LEE_1_URCU_COMMON struct cds_wfcq_node *cds_wfcq_dequeue_with_state_blocking(struct cds_wfcq_head *head,
                                                                             struct cds_wfcq_tail *tail, int *state)
{
    cds_wfcq_head_ptr_t either;
    struct cds_wfcq_node *node;

    either.h = head;
    cds_wfcq_dequeue_lock(head, tail);
    node = lee_1_urcu_wfcq_dequeue(either._h, tail, state, 1);
    cds_wfcq_dequeue_unlock(head, tail);
    return node;
}

LEE_1_URCU_COMMON struct cds_wfcq_node *cds_wfcq_dequeue_blocking(struct cds_wfcq_head *head,
                                                                  struct cds_wfcq_tail *tail)
{
    return cds_wfcq_dequeue_with_state_blocking(head, tail, NULL);
}

/*
 * Moves all nodes of src to the end of dest, in their order. Returns CDS_WFCQ_RET_SRC_EMPTY if
 * there were none, else whether dest was empty before. The caller serialises src; dest needs
 * nothing.
 */
LEE_1_URCU_COMMON enum cds_wfcq_ret __cds_wfcq_splice_blocking(cds_wfcq_head_ptr_t u_dest_head,
                                                               struct cds_wfcq_tail *dest_tail,
                                                               cds_wfcq_head_ptr_t u_src_head,
                                                               struct cds_wfcq_tail *src_tail)
{
    return lee_1_urcu_wfcq_splice(u_dest_head._h, dest_tail, u_src_head._h, src_tail, 1);
}

LEE_1_URCU_COMMON enum cds_wfcq_ret __cds_wfcq_splice_nonblocking(cds_wfcq_head_ptr_t u_dest_head,
                                                                  struct cds_wfcq_tail *dest_tail,
                                                                  cds_wfcq_head_ptr_t u_src_head,
                                                                  struct cds_wfcq_tail *src_tail)
{
    return lee_1_urcu_wfcq_splice(u_dest_head._h, dest_tail, u_src_head._h, src_tail, 0);
}

/* __cds_wfcq_splice_blocking() with the mutex of src held; that of dest is not taken. */
LEE_1_URCU_COMMON enum cds_wfcq_ret cds_wfcq_splice_blocking(struct cds_wfcq_head *dest_head,
                                                             struct cds_wfcq_tail *dest_tail,
                                                             struct cds_wfcq_head *src_head,
                                                             struct cds_wfcq_tail *src_tail)
{
    cds_wfcq_head_ptr_t dest, src;
    enum cds_wfcq_ret found;

    dest.h = dest_head;
    src.h = src_head;
    cds_wfcq_dequeue_lock(src_head, src_tail);
    found = lee_1_urcu_wfcq_splice(dest._h, dest_tail, src._h, src_tail, 1);
    cds_wfcq_dequeue_unlock(src_head, src_tail);
    return found;
}

/*
 * Returns the first node without dequeueing it; NULL if the queue is empty. The caller serialises
 * (see the table above).
 */
LEE_1_URCU_COMMON struct cds_wfcq_node *__cds_wfcq_first_blocking(cds_wfcq_head_ptr_t u_head,
                                                                  struct cds_wfcq_tail *tail)
{
    return lee_1_urcu_wfcq_first(u_head._h, tail, 1);
}

LEE_1_URCU_COMMON struct cds_wfcq_node *__cds_wfcq_first_nonblocking(cds_wfcq_head_ptr_t u_head,
                                                                     struct cds_wfcq_tail *tail)
{
    return lee_1_urcu_wfcq_first(u_head._h, tail, 0);
}

/*
 * Returns the node after this one; NULL if this is the last. The caller serialises (see the table
 * above).
 */
LEE_1_URCU_COMMON struct cds_wfcq_node *__cds_wfcq_next_blocking(cds_wfcq_head_ptr_t u_head,
                                                                 struct cds_wfcq_tail *tail,
                                                                 struct cds_wfcq_node *node)
{
    (void)u_head;
    return lee_1_urcu_wfcq_next(tail, node, 1);
}

LEE_1_URCU_COMMON struct cds_wfcq_node *__cds_wfcq_next_nonblocking(cds_wfcq_head_ptr_t u_head,
                                                                    struct cds_wfcq_tail *tail,
                                                                    struct cds_wfcq_node *node)
{
    (void)u_head;
    return lee_1_urcu_wfcq_next(tail, node, 0);
}

#ifdef __cplusplus
}

#include "leeward/wfcq-templates.h"
#endif

/*
 * The loops over a queue's nodes, which stay in it. In the safe one the body may free the node, as
 * one does with a queue that was spliced and is not used again. The caller serialises (see the
 * table above).
 */
#define __cds_wfcq_for_each_blocking(head, tail, node)                         \
    for ((node) = __cds_wfcq_first_blocking(head, tail); (node) != NULL; \
         (node) = __cds_wfcq_next_blocking(head, tail, node))
#define __cds_wfcq_for_each_blocking_safe(head, tail, node, n)                                           \
    for ((node) = __cds_wfcq_first_blocking(head, tail);                                                 \
         (node) != NULL && ((n) = __cds_wfcq_next_blocking(head, tail, node), 1); (node) = (n))

#endif
