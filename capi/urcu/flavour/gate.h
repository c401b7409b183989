/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The gate that keeps workers from beginning a callback while the process forks, so that no
 * callback is half done in the child.
 *
 *     a worker                                 the thread that forks
 *     current = the callback                   pausing += 1
 *     load pausing; if not 0: step back        load each current; wait until none is set
 *
 * All four are SeqCst: if the worker's store comes first, the forking thread sees that a callback
 * runs and waits for its end; if the other's comes first, the worker sees the fork and does not
 * begin.
 */
#ifndef LEEWARD_URCU_FLAVOUR_GATE_H
#define LEEWARD_URCU_FLAVOUR_GATE_H

#include "sleep.h"

/* How long a fork waits for a callback at most, and how long workers wait for a fork. */
#define LONGEST_PAUSE (100 * MILLISECOND)
/* How long workers wait for forks, one of which begins before the other has ended. */
#define LONGEST_PAUSES (10 * LONGEST_PAUSE)

static struct {
    uint32_t pausing; /* forks under way */
    uint32_t ended;   /* counts those that have ended in this process */
    uint32_t is_held; /* 1: call_rcu_before_fork() was called, so the pause has no bound */
} gate;

/*
 * The number of forks that lie between the first process and this one. Changes in children alone.
 */
static uint64_t generation;

/* Waits until no fork is under way; not for ever, since a parent's handler may never run. */
COLD static void gate_wait(void)
{
    int64_t start = now(), end = start + LONGEST_PAUSE;
    /* Relaxed, all: counts. begin() in worker.h looks again with SeqCst. */
    uint32_t ended = __atomic_load_n(&gate.ended, __ATOMIC_RELAXED), pausing;

    while ((pausing = __atomic_load_n(&gate.pausing, __ATOMIC_RELAXED)) != 0) {
        bool is_held = __atomic_load_n(&gate.is_held, __ATOMIC_RELAXED) != 0;
        uint32_t seen = __atomic_load_n(&gate.ended, __ATOMIC_RELAXED);
        int64_t time = now();

        if (seen != ended) {
            /* This is another fork, which has its own time. */
            ended = seen;
            end = time + LONGEST_PAUSE;
            if (end > start + LONGEST_PAUSES)
                end = start + LONGEST_PAUSES;
        }
        if (!is_held && time >= end) {
            __atomic_compare_exchange_n(&gate.pausing, &pausing, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
            return;
        }
        sleep_on(&gate.pausing, pausing, is_held ? 0 : (long)(end - time));
    }
}

/* Closes the gate: no callback begins any more. */
static void gate_close(void)
{
    __atomic_fetch_add(&gate.pausing, 1, __ATOMIC_SEQ_CST);
}

/* Takes one gate_close() back. Workers may have taken it back themselves (gate_wait()). */
static void gate_open(void)
{
    uint32_t pausing = __atomic_load_n(&gate.pausing, __ATOMIC_RELAXED);

    /* Relaxed, all: counts. */
    __atomic_fetch_add(&gate.ended, 1, __ATOMIC_RELAXED);
    while (pausing != 0 && !__atomic_compare_exchange_n(&gate.pausing, &pausing, pausing - 1, false,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    wake(&gate.pausing, INT_MAX);
}

#endif
