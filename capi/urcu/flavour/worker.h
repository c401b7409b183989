/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A worker that a program created, and its queue. workers.h starts and ends it.
 *
 * The queue is a stack that threads push to by one compare-exchange, and that the worker takes as a
 * whole and turns round. It is whole at any instruction, so that the child of a fork finds it
 * whole. (R. K. Treiber, "Systems Programming: Coping with Parallelism", 1986. Nothing is popped,
 * so that no address can be mistaken for another.) What the worker took stays in `batch` until it
 * is called, for the same reason. The worker sleeps only when it found nothing, and only the thread
 * that pushes to an empty stack wakes it.
 */
#ifndef LEEWARD_URCU_FLAVOUR_WORKER_H
#define LEEWARD_URCU_FLAVOUR_WORKER_H

#include <sys/prctl.h>

#include "gate.h"
#include "inlined.h"

/* Values of `state`. */
enum { AWAKE, ASLEEP };
/* Values of `phase`: there is no thread; there is one; it has ended, and the queue is not used. */
enum { NONE, RUNNING, ENDED };

struct call_rcu_data {
    /* What threads that queue change. */
    LINE struct rcu_head *incoming; /* the head that was queued last */
    uint32_t state;                 /* the worker sleeps on it */

    /* What the worker changes. */
    LINE struct rcu_head *batch;   /* what was taken and has not begun, in order */
    struct rcu_head *current;      /* what runs, or TAKING */
    uint64_t taken, finished;      /* batches */
    struct event batch_ended;      /* or the worker has */

    /* The rest changes under the lock of workers.h. */
    LINE struct call_rcu_data *next; /* the worker that was created before */
    uint64_t id;                     /* counts from 1 */
    uint32_t references;             /* the program's, and those of threads that wait for it */
    uint32_t phase;
    uint32_t stop;                   /* 1: the worker is to end */
    uint32_t has_ended;              /* 1: it has, and does not touch this any more */
    bool is_polling;                 /* URCU_CALL_RCU_RT */
    bool is_orphan;                  /* the worker frees this when it ends */
    bool was_asked;                  /* the program knows the thread's id, and may join it */
    uint64_t doom;                   /* free_all_cpu_call_rcu_data() ends it: that call; 0: none */
    int cpu;
    pthread_t thread, ender;         /* the worker's, and the one that has it end */
    uint64_t born;                   /* the generation that the thread was started in */
    sigset_t signals;                /* that were blocked where it was started */
};

/* `current` while a batch is taken: no head has this address. */
#define TAKING ((struct rcu_head *)1)

/* The worker that the thread's callbacks go to; NULL: that of its processor, or the default one. */
static __thread struct call_rcu_data *own;
/* The worker whose thread this is. All that the thread runs of the program is callbacks, then. */
static __thread struct call_rcu_data *here;

/*
 * The mark of heads that were taken, in the first word, as the domain's queue has it: no head has an
 * odd address. A head that is queued a second time has the mark where one that is queued must not,
 * or lacks it where one that was taken must have it: the lists are broken then.
 */
#define TAKEN ((uintptr_t)1)
urcu_static_assert(offsetof(struct rcu_head, next) == 0, "the link is the first word", rcu_head_next);

static bool is_taken(const struct rcu_head *head)
{
    return ((uintptr_t)head->next.next & TAKEN) != 0;
}

/* Returns the head after one, without the mark. */
static struct rcu_head *next_of(const struct rcu_head *head)
{
    return (struct rcu_head *)((uintptr_t)head->next.next & ~TAKEN);
}

static void link_to(struct rcu_head *head, struct rcu_head *next)
{
    head->next.next = next ? &next->next : NULL;
}

/* Links a head that was taken. */
static void link_taken(struct rcu_head *head, struct rcu_head *next)
{
    head->next.next = (struct cds_wfcq_node *)((uintptr_t)next | TAKEN);
}

/* Ends the process for a head that was queued while it was queued. */
COLD __attribute__((__noreturn__)) static void queued_twice(const struct rcu_head *head)
{
    char line[160];

    snprintf(line, sizeof(line), "%s called again with the head %p, which a worker has queued already (thread %ld)",
             NAME(call_rcu), (const void *)head, (long)syscall(SYS_gettid));
    give_up(line);
}

/*
 * Turns heads round that are linked from the last to the first, marks them as taken, and puts them
 * after those of `first`, which were taken before.
 */
static struct rcu_head *in_order(struct rcu_head *first, struct rcu_head *last)
{
    struct rcu_head *reversed = NULL, *end = first, *next;

