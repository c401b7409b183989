/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/wfstack.h, leeward's: a stack with wait-free push and pop_all, and a pop that waits for a
 * pusher that was interrupted between its two stores (urcu/leeward/wait.h: a spin, then short
 * naps).
 *
 * A pop beside another pop or a pop_all needs one of: both in sections, and a grace period before a
 * popped node is freed or pushed again; mutual exclusion, by the stack's mutex or a lock of the
 * program's; or one consumer that does both. Pushes, and pop_alls among each other, need nothing.
 *
 * A stack is a struct cds_wfs_stack, with a mutex that the functions without leading underscores
 * take, or a struct __cds_wfs_stack, without one. The functions of type cds_wfs_stack_ptr_t take
 * either: a transparent union in C, templates in C++.
 *
 * All of it is inlined, leaves errno alone, and is no cancellation point. Pushing is safe in signal
 * handlers; blocking functions are not, since they may interrupt the one they wait for.
 */
#ifndef LEEWARD_COMPAT_URCU_WFSTACK_H
#define LEEWARD_COMPAT_URCU_WFSTACK_H

#include <pthread.h>
#include <stdbool.h>

#include "assert.h"
#include "compiler.h"
#include "leeward/wfs.h"
#include "uatomic.h"

/*
 * ISO C has no transparent unions, and GCC's -Wpedantic says so at every call of a function that
 * has one, unless a system header declares it. The test of these headers' own warnings defines the
 * name.
 */
#if defined(__GNUC__) && !defined(__cplusplus) && !defined(LEE_1_URCU_WARN)
#pragma GCC system_header
#endif

/* The end of a stack, which stands where an element's next would. */
#ifdef _LGPL_SOURCE
#define CDS_WFS_END ((void *)0x1UL)
#endif

/* How the functions are defined; libleeward-urcu-common has them as symbols. */
#ifndef LEE_1_URCU_COMMON
#define LEE_1_URCU_COMMON static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Prepares a node. Required before every push. */
LEE_1_URCU_COMMON void cds_wfs_node_init(struct cds_wfs_node *node)
{
    node->next = NULL;
}

/* Makes an empty stack without a mutex. */
LEE_1_URCU_COMMON void __cds_wfs_init(struct __cds_wfs_stack *s)
{
    s->head = LEE_1_URCU_WFS_EMPTY;
}

/* Makes an empty stack with a mutex. */
LEE_1_URCU_COMMON void cds_wfs_init(struct cds_wfs_stack *s)
{
    int error = pthread_mutex_init(&s->lock, NULL);

    urcu_posix_assert(!error);
    (void)error;
    s->head = LEE_1_URCU_WFS_EMPTY;
}

/* Ends a stack that cds_wfs_init() made. */
LEE_1_URCU_COMMON void cds_wfs_destroy(struct cds_wfs_stack *s)
{
    int error = pthread_mutex_destroy(&s->lock);

    urcu_posix_assert(!error);
    (void)error;
}

/* Locks the mutex, for a row of the functions that must exclude each other. */
LEE_1_URCU_COMMON void cds_wfs_pop_lock(struct cds_wfs_stack *s)
{
    int error = pthread_mutex_lock(&s->lock);

    urcu_posix_assert(!error);
    (void)error;
}

/* Unlocks the mutex. */
LEE_1_URCU_COMMON void cds_wfs_pop_unlock(struct cds_wfs_stack *s)
{
    int error = pthread_mutex_unlock(&s->lock);

    urcu_posix_assert(!error);
    (void)error;
}

/* Returns true if the stack is empty. No barrier: the answer may be old by the time it is read. */
LEE_1_URCU_COMMON bool cds_wfs_empty(cds_wfs_stack_const_ptr_t u_stack)
{
    /* Relaxed: nothing is read through what is found. */
    return __atomic_load_n(&u_stack._s->head, __ATOMIC_RELAXED) == LEE_1_URCU_WFS_EMPTY;
}

/*
 * Pushes the node. Wait-free, by any thread. Returns 0 if the stack was empty, else non-zero. The
 * thread that pops the node sees what was stored before.
 */
LEE_1_URCU_COMMON int cds_wfs_push(cds_wfs_stack_ptr_t u_stack, struct cds_wfs_node *node)
{
    return lee_1_urcu_wfs_push(u_stack._s, node);
}

