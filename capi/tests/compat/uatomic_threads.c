/*
 * urcu/uatomic.h and urcu/arch.h by several threads: atomicity, and the fences that are promised.
 */
#define _GNU_SOURCE 1
#include <sched.h>
#include <urcu/uatomic.h>

#include "threads.h"

static unsigned long counter;
static int inced, ored;
static unsigned char byte;
static char seen[2 * MANY + 1];

static void *count(void *number)
{
    int i;

    for (i = 0; i < MANY; i++) {
        unsigned long now = uatomic_add_return(&counter, 1);

        /* Each value is returned once. */
        CHECK(now >= 1 && now <= 2 * MANY && seen[now] == 0);
        seen[now] = 1;
        uatomic_inc(&inced);
        uatomic_add(&inced, 3);
        uatomic_sub(&inced, 2);
        uatomic_dec(&inced);
        uatomic_add(&inced, 1);
        uatomic_or(&ored, 1 << (i % 8 + 8 * (int)(intptr_t)number));
        uatomic_and(&ored, ~(1 << (i % 8 + 8 * (int)(intptr_t)number)));
#ifdef UATOMIC_HAS_ATOMIC_BYTE
        uatomic_inc(&byte);
#endif
    }
    return NULL;
}

static int lock, guarded;

static void acquire_by_xchg(void)
{
    while (uatomic_xchg(&lock, 1) != 0)
        caa_cpu_relax();
}

static void acquire_by_cmpxchg(void)
{
    while (uatomic_cmpxchg(&lock, 0, 1) != 0)
        caa_cpu_relax();
}

static void release(void)
{
#ifdef LEEWARD
    uatomic_store(&lock, 0, CMM_RELEASE);
#else
    cmm_smp_mb();
    uatomic_set(&lock, 0);
#endif
}

/*
 * Plain memory behind a lock made of xchg and cmpxchg: ThreadSanitizer sees whether they order it.
 */
static void *guard(void *number)
{
    int i;

    for (i = 0; i < MANY; i++) {
        if ((i + (intptr_t)number) % 2)
            acquire_by_xchg();
        else
            acquire_by_cmpxchg();
        guarded++;
        release();
    }
    return NULL;
}

/*
 * Store buffering: each of two threads stores to its own word and then loads the other's. With a
 * full fence between the two, in both, at least one of them sees the other's store.
 */
#define CELLS 20000
#define ROUNDS 10
#define STEP 500

struct cell {
    int word[2];
    int result[2];
    char apart[CAA_CACHE_LINE_SIZE - 4 * sizeof(int)];
};

static struct cell cells[CELLS];
static int scratch[2][CAA_CACHE_LINE_SIZE];
static int kind, started;

static void fence(int *own)
{
    switch (kind) {
    case 0: cmm_smp_mb(); break;
    case 1: cmm_mb(); break;
    case 2: (void)uatomic_xchg(own, 1); break;
    case 3: (void)uatomic_add_return(own, 1); break;
    case 4: (void)uatomic_sub_return(own, 1); break;
    case 5: (void)uatomic_cmpxchg(own, *own, *own + 1); break;
    case 6: cmm_smp_mb__before_uatomic_inc(); uatomic_inc(own); break;
    case 7: uatomic_inc(own); cmm_smp_mb__after_uatomic_inc(); break;
    case 8: cmm_smp_mb__before_uatomic_or(); uatomic_or(own, 2); break;
#ifdef LEEWARD
    case 9: uatomic_store(own, 1, CMM_SEQ_CST_FENCE); break;
    case 10: (void)uatomic_load(own, CMM_SEQ_CST_FENCE); break;
    case 11: (void)uatomic_cmpxchg(own, *own + 1, 0, CMM_RELAXED, CMM_SEQ_CST_FENCE); break;
    case 12: uatomic_dec(own, CMM_SEQ_CST_FENCE); break;
    case 13: (void)uatomic_xchg(own, 3, CMM_SEQ_CST_FENCE); break;
#endif
    }
}

#ifdef LEEWARD
#define KINDS 14
#else
#define KINDS 9
#endif

/*
 * Waits until `count` arrivals were counted. Spins, because a thread that sleeps comes back too
 * late.
 */
static void meet(int count)
{
    int spins;

    uatomic_inc(&started);
    for (spins = 0; uatomic_read(&started) < count; spins++) {
        if (spins % 1000 == 999)
            sched_yield();
        caa_cpu_relax();
    }
}

static void *store_and_load(void *number)
{
    int me = (int)(intptr_t)number, i;

    /* Side by side: in step at the start, and every so often. */
    for (i = 0; i < CELLS; i++) {
        if (i % STEP == 0)
            meet(2 * (i / STEP + 1));
        uatomic_set(&cells[i].word[me], 1);
        fence(scratch[me]);
        cells[i].result[me] = uatomic_read(&cells[i].word[!me]);
    }
    return NULL;
}

static void litmus(void)
{
    int round, i;

    for (kind = 0; kind < KINDS; kind++) {
        for (round = 0; round < ROUNDS; round++) {
            for (i = 0; i < CELLS; i++)
                cells[i].word[0] = cells[i].word[1] = 0;
            started = 0;
            together(2, store_and_load);
            for (i = 0; i < CELLS; i++)
                CHECK(cells[i].result[0] || cells[i].result[1]);
        }
    }
}

int main(void)
{
    errno = UNTOUCHED;
    together(2, count);
    CHECK(counter == 2 * MANY && inced == 2 * 2 * MANY && ored == 0);
#ifdef UATOMIC_HAS_ATOMIC_BYTE
    CHECK(byte == (unsigned char)(2 * MANY));
#endif
    together(2, guard);
    CHECK(guarded == 2 * MANY);
    litmus();
    return done("uatomic_threads");
}
