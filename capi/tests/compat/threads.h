/* What the programs with many threads share: starting some at once, and how much each does. */
#ifndef COMPAT_THREADS_H
#define COMPAT_THREADS_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include <urcu/uatomic.h>

#include "check.h"

/* Elements that each producer makes; fewer where a sanitizer slows everything down. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define MANY 3000
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define MANY 3000
#endif
#endif
#ifndef MANY
#define MANY 30000
#endif

#define PRODUCERS 2
#define CONSUMERS 2

/* When threads that yield between two elements are to make haste. */
static time_t time_is_up;

static inline time_t seconds(void)
{
    struct timespec now;

    CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return now.tv_sec;
}

/* Returns true for the first seconds of together(): on a busy machine each yield takes so long. */
static inline int has_time(void)
{
    return seconds() < time_is_up;
}

/* Runs `count` threads of body((void *)number) and waits for them. */
static inline void together(int count, void *(*body)(void *))
{
    pthread_t ids[8];
    intptr_t i;

    time_is_up = seconds() + 4;
    for (i = 0; i < count; i++)
        CHECK(pthread_create(&ids[i], NULL, body, (void *)i) == 0);
    for (i = 0; i < count; i++)
        CHECK(pthread_join(ids[i], NULL) == 0);
}

/*
 * Which elements came out: each once, and each producer's in its order, as far as a consumer sees.
 */
static int came_out[PRODUCERS][MANY];

static inline void came_out_reset(void)
{
    int i, j;

    for (i = 0; i < PRODUCERS; i++)
        for (j = 0; j < MANY; j++)
            came_out[i][j] = 0;
}

static inline void came_out_all_once(void)
{
    int i, j;

    for (i = 0; i < PRODUCERS; i++)
        for (j = 0; j < MANY; j++)
            CHECK(came_out[i][j] == 1);
}

#endif
