/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What torture.c is for the other flavours, for qsbr: threads whose quiescent states are inlined from
 * liburcu's headers, or are what the binary interface says of them (FACTS), on the library that the
 * argument names; on leeward beside threads of qsbr_ours.c.
 */
#ifdef FACTS
#include <stdint.h>

struct rcu_head {
    struct rcu_head *next;
    void (*func)(struct rcu_head *head);
};

extern struct {
    __attribute__((__aligned__(128))) long word;
    int32_t futex;
} urcu_qsbr_gp;
extern __thread struct {
    __attribute__((__aligned__(128))) long word;
    char rest[248];
} urcu_qsbr_reader;
void urcu_qsbr_register_thread(void);
void urcu_qsbr_unregister_thread(void);
void urcu_qsbr_synchronize_rcu(void);
void urcu_qsbr_call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head));
void urcu_qsbr_barrier(void);

static inline void rcu_quiescent_state(void)
{
    long now = *(volatile long *)&urcu_qsbr_gp.word;

    if (now == urcu_qsbr_reader.word)
        return;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    *(volatile long *)&urcu_qsbr_reader.word = now;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline void rcu_thread_offline(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    *(volatile long *)&urcu_qsbr_reader.word = 0;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline void rcu_thread_online(void)
{
    rcu_quiescent_state();
}

#define rcu_read_ongoing() ((int)urcu_qsbr_reader.word)
#define rcu_register_thread urcu_qsbr_register_thread
#define rcu_unregister_thread urcu_qsbr_unregister_thread
#define synchronize_rcu urcu_qsbr_synchronize_rcu
#define call_rcu urcu_qsbr_call_rcu
#define rcu_barrier urcu_qsbr_barrier
#define rcu_dereference(p) __atomic_load_n(&(p), __ATOMIC_CONSUME)
#define rcu_xchg_pointer(p, v) __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST)
#else
#define _LGPL_SOURCE
#endif
#include "box.h"

/* A callback, which runs online. */
static void spoil_later(struct rcu_head *head)
{
    CHECK(rcu_read_ongoing());
    CHECK(__atomic_load_n(&rcu_dereference(published)->is_valid, __ATOMIC_RELAXED) == 1);
    spoil_of(head);
}

static void read_often(int rounds)
{
    int i, j;

    for (i = 0; i < rounds; i++) {
        struct box *box = rcu_dereference(published);

        CHECK(__atomic_load_n(&box->is_valid, __ATOMIC_RELAXED) == 1);
        for (j = 0; j < i % 64; j++)
            __asm__ __volatile__("" ::: "memory");
        CHECK(__atomic_load_n(&box->is_valid, __ATOMIC_RELAXED) == 1);
        rcu_quiescent_state();
        if (i % 100 == 0) {
            rcu_thread_offline();
            CHECK(!rcu_read_ongoing());
            rcu_thread_online();
        }
    }
}

static void *lasting(void *unused)
{
    rcu_register_thread();
    CHECK(rcu_read_ongoing());
    while (!GET(is_over))
        read_often(1000);
    rcu_unregister_thread();
    return unused;
}

static void *short_lived(void *unused)
{
    rcu_register_thread();
    read_often(50);
    /* On leeward it exits online, without unregistering. */
    if (!on_leeward)
        rcu_unregister_thread();
    return unused;
}

static void *coming_and_going(void *unused)
{
    while (!GET(is_over))
        join_thread(start_thread(short_lived, NULL));
    return unused;
}

static void *holding(void *unused)
{
    rcu_register_thread();
    SET(is_inside, 1);
    EVENTUALLY(GET(leaves));
    rcu_quiescent_state();
    SET(is_inside, 0);
    EVENTUALLY(!GET(leaves));
    rcu_unregister_thread();
    return unused;
}

/* One thread that is in the way until its quiescent state, and stays online. */
static void waits(void)
{
    pthread_t holder = start_thread(holding, NULL), writer;

    EVENTUALLY(GET(is_inside));
    freed = 0;
    writer = start_thread(synchronizing, NULL);
    sleep_ms(30);
    CHECK(GET(freed) == 0);
    SET(leaves, 1);
    join_thread(writer);
    CHECK(freed == 1);
    EVENTUALLY(!GET(is_inside));
    SET(leaves, 0);
    join_thread(holder);
}

static void updates(int rounds)
{
    pthread_t threads[5];
    int count = 0, i;

    published = make();
    freed = 0;
    threads[count++] = start_thread(lasting, NULL);
    threads[count++] = start_thread(lasting, NULL);
    threads[count++] = start_thread(coming_and_going, NULL);
    if (read_as_ours)
        threads[count++] = start_thread(ours, NULL);
    for (i = 0; i < rounds; i++) {
        struct box *before = rcu_xchg_pointer(&published, make());

        if (i % 3 == 0) {
            call_rcu(&before->head, spoil_later);
        } else {
            synchronize_rcu();
            spoil(before);
        }
        CHECK(rcu_read_ongoing());
        rcu_quiescent_state();
    }
    rcu_thread_offline();
    SET(is_over, 1);
    for (i = 0; i < count; i++)
        join_thread(threads[i]);
    rcu_barrier();
    CHECK(freed == rounds);
}

int main(int count_of_arguments, char **arguments)
{
    CHECK(count_of_arguments >= 2);
    begin();
    on_leeward = strcmp(arguments[1], "leeward") == 0;
    if (count_of_arguments > 2) {
        void *library = dlopen(arguments[2], RTLD_NOW);

        CHECK(library);
        *(void **)&read_as_ours = named(library, "read_as_ours");
    }
    waits();
    rcu_register_thread();
    updates(300);
    free(published);
    rcu_unregister_thread();
    return end("torture");
}
