/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Forks: what waits in a program's own workers runs in both processes. The parent's workers begin
 * no callback meanwhile (gate.h); the child, which has none of them, hands their queues to the
 * default worker, which the domain starts there, and starts a worker again when something is queued
 * for it.
 *
 * The handlers of pthread_atfork do that for every fork. call_rcu's three functions only lift the
 * bound of the wait before, tell the hash table, and take the child's workers away from its thread
 * and processors. A child of _Fork() or clone() runs no handler: there they repair what is here,
 * but not the domain.
 */
#ifndef LEEWARD_URCU_FLAVOUR_FORKS_H
#define LEEWARD_URCU_FLAVOUR_FORKS_H

#include "workers.h"

/* The thread that holds the list's lock over its fork, and how many of its forks are under way. */
static struct {
    pthread_t thread;
    uint32_t depth;
} forking;

/*
 * What is told of a fork besides (value.h), and how often it was registered. Under the list's lock.
 */
static struct {
    struct urcu_atfork *what;
    unsigned long count;
} told;

/* The head by which get_call_rcu_thread() asks the default worker for its thread (call_rcu.h). */
static struct {
    struct rcu_head head;
    bool is_asked;     /* under the list's lock */
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

/* Runs in the parent, before the fork. A handler of the program's that forks comes here twice. */
static void before_fork(void)
{
    gate_close();
    /*
     * Acquire: partner of the release below, if that is another thread's: then so is
     * `forking.thread`.
     */
    if (__atomic_load_n(&forking.depth, __ATOMIC_ACQUIRE) == 0 || !pthread_equal(forking.thread, pthread_self())) {
        wait_for_callbacks(LONGEST_PAUSE);
        lock_workers();
        forking.thread = pthread_self();
    }
    __atomic_store_n(&forking.depth, forking.depth + 1, __ATOMIC_RELEASE);
}

/* Runs in the parent, after the fork. */
static void in_parent(void)
{
    if (forking.depth != 0 && --forking.depth == 0)
        unlock_workers();
    gate_open();
}

/* Ends, in the child, a worker that was to end in the parent. */
static void forget_ending(struct call_rcu_data *data)
{
    unlist(data);
    if (data->is_orphan || !pthread_equal(data->ender, pthread_self())) {
        release(data);
        return;
    }
    /* This thread is about to wait for it (wait_for_end()), and forked in a signal handler. */
    data->was_asked = true;
    data->has_ended = 1;
}

/* Takes what a worker of the parent's had queued, and forgets its thread. */
static struct rcu_head *forget_worker(struct call_rcu_data *data)
{
    struct rcu_head *heads = in_order(data->batch, data->incoming);

    data->batch = data->incoming = data->current = NULL;
    data->finished = data->taken;
    data->state = AWAKE;
    data->batch_ended.sleepers = 0;
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

    generation++;
    gate.pausing = gate.is_held = 0;
    forking.depth = 0;
    here = NULL;
    if (default_worker.is_known) {
        default_worker.is_asked = false;
        default_worker.is_known = 0;
    }
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

/*
 * Runs in the child. The domain is repaired by now, or, in a program that is linked statically,
 * after this: then it finds what is queued for it here as if it had been there before.
 */
static void in_child(void)
{
    sigset_t before = workers.signals;
    bool holds_lock = forking.depth != 0;

    pthread_mutex_init(&workers.mutex, NULL);
    repair();
    if (holds_lock)
        pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void install_handlers(void)
{
    /* It fails without memory only; then children have the functions below. */
    pthread_atfork(before_fork, in_parent, in_child);
}

/*
 * Has forks handled from now on. When the library is loaded: a fork that is under way runs no
 * handler that is installed meanwhile, and its child would wait for workers that it does not have.
 * (Also when a worker is created, which a program may do before that.)
 */
__attribute__((__constructor__)) static void watch_forks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, install_handlers);
}

/* Returns what is told of forks; NULL: nothing. */
static struct urcu_atfork *who_is_told(void)
{
    struct urcu_atfork *what;

    lock_workers();
    what = told.what;
    unlock_workers();
    return what;
}

/* The generation of the process that call_rcu_before_fork() ran in. */
static uint64_t forked_from;

EXPORT void call_rcu_before_fork(void)
{
    struct urcu_atfork *what = who_is_told();
    bool was_online = go_offline();

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

    if (generation == forked_from && gate.is_held) {
        /* No handler ran. */
        pthread_mutex_init(&workers.mutex, NULL);
        repair();
    }
    own = NULL;
    forget_processors();
    what = who_is_told();
    if (what)
        what->after_fork_child(what->priv);
}

#endif
