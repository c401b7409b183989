/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/lfstack.h, leeward's: a stack with lock-free push and pop, and wait-free pop_all.
 *
 * A pop beside another pop or a pop_all needs one of: both in sections, and a grace period before a
 * popped node is freed or pushed again (what else it holds may be overwritten at once); mutual
 * exclusion, by the stack's mutex or a lock of the program's; or one consumer that does both.
 * Pushes, and pop_alls among each other, need nothing.
 *
 * A stack is a struct cds_lfs_stack, with a mutex that the functions without leading underscores
 * take, or a struct __cds_lfs_stack, without one. The functions of type cds_lfs_stack_ptr_t take
 * either: a transparent union in C, templates in C++.
 *
 * All of it is inlined, leaves errno alone, and is no cancellation point. What takes no mutex is
 * safe in signal handlers.
 */
#ifndef LEEWARD_COMPAT_URCU_LFSTACK_H
#define LEEWARD_COMPAT_URCU_LFSTACK_H

#include <pthread.h>
#include <stdbool.h>

#include "assert.h"
#include "compiler.h"
#include "leeward/lfs.h"
#include "uatomic.h"
#ifdef _LGPL_SOURCE
#include "pointer.h"
#endif

/*
 * ISO C has no transparent unions, and GCC's -Wpedantic says so at every call of a function that
 * has one, unless a system header declares it. The test of these headers' own warnings defines the
 * name.
 */
#if defined(__GNUC__) && !defined(__cplusplus) && !defined(LEE_1_URCU_WARN)
#pragma GCC system_header
#endif

/* How the functions are defined; libleeward-urcu-cds has them as symbols. */
#ifndef LEE_1_URCU_CDS
#define LEE_1_URCU_CDS static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Prepares a node. Does nothing, as a push stores all there is. */
LEE_1_URCU_CDS void cds_lfs_node_init(struct cds_lfs_node *node)
{
    (void)node;
}

/* Makes an empty stack without a mutex. */
LEE_1_URCU_CDS void __cds_lfs_init(struct __cds_lfs_stack *s)
{
    s->head = NULL;
}

/* Makes an empty stack with a mutex. */
LEE_1_URCU_CDS void cds_lfs_init(struct cds_lfs_stack *s)
{
    int error = pthread_mutex_init(&s->lock, NULL);

    urcu_posix_assert(!error);
    (void)error;
    s->head = NULL;
}

/* Ends a stack that cds_lfs_init() made. */
LEE_1_URCU_CDS void cds_lfs_destroy(struct cds_lfs_stack *s)
{
    int error = pthread_mutex_destroy(&s->lock);

    urcu_posix_assert(!error);
    (void)error;
}

/* Locks the mutex, for a row of the functions that must exclude each other. */
LEE_1_URCU_CDS void cds_lfs_pop_lock(struct cds_lfs_stack *s)
{
    int error = pthread_mutex_lock(&s->lock);

    urcu_posix_assert(!error);
    (void)error;
}

/* Unlocks the mutex. */
LEE_1_URCU_CDS void cds_lfs_pop_unlock(struct cds_lfs_stack *s)
{
    int error = pthread_mutex_unlock(&s->lock);

    urcu_posix_assert(!error);
    (void)error;
}

/* Returns true if the stack is empty. No barrier: the answer may be old by the time it is read. */
LEE_1_URCU_CDS bool cds_lfs_empty(cds_lfs_stack_const_ptr_t s)
{
    /* Relaxed: nothing is read through what is found. */
    return __atomic_load_n(&s._s->head, __ATOMIC_RELAXED) == NULL;
}

/*
 * Pushes the node. Lock-free, by any thread. Returns false if the stack was empty. The thread that
 * pops the node sees what was stored before.
 */
LEE_1_URCU_CDS bool cds_lfs_push(cds_lfs_stack_ptr_t s, struct cds_lfs_node *node)
{
    return lee_1_urcu_lfs_push(s._s, node);
}

/*
 * Pops the top node; returns NULL if the stack is empty. Lock-free. The caller serialises pops.
 */
LEE_1_URCU_CDS struct cds_lfs_node *__cds_lfs_pop(cds_lfs_stack_ptr_t s)
{
    return lee_1_urcu_lfs_pop(s._s);
}

/* Takes all nodes; returns NULL if there are none. Wait-free, beside pushes and other pop_alls. */
LEE_1_URCU_CDS struct cds_lfs_head *__cds_lfs_pop_all(cds_lfs_stack_ptr_t s)
{
    return lee_1_urcu_lfs_pop_all(s._s);
}

/* __cds_lfs_pop() and __cds_lfs_pop_all() with the mutex held. */
LEE_1_URCU_CDS struct cds_lfs_node *cds_lfs_pop_blocking(struct cds_lfs_stack *s)
{
    cds_lfs_stack_ptr_t either;
    struct cds_lfs_node *node;

    either.s = s;
    cds_lfs_pop_lock(s);
    node = lee_1_urcu_lfs_pop(either._s);
    cds_lfs_pop_unlock(s);
    return node;
}

LEE_1_URCU_CDS struct cds_lfs_head *cds_lfs_pop_all_blocking(struct cds_lfs_stack *s)
{
    cds_lfs_stack_ptr_t either;
    struct cds_lfs_head *head;

    either.s = s;
    cds_lfs_pop_lock(s);
    head = lee_1_urcu_lfs_pop_all(either._s);
    cds_lfs_pop_unlock(s);
    return head;
}

#ifdef __cplusplus
}

#include "leeward/lfs-templates.h"
#endif

/*
 * The loops over what was taken; zero rounds for NULL. In the safe one the body may free the node.
 */
#define cds_lfs_for_each(head, node) \
    for ((node) = lee_1_urcu_lfs_node(head); (node) != NULL; (node) = (node)->next)
#define cds_lfs_for_each_safe(head, node, n) \
    for ((node) = lee_1_urcu_lfs_node(head); (node) != NULL && ((n) = (node)->next, 1); (node) = (n))

#endif
