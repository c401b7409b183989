/*
 * A gap, for the programs that try the blocking functions: an enqueuer is stopped between the two
 * stores of an enqueue, by doing them by hand, and another thread does the second one later. Until
 * then it sends signals to the thread that waits, which interrupt its naps.
 */
#ifndef COMPAT_GAP_H
#define COMPAT_GAP_H

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

/* The store that is missing. */
struct gap {
    void **link;
    void *node;
    int milliseconds;
    pthread_t waiter, closer;
};

static void gap_interrupt(int number)
{
    (void)number;
}

static void *gap_closer(void *of)
{
    struct gap *gap = (struct gap *)of;
    int i;

    for (i = 0; i < gap->milliseconds; i++) {
        usleep(1000);
        CHECK(pthread_kill(gap->waiter, SIGUSR1) == 0);
    }
    __atomic_store_n(gap->link, gap->node, __ATOMIC_RELEASE);
    return NULL;
}

/* Closes the gap after so many milliseconds: long enough for each kind of wait to be reached. */
static void gap_close_later(struct gap *gap, void *link, void *node, int milliseconds)
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    action.sa_handler = gap_interrupt;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    gap->link = (void **)link;
    gap->node = node;
    gap->milliseconds = milliseconds;
    gap->waiter = pthread_self();
    CHECK(pthread_create(&gap->closer, NULL, gap_closer, gap) == 0);
}

/*
 * Waits for the closer. The wait in between has left errno alone; liburcu's has not if a signal
 * came.
 */
static void gap_end(struct gap *gap)
{
#ifdef LEEWARD
    CHECK(errno == UNTOUCHED);
#else
    errno = UNTOUCHED;
#endif
    CHECK(pthread_join(gap->closer, NULL) == 0);
}

#endif
