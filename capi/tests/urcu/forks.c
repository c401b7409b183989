/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Forks: what waits at a fork runs in both processes, with call_rcu's three functions and without.
 */
#include "forks.h"

static struct call_rcu_data *worker;

/*
 * The queue is that of the default worker, of one's own, or a batch that waits for its grace
 * period.
 */
static void what_waits_runs_in_both(bool is_own, bool is_taken)
{
    pthread_t reader = start_reader();
    pid_t child;
    int i;

    worker = is_own ? create_call_rcu_data(0, -1) : NULL;
    set_thread_call_rcu_data(worker);
    queue_all();
    if (is_taken)
        sleep_ms(5);
    child = fork_with_hooks();
    CHECK(child == 0 || GET(calls) == 0);
    if (child == 0) {
        /* The reader is not there. */
        KEEPS_ERRNO(rcu_barrier());
        CHECK(calls == 1000);
        CHECK(get_thread_call_rcu_data() == (has_hooks ? NULL : worker));
        /* The worker is there again, if it is used. */
        set_thread_call_rcu_data(worker);
        queue_all();
        synchronize_rcu();
        rcu_barrier();
        CHECK(calls == 1000);
        if (is_own) {
            CHECK(!pthread_equal(get_call_rcu_thread(worker), pthread_self()));
            for (i = 0; i < 10; i++)
                call_rcu(&objects[i].head, count);
            call_rcu_data_free(worker);
            rcu_barrier();
            CHECK(calls == 1010);
        }
        exit(7);
    }
    end_reader(reader);
    rcu_barrier();
    CHECK(calls == 1000);
    ends_with(child, 7);
    set_thread_call_rcu_data(NULL);
    call_rcu_data_free(worker);
}

static void idle_workers_are_forgotten(void)
{
    pid_t child;

    worker = create_call_rcu_data(0, -1);
    CHECK(create_all_cpu_call_rcu_data(0) == 0);
    child = fork_with_hooks();
    if (child == 0) {
        CHECK(count_threads() == 1);
        CHECK((get_cpu_call_rcu_data(0) == NULL) == has_hooks);
        call_rcu_data_free(worker);
        calls = 0;
        call_rcu(&objects[0].head, count);
        rcu_barrier();
        CHECK(calls == 1);
        free_all_cpu_call_rcu_data();
        exit(8);
    }
    ends_with(child, 8);
    call_rcu_data_free(worker);
    free_all_cpu_call_rcu_data();
}

/* A callback that runs at the fork is not half done in the child, which sees what it has done. */
static void take_time(struct rcu_head *head)
{
    (void)head;
    SET(phase, 1);
    sleep_ms(10);
    SET(phase, 2);
    ADD(calls, 1);
}

static void callbacks_are_not_half_done(bool is_own)
{
    long start;
    pid_t child;

    worker = is_own ? create_call_rcu_data(0, -1) : NULL;
    set_thread_call_rcu_data(worker);
    phase = calls = 0;
    call_rcu(&objects[0].head, take_time);
    call_rcu(&objects[1].head, count);
    rcu_thread_offline();
    EVENTUALLY(GET(phase));
    rcu_thread_online();
    start = milliseconds();
    child = fork_with_hooks();
    if (child == 0) {
        /* On a machine that is so busy, the fork did not wait for it. */
        bool is_late = phase != 2 && milliseconds() - start >= 90;

        CHECK(phase == 2 || is_late);
        rcu_barrier();
        CHECK(calls == 2 - is_late);
        exit(9);
    }
    ends_with(child, 9);
    rcu_barrier();
    CHECK(calls == 2);
    set_thread_call_rcu_data(NULL);
    call_rcu_data_free(worker);
}

/* With the hooks, a fork waits as long as a callback of one's own worker takes. */
static void take_longer(struct rcu_head *head)
{
    (void)head;
    SET(phase, 1);
    sleep_ms(300);
    SET(phase, 2);
}

