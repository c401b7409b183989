/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Threads, sections and grace periods of one flavour.
 */
#include "check.h"

static int state;

/* A grace period begins while a section is open, and ends after it. */
static void *write_one(void *ended)
{
    rcu_register_thread();
    rcu_thread_offline();
    KEEPS_ERRNO(synchronize_rcu());
    rcu_thread_online();
    SET(*(int *)ended, 1);
    rcu_unregister_thread();
    return NULL;
}

static void waits_for_sections(void)
{
    int ended = 0;
    pthread_t writer;

    rcu_read_lock();
    rcu_read_lock();
    writer = start_thread(write_one, &ended);
    rcu_read_unlock();
    sleep_ms(30);
    CHECK(!GET(ended));
    rcu_read_unlock();
    rcu_quiescent_state();
    rcu_thread_offline();
    join_thread(writer);
    rcu_thread_online();
    CHECK(ended);
}

static void nests(void)
{
    void (*const lock)(void) = &rcu_read_lock;
    void (*const unlock)(void) = &rcu_read_unlock;
    int (*const ongoing)(void) = &rcu_read_ongoing;
    int depth;

    if (IS_QSBR) {
        CHECK(ongoing());
        rcu_thread_offline();
        CHECK(!rcu_read_ongoing());
        rcu_thread_online();
        CHECK(_rcu_read_ongoing());
        return;
    }
    CHECK(!ongoing());
    for (depth = 1; depth <= 300; depth++) {
        KEEPS_ERRNO(lock());
        CHECK(ongoing() == depth);
    }
    for (depth = 299; depth >= 0; depth--) {
        KEEPS_ERRNO(unlock());
        CHECK(rcu_read_ongoing() == depth);
    }
    _rcu_read_lock();
    CHECK(_rcu_read_ongoing() == 1);
    _rcu_read_unlock();
    /* One unlock too many changes nothing. */
    rcu_read_unlock();
    CHECK(!rcu_read_ongoing());
    rcu_read_lock();
    CHECK(rcu_read_ongoing() == 1);
    rcu_read_unlock();
}

/* A section that its thread does not end ends with the thread. */
static void *leave_open(void *registered)
{
    if (registered)
        rcu_register_thread();
    rcu_read_lock();
    rcu_read_lock();
    return NULL;
}

static void exits_in_sections(void)
{
    join_thread(start_thread(leave_open, &state));
    if (!IS_QSBR)
        join_thread(start_thread(leave_open, NULL));
    synchronize_rcu();
}

static void *come_and_go(void *unused)
{
    int i;

    (void)unused;
    for (i = 0; i < 1000; i++) {
        KEEPS_ERRNO(rcu_register_thread());
        rcu_read_lock();
        CHECK(rcu_read_ongoing());
        rcu_read_unlock();
        rcu_quiescent_state();
        KEEPS_ERRNO(rcu_unregister_thread());
    }
    CHECK(!rcu_read_ongoing());
    return NULL;
}

static void threads_come_and_go(void)
{
    pthread_t threads[4];
    int i;

    for (i = 0; i < 4; i++)
        threads[i] = start_thread(come_and_go, NULL);
    for (i = 0; i < 100; i++)
        synchronize_rcu();
    for (i = 0; i < 4; i++)
        join_thread(threads[i]);
}

/* Readers never see what a writer has taken back after a grace period. */
struct box {
    int is_valid;
};
static struct box boxes[2];
static struct box *current;
static int is_over;

static void *read_boxes(void *unused)
{
    (void)unused;
    rcu_register_thread();
    while (!GET(is_over)) {
        int i;

        for (i = 0; i < 100; i++) {
            struct box *box;

            rcu_read_lock();
            box = rcu_dereference(current);
            CHECK(__atomic_load_n(&box->is_valid, __ATOMIC_RELAXED) == 1);
            rcu_read_unlock();
        }
        rcu_quiescent_state();
    }
    rcu_unregister_thread();
    return NULL;
}

static void grace_periods_protect(void)
{
    pthread_t readers[3];
    int i;

    boxes[0].is_valid = 1;
    rcu_assign_pointer(current, &boxes[0]);
    for (i = 0; i < 3; i++)
        readers[i] = start_thread(read_boxes, NULL);
    for (i = 1; i < 500; i++) {
        struct box *next = &boxes[i % 2], *before = current;

        __atomic_store_n(&next->is_valid, 1, __ATOMIC_RELAXED);
        rcu_assign_pointer(current, next);
        synchronize_rcu();
        __atomic_store_n(&before->is_valid, 0, __ATOMIC_RELAXED);
    }
    SET(is_over, 1);
    for (i = 0; i < 3; i++)
        join_thread(readers[i]);
}

static void polls(void)
{
    struct urcu_gp_poll_state first, second, future;

    KEEPS_ERRNO(first = start_poll_synchronize_rcu());
    rcu_quiescent_state();
    rcu_thread_offline();
    EVENTUALLY(poll_state_synchronize_rcu(first));
    rcu_thread_online();
    CHECK(poll_state_synchronize_rcu(first));
    future.grace_period_id = first.grace_period_id + 1000000;
    CHECK(!poll_state_synchronize_rcu(future));

    /* Not while a reader is there. */
    rcu_read_lock();
    second = start_poll_synchronize_rcu();
    sleep_ms(20);
    CHECK(!poll_state_synchronize_rcu(second));
    CHECK(poll_state_synchronize_rcu(first));
    rcu_read_unlock();
    rcu_quiescent_state();
    rcu_thread_offline();
    EVENTUALLY(poll_state_synchronize_rcu(second));
    rcu_thread_online();
}

/* A grace period that is asked for in a section is reported, and waits for the others. */
static void *hold(void *phase)
{
    rcu_register_thread();
    rcu_read_lock();
    SET(*(int *)phase, 1);
    sleep_ms(30);
    SET(*(int *)phase, 2);
    rcu_read_unlock();
    rcu_unregister_thread();
    return NULL;
}

static void is_asked_for_in_a_section(void)
{
    char text[1000];
    int phase = 0;
    pthread_t other;

    if (IS_QSBR)
        return;
    other = start_thread(hold, &phase);
    EVENTUALLY(GET(phase));
    rcu_read_lock();
    rcu_read_lock();
    capture_begin();
    KEEPS_ERRNO(synchronize_rcu());
    CHECK(capture_end(text, sizeof text) == 1);
    CHECK(strstr(text, "leeward: ") == text && strstr(text, "section"));
    CHECK(GET(phase) == 2);
    CHECK(rcu_read_ongoing() == 2);
    rcu_read_unlock();
    rcu_read_unlock();
    join_thread(other);
}

int main(void)
{
    begin();
#if !defined(LEE_1_URCU_IS_QSBR)
    rcu_init();
    rcu_init();
#endif
    rcu_register_thread();
    rcu_register_thread();
    nests();
    waits_for_sections();
    exits_in_sections();
    threads_come_and_go();
    grace_periods_protect();
    polls();
    is_asked_for_in_a_section();
    rcu_unregister_thread();
    rcu_unregister_thread();
    rcu_exit();
    return end("sections");
}
