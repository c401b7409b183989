/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The workers that the program created: their list, their beginning and end, and waiting for them.
 */
#ifndef LEEWARD_URCU_FLAVOUR_WORKERS_H
#define LEEWARD_URCU_FLAVOUR_WORKERS_H

#include "worker.h"

static struct {
    pthread_mutex_t mutex;
    sigset_t signals;            /* of the thread that holds the mutex, from before */
    struct call_rcu_data *first; /* the one that was created last; also read without the mutex */
    uint64_t created;
} workers = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* The default worker: the domain's. Only its address is used. */
static struct call_rcu_data by_default;

/*
 * Locks the list. Signals are blocked meanwhile: a handler may fork, and its child takes this lock.
 * It is held for moments, and never while callbacks or readers are waited for.
 */
static void lock_workers(void)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_mutex_lock(&workers.mutex);
    workers.signals = before;
}

static void unlock_workers(void)
{
    sigset_t before = workers.signals;

    pthread_mutex_unlock(&workers.mutex);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Takes a worker out of the list. Under the lock. */
static void unlist(struct call_rcu_data *data)
{
    struct call_rcu_data **at = &workers.first;

    while (*at && *at != data)
        at = &(*at)->next;
    if (*at)
        /* Release: what was queued has moved. Partner: the acquire in newest_worker(). */
        __atomic_store_n(at, data->next, __ATOMIC_RELEASE);
}

/* Gives a reference back, and frees the worker's memory with the last one. Under the lock. */
static void release(struct call_rcu_data *data)
{
    if (--data->references == 0)
        free(data);
}

/* Queues what a worker has not called for the default one. On the worker, which stops. */
static void hand_over(struct call_rcu_data *data)
{
    struct rcu_head *head;

    take(data);
    while ((head = begin_next(data))) {
        call_by_default(head, head->func);
        end(data);
    }
}

/* The worker's thread. */
static void *worker_main(void *argument)
{
    struct call_rcu_data *data = argument;
    bool is_orphan, was_asked;

    settle(data);
    if (!work(data))
        return NULL;
    hand_over(data);
    unregister_reader();
    lock_workers();
    is_orphan = data->is_orphan;
    was_asked = data->was_asked;
    __atomic_store_n(&data->phase, ENDED, __ATOMIC_SEQ_CST);
    /*
     * Release: partner of the acquire in wait_for_end(), whose caller frees what is here. Before
     * the worker leaves the list: a child ends those that are in it (forget_ending()).
     */
    __atomic_store_n(&data->has_ended, 1, __ATOMIC_RELEASE);
    unlist(data);
    finish(data);
    wake(&data->has_ended, 1);
    if (is_orphan)
        release(data);
    own = NULL;
    here = NULL;
    unlock_workers();
    if (is_orphan && !was_asked)
        pthread_detach(pthread_self());
    return NULL;
}

/*
 * Starts the worker's thread, if there is none. Returns false if that is impossible. Under the
 * lock.
 */
static bool start(struct call_rcu_data *data)
{
    int error = errno;
    bool is_started;

    if (data->phase != NONE)
        return data->phase == RUNNING;
    /* The thread begins with all signals blocked, as the holder of the lock has them. */
    data->signals = workers.signals;
    data->born = generation;
    /* The phase is stored before the thread may end. */
    __atomic_store_n(&data->phase, RUNNING, __ATOMIC_RELEASE);
    is_started = pthread_create(&data->thread, NULL, worker_main, data) == 0;
    if (!is_started)
        __atomic_store_n(&data->phase, NONE, __ATOMIC_RELEASE);
    errno = error;
    return is_started;
}

/* Starts a worker that has no thread. Returns false if that is impossible. */
COLD static bool start_again(struct call_rcu_data *data)
{
    bool is_running;

    lock_workers();
    is_running = start(data);
    unlock_workers();
    return is_running;
}

/* Returns true if the worker runs. It is started, if it does not: in the child of a fork. */
static inline bool has_worker(struct call_rcu_data *data)
{
    /* Acquire: partner of the release in start(). */
    return caa_likely(__atomic_load_n(&data->phase, __ATOMIC_ACQUIRE) == RUNNING) || start_again(data);
}

/* Starts the worker that a callback was queued for, or has the default one call it. */
COLD static void serve(struct call_rcu_data *data)
{
    struct rcu_head *heads = NULL, *head;

    lock_workers();
    if (!start(data))
        /* Acquire: partner of the release in enqueue(). */
        heads = in_order(NULL, __atomic_exchange_n(&data->incoming, NULL, __ATOMIC_ACQUIRE));
    unlock_workers();
    while ((head = heads)) {
        heads = next_of(head);
        call_by_default(head, head->func);
    }
}

/* Queues a callback for a worker. Returns false if it does not run, and cannot be started. */
static inline bool queue_for(struct call_rcu_data *data, struct rcu_head *head, void (*func)(struct rcu_head *head))
{
    /* Relaxed, both: changed by this thread alone, whose signal handler may fork meanwhile. */
    uint64_t before = __atomic_load_n(&generation, __ATOMIC_RELAXED);

    if (!has_worker(data))
        return false;
    enqueue(data, head, func);
    if (caa_unlikely(__atomic_load_n(&generation, __ATOMIC_RELAXED) != before))
        /* The child may not have the worker that was there before. */
        serve(data);
    return true;
}

/* Makes a worker; NULL without memory. */
static struct call_rcu_data *make(unsigned long flags, int cpu)
{
    void *memory = NULL;
    struct call_rcu_data *data;

    if (posix_memalign(&memory, _Alignof(struct call_rcu_data), sizeof(*data)) != 0)
        return NULL;
    data = memset(memory, 0, sizeof(*data));
    data->references = 1;
    data->is_polling = (flags & URCU_CALL_RCU_RT) != 0;
    data->cpu = cpu;
    lock_workers();
    data->id = workers.created + 1;
    /* Relaxed: ordered by the release below. */
    __atomic_store_n(&workers.created, data->id, __ATOMIC_RELAXED);
    data->next = workers.first;
    /* Release: the worker is whole. Partner: the acquire in newest_worker(). */
    __atomic_store_n(&workers.first, data, __ATOMIC_RELEASE);
    start(data);
    unlock_workers();
    return data;
}

/* Returns true if there is that worker, and nothing has it end. Under the lock. */
static bool is_there(const struct call_rcu_data *data)
{
    const struct call_rcu_data *at = workers.first;

    while (at && at != data)
        at = at->next;
    return at && !at->stop;
}

/* What end_worker() returns: the caller is to call wait_for_end(), or not. */
enum ending { NO_WORKER, NO_WAIT, TO_WAIT };

/*
 * Has the worker end, once a callback that runs has returned. If the caller is not to wait for
 * that, the worker frees its memory itself.
 */
static enum ending end_worker(struct call_rcu_data *data, bool may_wait)
{
    enum ending ending = NO_WAIT;

    lock_workers();
    if (!is_there(data)) {
        ending = NO_WORKER;
    } else if (data->phase == RUNNING) {
        ending = may_wait ? TO_WAIT : NO_WAIT;
        data->is_orphan = !may_wait;
        data->ender = pthread_self();
        /* SeqCst: before the look at the state; partner: the loads in rest(). */
        __atomic_store_n(&data->stop, 1, __ATOMIC_SEQ_CST);
        rouse(data);
    } else {
        /* It has no thread, and so nothing is queued. */
        unlist(data);
        release(data);
    }
    unlock_workers();
    return ending;
}

/* Waits until the worker has ended, and frees its memory. */
static void wait_for_end(struct call_rcu_data *data)
{
    sigset_t blocked, before;
    bool is_to_join;
    pthread_t thread;
    int state;

    /* Acquire: partner of the release in worker_main(). */
    while (!__atomic_load_n(&data->has_ended, __ATOMIC_ACQUIRE))
        sleep_on(&data->has_ended, 0, 0);
    /* From here on no handler forks: its child would wait for the end of a thread it has not. */
    sigemptyset(&blocked);
    add_outside_signals(&blocked);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    lock_workers();
    thread = data->thread;
    /* A program that knows the thread's id may join it after this; no other thread ever will. */
    is_to_join = !data->was_asked && data->born == generation;
    release(data);
    unlock_workers();
    if (is_to_join) {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
        pthread_join(thread, NULL);
        pthread_setcancelstate(state, &state);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Returns the id of the newest worker there is; 0: there is none. */
static uint64_t newest_worker(void)
{
    /* Acquire: partner of the releases in make() and unlist(). */
    struct call_rcu_data *first = __atomic_load_n(&workers.first, __ATOMIC_ACQUIRE);

    /* Relaxed: a count that only grows; as great as the id of any worker in the list. */
    return first ? __atomic_load_n(&workers.created, __ATOMIC_RELAXED) : 0;
}

/* Returns the oldest worker whose id is above `after` and at most `newest`. Under the lock. */
static struct call_rcu_data *oldest_worker(uint64_t after, uint64_t newest)
{
    struct call_rcu_data *data, *oldest = NULL;

    for (data = workers.first; data && data->id > after; data = data->next)
        if (data->id <= newest)
            oldest = data;
    return oldest;
}

/*
 * Returns true if the batch of that number has run, or all that was queued has, or the worker has
 * ended.
 */
static bool is_over(struct call_rcu_data *data, uint64_t last)
{
    /*
     * Acquire: nothing is queued, and what was is in a batch that `taken` counts. Partner: take().
     */
    bool is_empty = !__atomic_load_n(&data->incoming, __ATOMIC_ACQUIRE);
    /* Relaxed: ordered by the acquire. */
    uint64_t taken = __atomic_load_n(&data->taken, __ATOMIC_RELAXED);
    /* SeqCst: after the announcement in event_begin(); an acquire. Partner: finish(). */
    uint64_t finished = __atomic_load_n(&data->finished, __ATOMIC_SEQ_CST);

    return finished >= last || (is_empty && finished >= taken) ||
           __atomic_load_n(&data->phase, __ATOMIC_SEQ_CST) == ENDED;
}

/* Waits until all that is queued has run, or has been handed over. */
static void wait_for_queue(struct call_rcu_data *data)
{
    /*
     * Acquire: what was queued before is here, or was taken, and `taken` counted it. Partner:
     * take().
     */
    bool is_empty = !__atomic_load_n(&data->incoming, __ATOMIC_ACQUIRE);
    /* Relaxed: ordered by the acquire. */
    uint64_t last = __atomic_load_n(&data->taken, __ATOMIC_RELAXED) + !is_empty;

    while (!is_over(data, last)) {
        uint32_t round = event_begin(&data->batch_ended);

        event_end(&data->batch_ended, round, is_over(data, last));
    }
}

/* Waits, one after the other, for all workers up to the id `newest`. */
static void wait_for_workers(uint64_t newest)
{
    struct call_rcu_data *data;
    uint64_t id = 0;

    lock_workers();
    while ((data = oldest_worker(id, newest))) {
        id = data->id;
        data->references++;
        unlock_workers();
        wait_for_queue(data);
        lock_workers();
        release(data);
    }
    unlock_workers();
}

#endif