    for (; last; last = next) {
        if (caa_unlikely(is_taken(last)))
            queued_twice(last);
        next = next_of(last);
        link_taken(last, reversed);
        reversed = last;
    }
    if (!first)
        return reversed;
    while ((next = next_of(end)))
        end = next;
    link_taken(end, reversed);
    return first;
}

/* Wakes the worker, if it sleeps. */
__attribute__((__noinline__)) static void rouse(struct call_rcu_data *data)
{
    uint32_t asleep = ASLEEP;

    /* SeqCst: partner of the store in rest(). */
    if (__atomic_load_n(&data->state, __ATOMIC_SEQ_CST) == ASLEEP &&
        /* Relaxed: one of several threads makes the system call. */
        __atomic_compare_exchange_n(&data->state, &asleep, AWAKE, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        wake(&data->state, 1);
}

/* Queues a callback. */
static void enqueue(struct call_rcu_data *data, struct rcu_head *head, void (*func)(struct rcu_head *head))
{
    /* Relaxed: the exchange decides. */
    struct rcu_head *last = __atomic_load_n(&data->incoming, __ATOMIC_RELAXED);

    if (caa_unlikely(!head || !func || (uintptr_t)head & TAKEN))
        give_up(NAME(call_rcu) " called with a head or a function that is NULL, or a head at an odd address");
    head->func = func;
    do {
        if (caa_unlikely(last == head))
            queued_twice(head);
        link_to(head, last);
        /*
         * SeqCst: a release, whose partner is the acquire in take(); and before the look at the
         * state. If the push comes first, the worker finds it before it sleeps (rest()); if its
         * store of ASLEEP does, rouse() wakes it.
         */
    } while (!__atomic_compare_exchange_n(&data->incoming, &last, head, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    if (!last && !data->is_polling)
        rouse(data);
}

/* Announces what the worker begins; waits first while the process forks. See gate.h. */
static void begin(struct call_rcu_data *data, struct rcu_head *what)
{
    for (;;) {
        __atomic_store_n(&data->current, what, __ATOMIC_SEQ_CST);
        if (caa_likely(__atomic_load_n(&gate.pausing, __ATOMIC_SEQ_CST) == 0))
            return;
        __atomic_store_n(&data->current, NULL, __ATOMIC_RELEASE);
        gate_wait();
    }
}

/* Announces that it has ended. */
static void end(struct call_rcu_data *data)
{
    /*
     * Release: what was done, for the forking thread. Partner: the acquire in wait_for_callbacks().
     */
    __atomic_store_n(&data->current, NULL, __ATOMIC_RELEASE);
}

/* Takes what is queued. Returns false if nothing is, and nothing is left of the last batch. */
static bool take(struct call_rcu_data *data)
{
    struct rcu_head *last;

    /* Relaxed: only the worker takes. */
    if (!__atomic_load_n(&data->incoming, __ATOMIC_RELAXED))
        return data->batch != NULL;
    begin(data, TAKING);
    /* Relaxed: ordered by the exchange: who finds nothing queued finds the batch counted. */
    __atomic_store_n(&data->taken, data->taken + 1, __ATOMIC_RELAXED);
    /* Acquire: partner of enqueue(). Release: partner of the acquire in wait_for_queue(). */
    last = __atomic_exchange_n(&data->incoming, NULL, __ATOMIC_ACQ_REL);
    __atomic_store_n(&data->batch, in_order(data->batch, last), __ATOMIC_RELAXED);
    end(data);
    return true;
}

/* Takes the next callback out of the batch and begins it; NULL: there is none. */
static struct rcu_head *begin_next(struct call_rcu_data *data)
{
    struct rcu_head *head = data->batch;

    if (head) {
        if (caa_unlikely(!is_taken(head)))
            /* What comes after it cannot be found any more. */
            queued_twice(head);
        begin(data, head);
        /* Release: a child that finds the rest of the batch finds that this head was begun, too. */
        __atomic_store_n(&data->batch, next_of(head), __ATOMIC_RELEASE);
    }
    return head;
}

/* Puts right what a callback left behind: a section of its own would hold all grace periods up. */
static void tidy(void)
{
#ifdef LEE_1_URCU_IS_QSBR
    if (caa_likely(rcu_read_ongoing()))
        rcu_quiescent_state();
    else
        rcu_thread_online();
    go_online_inlined();
#else
    if (caa_likely(!is_in_section()))
        return;
    report("a callback returned inside a read section, which is ended");
    suspend_inlined();
    while ((uint64_t)_rcu_read_ongoing() > guards_of_rust())
        _rcu_read_unlock();
#endif
}

/* Announces that all that was taken has run. */
static void finish(struct call_rcu_data *data)
{
    /* SeqCst: a release, whose partner is the acquire in wait_for_queue(), and for announce(). */
    __atomic_store_n(&data->finished, data->taken, __ATOMIC_SEQ_CST);
    announce(&data->batch_ended);
}

static bool is_to_stop(struct call_rcu_data *data)
{
    return __atomic_load_n(&data->stop, __ATOMIC_SEQ_CST) != 0;
}

/*
 * Calls the batch, whose grace period has passed; not all of it, if the worker is to stop. Returns
 * false if a callback forked and this is the child, where this thread is not the worker.
 */
static bool run(struct call_rcu_data *data)
{
    uint64_t born = generation;
    struct rcu_head *head;

#ifdef LEE_1_URCU_IS_QSBR
    rcu_thread_online();
    go_online_inlined();
#endif
    while (!is_to_stop(data) && (head = begin_next(data))) {
        head->func(head);
        if (generation != born)
            return false;
        end(data);
        tidy();
    }
#ifdef LEE_1_URCU_IS_QSBR
    rcu_thread_offline();
#endif
    if (!data->batch)
        finish(data);
    return true;
}

/* Waits for a grace period. Returns false if the worker is to stop before there was one. */
static bool wait_for_readers(struct call_rcu_data *data)
{
    /* A refusal (no heavy fence is possible, or a guard of Rust was leaked here) may pass. */
    while (LEE_1_URCU_DOMAIN(synchronize)() != 0) {
        if (is_to_stop(data))
            return false;
        nap(1000 * MILLISECOND);
    }
    return true;
}

/* Sleeps until something is queued or the worker is to stop; for `pause` at most, if not 0. */
static void rest(struct call_rcu_data *data, long pause)
{
    /* SeqCst: before the look at the stack and at `stop`; partner: enqueue(), and end_worker(). */
    __atomic_store_n(&data->state, ASLEEP, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&data->incoming, __ATOMIC_SEQ_CST) && !is_to_stop(data))
        sleep_on(&data->state, ASLEEP, pause);
    /* Relaxed: a thread that takes the worker for asleep makes a needless system call. */
    __atomic_store_n(&data->state, AWAKE, __ATOMIC_RELAXED);
}

/* Calls what is queued until it is to stop. Returns false in the child of a callback's fork. */
static bool work(struct call_rcu_data *data)
{
    /* A worker that no thread wakes looks often after a callback, and then seldom. */
    const long often = MILLISECOND, seldom = 10 * MILLISECOND;
    long pause = often;

    while (!is_to_stop(data)) {
        if (take(data)) {
            pause = often;
            if (wait_for_readers(data) && !run(data))
                return false;
            continue;
        }
        rest(data, data->is_polling ? pause : 0);
        pause = pause < seldom / 2 ? 2 * pause : seldom;
    }
    return true;
}

/*
 * Adds all signals that may come from outside to a set, but SIGURG and the real-time ones: without
 * membarrier, a fence of <leeward/fence.h> may use one.
 */
static void add_outside_signals(sigset_t *signals)
{
    static const int others[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGURG};
    int signal;
    size_t i;

    for (signal = 1; signal < 32; signal++) {
        for (i = 0; i < CAA_ARRAY_SIZE(others) && signal != others[i]; i++)
            ;
        if (i == CAA_ARRAY_SIZE(others))
            sigaddset(signals, signal);
    }
}

/* Makes the calling thread the worker. */
static void settle(struct call_rcu_data *data)
{
    sigset_t blocked = data->signals;
    cpu_set_t cpus;
    int before;

    /* A worker that a callback cancels would take its queue with it. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    prctl(PR_SET_NAME, "leeward-callrcu");
    if (data->cpu >= 0 && data->cpu < CPU_SETSIZE) {
        CPU_ZERO(&cpus);
        CPU_SET((size_t)data->cpu, &cpus);
        /* A processor that does not exist, or is not ours to use: the worker runs anywhere. */
        sched_setaffinity(0, sizeof(cpus), &cpus);
    }
    /* Without memory the first section of a callback tries again. */
    register_reader();
    go_offline();
    own = data;
    here = data;
    /* The others are as where it was started; until now, all were blocked. */
    add_outside_signals(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
}

#endif
