/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * call_rcu() and its choice of a worker: the thread's own, that of its processor, or the default
 * one, which is the domain's. And rcu_barrier(), which waits for all of them.
 */
#ifndef LEEWARD_URCU_FLAVOUR_CALL_RCU_H
#define LEEWARD_URCU_FLAVOUR_CALL_RCU_H

#include "forks.h"

/* The workers of processors, by their numbers. Made once, and never freed. */
struct processors {
    int count;
    struct call_rcu_data *of[];
};
static struct processors *processors;

/* Returns the table of workers of processors; NULL: there has been none yet. */
static inline struct processors *table(void)
{
    /* Acquire: partner of the release in make_table(). */
    return __atomic_load_n(&processors, __ATOMIC_ACQUIRE);
}

/* Returns the worker of a processor; NULL: there is no such worker or processor. */
static struct call_rcu_data *worker_of(int cpu)
{
    struct processors *all = table();

    /* Acquire: the worker is whole. Partner: the release in set_cpu_call_rcu_data(). */
    return all && cpu >= 0 && cpu < all->count ? __atomic_load_n(&all->of[cpu], __ATOMIC_ACQUIRE) : NULL;
}

/* Returns the worker that the calling thread's callbacks go to; NULL: the default one. */
static struct call_rcu_data *choose(void)
{
    struct call_rcu_data *data = own;

    if (!data && caa_unlikely(table() != NULL)) {
        int error = errno;

        data = worker_of(sched_getcpu());
        errno = error;
    }
    return data == &by_default ? NULL : data;
}

/* A section that protects a processor's worker from being freed, in a thread of any kind. */
struct shelter {
    bool is_ours, was_registered;
};

static struct shelter take_shelter(void)
{
    struct shelter shelter = {false, IS_REGISTERED};

#ifdef LEE_1_URCU_IS_QSBR
    shelter.is_ours = !rcu_read_ongoing() && !is_online_inlined();
    if (shelter.is_ours)
        rcu_thread_online();
#else
    shelter.is_ours = true;
    rcu_read_lock();
#endif
    return shelter;
}

static void leave_shelter(struct shelter shelter)
{
#ifdef LEE_1_URCU_IS_QSBR
    if (shelter.is_ours)
        rcu_thread_offline();
#else
    rcu_read_unlock();
#endif
    if (!shelter.was_registered)
        LEE_1_URCU_DOMAIN(unregister)();
}

/* Queues a callback for the processor's worker; for the default one, if there is none. */
__attribute__((__noinline__)) static void call_on_processor(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
    struct shelter shelter = take_shelter();
    struct call_rcu_data *data = choose();
    bool is_queued = data && queue_for(data, head, func);

    leave_shelter(shelter);
    if (!is_queued)
        call_by_default(head, func);
}

/* Queues a callback, where there are other workers than the default one. */
__attribute__((__noinline__)) static void call_elsewhere(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
    struct call_rcu_data *data = own;

    if (!data)
        call_on_processor(head, func);
    else if (data == &by_default || !queue_for(data, head, func))
        call_by_default(head, func);
}

EXPORT void call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
    if (caa_likely(!own && !table()))
        call_by_default(head, func);
    else
        call_elsewhere(head, func);
}

EXPORT void rcu_barrier(void)
{
    uint64_t newest;
    int was_online;

    if (here) {
        report(NAME(barrier) " called inside a callback: it would wait for itself");
        return;
    }
    /*
     * First: workers that end from now on hand their queues to the default one, before the second
     * barrier.
     */
    newest = newest_worker();
    if (LEE_1_URCU_DOMAIN(barrier)() != 0 || newest == 0)
        return;
    was_online = go_offline();
    wait_for_workers(newest);
    LEE_1_URCU_DOMAIN(barrier)();
    come_back(was_online);
}

EXPORT struct call_rcu_data *create_call_rcu_data(unsigned long flags, int cpu_affinity)
{
    int error = errno;
    struct call_rcu_data *data;

    watch_forks();
    data = make(flags, cpu_affinity);
    errno = error;
    if (data)
        return data;
    report("there is no memory for a worker of its own; " NAME(create_call_rcu_data) " returns the default one");
    return &by_default;
}

EXPORT void call_rcu_data_free(struct call_rcu_data *crdp)
{
    int was_online;

    if (!crdp || crdp == &by_default)
        return;
    if (own == crdp)
        own = NULL;
    switch (end_worker(crdp, !here && !is_in_section())) {
    case NO_WORKER:
        report(NAME(call_rcu_data_free) ": there is no such worker, or it was freed before");
        return;
    case NO_WAIT:
        return;
    case TO_WAIT:
        break;
    }
    was_online = go_offline();
    wait_for_end(crdp);
    come_back(was_online);
}

EXPORT struct call_rcu_data *get_default_call_rcu_data(void)
{
    return &by_default;
}

EXPORT struct call_rcu_data *get_call_rcu_data(void)
{
    struct call_rcu_data *data = choose();

    return data ? data : &by_default;
}

EXPORT struct call_rcu_data *get_thread_call_rcu_data(void)
{
    return own;
}

EXPORT void set_thread_call_rcu_data(struct call_rcu_data *crdp)
{
    own = crdp;
}

/* A callback, whose head was allocated: notes the default worker's thread. */
static void note_thread(struct rcu_head *head)
{
    free(head);
    /* Relaxed: only the default worker stores it. */
    if (__atomic_load_n(&default_worker.is_known, __ATOMIC_RELAXED))
        return;
    default_worker.thread = pthread_self();
    /* Release: partner of the acquire in default_thread(). */
    __atomic_store_n(&default_worker.is_known, 1, __ATOMIC_RELEASE);
}

/*
 * Returns the default worker's thread, which a callback tells. 0 where that cannot be waited for,
 * or without memory. (A head of its own each time: a child does not know whether one that it
 * inherited was queued.)
 */
static pthread_t default_thread(void)
{
    pthread_t unknown;

    memset(&unknown, 0, sizeof(unknown));
    while (!__atomic_load_n(&default_worker.is_known, __ATOMIC_ACQUIRE)) {
        int error = errno;
        struct rcu_head *head = malloc(sizeof(*head));

        errno = error;
        if (!head)
            return unknown;
        call_by_default(head, note_thread);
        if (LEE_1_URCU_DOMAIN(barrier)() != 0)
            /* In a section; or in a callback of the default worker, which is this thread then. */
            return is_in_section() ? unknown : pthread_self();
    }
    return default_worker.thread;
}

EXPORT pthread_t get_call_rcu_thread(struct call_rcu_data *crdp)
{
    pthread_t thread;

    if (!crdp || crdp == &by_default)
        return default_thread();
    lock_workers();
    start(crdp);
    crdp->was_asked = true;
    thread = crdp->thread;
    unlock_workers();
    return thread;
}

#endif
