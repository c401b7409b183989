/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What forks.c and forks_beside.c share: a fork with call_rcu's three functions, or without.
 */
#ifndef URCU_FORKS_H
#define URCU_FORKS_H

#include "check.h"

struct object {
    struct rcu_head head;
    int number;
};

static struct object objects[1000];
static int calls;
static bool has_hooks;

static void count(struct rcu_head *head)
{
    (void)head;
    ADD(calls, 1);
}

static pid_t fork_with_hooks(void)
{
    pid_t child;

    fflush(NULL);
    if (has_hooks)
        KEEPS_ERRNO(call_rcu_before_fork());
#ifdef LEE_1_URCU_IS_BP
    urcu_bp_before_fork();
#endif
    child = fork();
    CHECK(child >= 0);
    if (child == 0)
        begin();
#ifdef LEE_1_URCU_IS_BP
    if (child)
        urcu_bp_after_fork_parent();
    else
        urcu_bp_after_fork_child();
#endif
    if (has_hooks && child)
        KEEPS_ERRNO(call_rcu_after_fork_parent());
    if (has_hooks && !child)
        KEEPS_ERRNO(call_rcu_after_fork_child());
    return child;
}

#endif