/*
 * Pops the top node; returns NULL if the stack is empty. The caller serialises pops. `state` is
 * set to CDS_WFS_STATE_LAST if the stack is empty now, else to 0. The nonblocking forms return
 * CDS_WFS_WOULDBLOCK where the others wait, and where a push came between.
 */
LEE_1_URCU_COMMON struct cds_wfs_node *__cds_wfs_pop_with_state_blocking(cds_wfs_stack_ptr_t u_stack, int *state)
{
    return lee_1_urcu_wfs_pop(u_stack._s, state, 1);
}

LEE_1_URCU_COMMON struct cds_wfs_node *__cds_wfs_pop_blocking(cds_wfs_stack_ptr_t u_stack)
{
    return lee_1_urcu_wfs_pop(u_stack._s, NULL, 1);
}

LEE_1_URCU_COMMON struct cds_wfs_node *__cds_wfs_pop_with_state_nonblocking(cds_wfs_stack_ptr_t u_stack, int *state)
{
    return lee_1_urcu_wfs_pop(u_stack._s, state, 0);
}

LEE_1_URCU_COMMON struct cds_wfs_node *__cds_wfs_pop_nonblocking(cds_wfs_stack_ptr_t u_stack)
{
    return lee_1_urcu_wfs_pop(u_stack._s, NULL, 0);
}

/* __cds_wfs_pop_with_state_blocking() and __cds_wfs_pop_blocking() with the mutex held. */
LEE_1_URCU_COMMON struct cds_wfs_node *cds_wfs_pop_with_state_blocking(struct cds_wfs_stack *s, int *state)
{
    cds_wfs_stack_ptr_t either;
    struct cds_wfs_node *node;

    either.s = s;
    cds_wfs_pop_lock(s);
    node = lee_1_urcu_wfs_pop(either._s, state, 1);
    cds_wfs_pop_unlock(s);
    return node;
}

LEE_1_URCU_COMMON struct cds_wfs_node *cds_wfs_pop_blocking(struct cds_wfs_stack *s)
{
    return cds_wfs_pop_with_state_blocking(s, NULL);
}

/* Takes all nodes; returns NULL if there are none. Wait-free, beside pushes and other pop_alls. */
LEE_1_URCU_COMMON struct cds_wfs_head *__cds_wfs_pop_all(cds_wfs_stack_ptr_t u_stack)
{
    return lee_1_urcu_wfs_pop_all(u_stack._s);
}

/* __cds_wfs_pop_all() with the mutex held, which lets it run beside the pops that take it. */
LEE_1_URCU_COMMON struct cds_wfs_head *cds_wfs_pop_all_blocking(struct cds_wfs_stack *s)
{
    cds_wfs_stack_ptr_t either;
    struct cds_wfs_head *head;

    either.s = s;
    cds_wfs_pop_lock(s);
    head = lee_1_urcu_wfs_pop_all(either._s);
    cds_wfs_pop_unlock(s);
    return head;
}

/* Returns the first of the nodes that were taken, the last pushed; NULL for NULL. */
LEE_1_URCU_COMMON struct cds_wfs_node *cds_wfs_first(struct cds_wfs_head *head)
{
    return head ? &head->node : NULL;
}

/* Returns the node after this one in what was taken; NULL at the end. */
LEE_1_URCU_COMMON struct cds_wfs_node *cds_wfs_next_blocking(struct cds_wfs_node *node)
{
    return lee_1_urcu_wfs_next(node, 1);
}

LEE_1_URCU_COMMON struct cds_wfs_node *cds_wfs_next_nonblocking(struct cds_wfs_node *node)
{
    return lee_1_urcu_wfs_next(node, 0);
}

#ifdef __cplusplus
}

#include "leeward/wfs-templates.h"
#endif

/*
 * The loops over what was taken; zero rounds for NULL. In the safe one the body may free the node.
 */
#define cds_wfs_for_each_blocking(head, node) \
    for ((node) = cds_wfs_first(head); (node) != NULL; (node) = cds_wfs_next_blocking(node))
#define cds_wfs_for_each_blocking_safe(head, node, n)                                                       \
    for ((node) = cds_wfs_first(head); (node) != NULL && ((n) = cds_wfs_next_blocking(node), 1); \
         (node) = (n))

#endif
