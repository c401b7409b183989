/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the tests of forks share: a fork with call_rcu's three functions, or without; and callbacks
 * that wait for a reader.
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
static bool has_hooks UNUSED;

static UNUSED void count(struct rcu_head *head)
{
    (void)head;
    ADD(calls, 1);
}

static UNUSED long milliseconds(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (long)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static UNUSED pid_t fork_with_hooks(void)
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

static UNUSED void in_order(struct rcu_head *head)
{
    CHECK(((struct object *)head)->number == calls);
    calls++;
}

/* A reader of another thread, who keeps all callbacks waiting. */
static int phase UNUSED;

static UNUSED void *hold(void *unused)
{
    (void)unused;
    rcu_register_thread();
    rcu_read_lock();
    SET(phase, 1);
    while (GET(phase) == 1)
        sleep_ms(1);
    rcu_read_unlock();
    rcu_unregister_thread();
    return NULL;
}

static UNUSED pthread_t start_reader(void)
{
    pthread_t reader;

    phase = 0;
    reader = start_thread(hold, NULL);
    EVENTUALLY(GET(phase));
    return reader;
}

static UNUSED void end_reader(pthread_t reader)
{
    SET(phase, 2);
    rcu_thread_offline();
    join_thread(reader);
    rcu_thread_online();
}

static UNUSED void queue_all(void)
{
    int i;

    calls = 0;
    for (i = 0; i < 1000; i++) {
        objects[i].number = i;
        call_rcu(&objects[i].head, in_order);
    }
}

#endif