static void hooks_wait_without_bound(void)
{
    pid_t child;

    worker = create_call_rcu_data(0, -1);
    set_thread_call_rcu_data(worker);
    phase = 0;
    call_rcu(&objects[0].head, take_longer);
    rcu_thread_offline();
    EVENTUALLY(GET(phase));
    rcu_thread_online();
    child = fork_with_hooks();
    CHECK(GET(phase) == 2);
    if (child == 0)
        exit(10);
    ends_with(child, 10);
    set_thread_call_rcu_data(NULL);
    call_rcu_data_free(worker);
}

/* A callback that forks. */
static pid_t forked;

static void fork_inside(struct rcu_head *head)
{
    (void)head;
    forked = fork();
    if (forked == 0) {
        begin();
        rcu_barrier();
        CHECK(calls == 1);
        queue_all();
        rcu_barrier();
        CHECK(calls == 1000);
        _exit(11);
    }
    ADD(calls, 1);
}

static void callbacks_may_fork(bool is_own)
{
    worker = is_own ? create_call_rcu_data(0, -1) : NULL;
    set_thread_call_rcu_data(worker);
    calls = 0;
    rcu_read_lock();
    call_rcu(&objects[0].head, fork_inside);
    call_rcu(&objects[1].head, count);
    rcu_read_unlock();
    rcu_barrier();
    CHECK(calls == 2);
    ends_with(forked, 11);
    set_thread_call_rcu_data(NULL);
    call_rcu_data_free(worker);
}

/* The parent goes, and the child of the child goes on. */
static void daemons_go_on(void)
{
    int ends[2];
    char answer = 0;
    pid_t child;

    CHECK(pipe(ends) == 0);
    child = fork_with_hooks();
    if (child == 0) {
        worker = create_call_rcu_data(0, -1);
        set_thread_call_rcu_data(worker);
        queue_all();
        child = fork_with_hooks();
        if (child)
            _exit(0);
        set_thread_call_rcu_data(worker);
        CHECK(setsid() > 0);
        rcu_barrier();
        CHECK(calls == 1000);
        queue_all();
        rcu_barrier();
        CHECK(calls == 1000);
        CHECK(write(ends[1], "d", 1) == 1);
        exit(0);
    }
    ends_with(child, 0);
    CHECK(read(ends[0], &answer, 1) == 1 && answer == 'd');
    close(ends[0]);
    close(ends[1]);
}

/* What is told of a fork: a hash table's worker. */
static char told[10];

static void before(void *priv)
{
    strcat((char *)priv, "b");
}

static void in_parent(void *priv)
{
    strcat((char *)priv, "p");
}

static void in_child(void *priv)
{
    strcat((char *)priv, "c");
}

static void hash_tables_are_told(void)
{
    struct urcu_atfork atfork;
    pid_t child;

    atfork.before_fork = before;
    atfork.after_fork_parent = in_parent;
    atfork.after_fork_child = in_child;
    atfork.priv = told;
    urcu_register_rculfhash_atfork(&atfork);
    urcu_register_rculfhash_atfork(&atfork);
    urcu_unregister_rculfhash_atfork(&atfork);
    child = fork_with_hooks();
    if (child == 0) {
        CHECK(strcmp(told, "bc") == 0);
        exit(12);
    }
    CHECK(strcmp(told, "bp") == 0);
    ends_with(child, 12);
    urcu_unregister_rculfhash_atfork(&atfork);
    told[0] = '\0';
    child = fork_with_hooks();
    CHECK(told[0] == '\0');
    if (child == 0)
        exit(0);
    ends_with(child, 0);
}

int main(void)
{
    int round;

    begin();
    rcu_register_thread();
    for (round = 0; round < 2; round++) {
        has_hooks = round != 0;
        what_waits_runs_in_both(false, false);
        what_waits_runs_in_both(false, true);
        what_waits_runs_in_both(true, false);
        what_waits_runs_in_both(true, true);
        idle_workers_are_forgotten();
        callbacks_are_not_half_done(false);
        callbacks_are_not_half_done(true);
        callbacks_may_fork(false);
        callbacks_may_fork(true);
        daemons_go_on();
    }
    hooks_wait_without_bound();
    hash_tables_are_told();
    rcu_unregister_thread();
    return end("forks");
}
