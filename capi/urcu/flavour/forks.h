/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Forks: what waits in a program's own workers runs in both processes. The parent's workers begin
 * no callback meanwhile (gate.h); the child, which has none of them, hands their queues to the
 * default worker, which the domain starts there, and starts a worker again when something is queued
 * for it.
 *
 * A fork takes no lock: a handler of the program's, or a callback that the domain's handler waits
 * for, may want it. So the list of workers, and what is in it, is such at any instruction that a
 * child, which has the forking thread alone, can repair it. What a thread that is not there was
 * making or ending may cost its memory.
 *
 * The handlers of pthread_atfork do that for every fork. call_rcu's three functions only lift the
 * bound of the wait before, tell the hash table, and take the child's workers away from its thread
 * and processors. A child of _Fork() or clone() runs no handler: there they repair what is here,
 * but not the domain.
 */
#ifndef LEEWARD_URCU_FLAVOUR_FORKS_H
#define LEEWARD_URCU_FLAVOUR_FORKS_H

#include "workers.h"

/* How many forks of the calling thread are under way; more than one, if a handler of them forks. */
static __thread uint32_t forking;

/* What is told of a fork besides (value.h), and how often it was registered. Under the lock. */
static struct {
    struct urcu_atfork *what;
    unsigned long count;
} told;

/* The default worker's thread, once get_call_rcu_thread() has asked for it (call_rcu.h). */
static struct {
    uint32_t is_known; /* 1: `thread` is stored */
    pthread_t thread;
} default_worker;

static void forget_processors(void);

/* Returns true if a worker runs a callback, or takes a batch; not if it is this thread. */
static bool is_calling(void)
{
    struct call_rcu_data *data;
    bool is_calling = false;

    lock_workers();
    for (data = workers.first; data && !is_calling; data = data->next)
        /* SeqCst: after the gate was closed; an acquire. Partner: begin(), end(). */
        is_calling = data != here && __atomic_load_n(&data->current, __ATOMIC_SEQ_CST) != NULL;
    unlock_workers();
    return is_calling;
}

/*
 * Waits until no worker calls; with `bound`, for that many nanoseconds at most. The gate is closed.
 */
static void wait_for_callbacks(int64_t bound)
{
    const long first = MILLISECOND / 20, longest = 5 * MILLISECOND;
    int64_t until = bound ? now() + bound : 0;
    long time = first;

    while (newest_worker() != 0 && is_calling() && !(bound && now() >= until)) {
        nap(time);
        time = time < longest / 2 ? 2 * time : longest;
    }
}

/* Runs in the parent, before the fork. */
static void before_fork(void)
{
    gate_close();
    if (forking++ == 0)
        wait_for_callbacks(LONGEST_PAUSE);
}

/* Runs in the parent, after the fork. */
static void in_parent(void)
{
    if (forking != 0)
        forking--;
    gate_open();
}

/* Ends, in the child, a worker that was to end in the parent. */
static void forget_ending(struct call_rcu_data *data)
{
    unlist(data);
    if (data->is_orphan || !pthread_equal(data->ender, pthread_self()))
        release(data);
    else
        /* This thread is about to wait for it (wait_for_end()), and forked in a signal handler. */
        data->has_ended = 1;
}

/* Takes what a worker of the parent's had queued, and forgets its thread. */
static struct rcu_head *forget_worker(struct call_rcu_data *data)
{
    struct rcu_head *heads = in_order(data->batch, data->incoming);

    data->batch = data->incoming = data->current = NULL;
    data->finished = data->taken;
    data->state = AWAKE;
    if (data->phase == RUNNING)
        data->phase = NONE;
    if (data->stop)
        forget_ending(data);
    return heads;
}

/* Repairs what is here in a child, on its one thread: no accesses need an order. */
static void repair(void)
{
    struct rcu_head *heads = NULL, *head;
    struct call_rcu_data *data, *next;

    pthread_mutex_init(&workers.mutex, NULL);
    generation++;
    gate.pausing = gate.is_held = 0;
    forking = 0;
    here = NULL;
    default_worker.is_known = 0;
    for (data = workers.first; data; data = next) {
        struct rcu_head *more;

        next = data->next;
        more = forget_worker(data);
        while ((head = more)) {
            more = next_of(head);
            link_to(head, heads);
            heads = head;
        }
    }
    /* The heads of each worker are in order again, once all are turned round. */
    for (heads = in_order(NULL, heads); (head = heads);) {
        heads = next_of(head);
        call_by_default(head, head->func);
    }
}

static void install_handlers(void)
{
    /*
     * The domain's handler first, so that children repair the domain before what is here is queued
     * for it. (In a program that is linked statically, it may not be installed yet.)
     */
    LEE_1_URCU_DOMAIN(set_child_adopts)(true);
    /* It fails without memory only; then children have the functions below. */
    pthread_atfork(before_fork, in_parent, repair);
}

/*
 * Has forks handled from now on. When the library is loaded: a fork that is under way runs no
 * handler that is installed meanwhile, and its child would wait for workers that it does not have.
 * Before a program's own constructors, so that their handlers run in children after these. (Also
 * when a worker is created, which a program may do before that.)
 */
__attribute__((__constructor__(101))) static void watch_forks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, install_handlers);
}

/* Returns what is told of forks; NULL: nothing. */
static struct urcu_atfork *who_is_told(void)
{
    struct urcu_atfork *what;

    lock_workers();
    what = told.count != 0 ? told.what : NULL;
    unlock_workers();
    return what;
}

/* The generation of the process that call_rcu_before_fork() ran in. */
static uint64_t forked_from;

EXPORT void call_rcu_before_fork(void)
{
    struct urcu_atfork *what = who_is_told();
    int was_online = go_offline();

    if (what)
        what->before_fork(what->priv);
    /* Relaxed: gate_wait() reads it after the count. */
    __atomic_store_n(&gate.is_held, 1, __ATOMIC_RELAXED);
    gate_close();
    wait_for_callbacks(0);
    forked_from = generation;
    come_back(was_online);
}

EXPORT void call_rcu_after_fork_parent(void)
{
    struct urcu_atfork *what = who_is_told();

    __atomic_store_n(&gate.is_held, 0, __ATOMIC_RELAXED);
    gate_open();
    if (what)
        what->after_fork_parent(what->priv);
}

EXPORT void call_rcu_after_fork_child(void)
{
    struct urcu_atfork *what;

    /* No handler ran. (Where `forking` is not 0, one will: another of the program's calls this.) */
    if (generation == forked_from && gate.is_held && forking == 0)
        repair();
    own = NULL;
    forget_processors();
    what = who_is_told();
    if (what)
        what->after_fork_child(what->priv);
}

#endif
