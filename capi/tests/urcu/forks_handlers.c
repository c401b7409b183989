/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Forks with handlers of the program's own, which run last before the fork and first after it: what
 * other threads do in that time, and what the handlers themselves do.
 */
#include "forks.h"

/* What the handlers do in this process; NULL: nothing. */
static void (*last_before)(void), (*first_after)(void);
static bool is_installed;

static void before(void)
{
    if (last_before)
        last_before();
}

static void in_parent(void)
{
    if (first_after)
        first_after();
}

static void install(void)
{
    is_installed = pthread_atfork(before, in_parent, NULL) == 0;
}

/* Before the constructors of the libraries, so that theirs are installed after this one. */
__attribute__((__section__(".preinit_array"), __used__)) static void (*early)(void) = install;

static struct call_rcu_data *worker;
static int step;

/* A handler: goes on when another thread has done its part. */
static void let_it_come(void)
{
    SET(step, 1);
    EVENTUALLY(GET(step) == 2);
    last_before = NULL;
}

static void *queue_for_a_first_worker(void *unused)
{
    (void)unused;
    EVENTUALLY(GET(step) == 1);
    worker = create_call_rcu_data(0, -1);
    set_thread_call_rcu_data(worker);
    queue_all();
    SET(step, 2);
    EVENTUALLY(GET(step) == 3);
    call_rcu_data_free(worker);
    return NULL;
}

/* It is the first worker of the process, and is in the child's copy of the list. */
static void a_first_worker_may_come_meanwhile(void)
{
    pthread_t reader = start_reader();
    pthread_t thread = start_thread(queue_for_a_first_worker, NULL);
    pid_t child;

    step = 0;
    last_before = let_it_come;
    child = fork_with_hooks();
    if (child == 0) {
        rcu_barrier();
        CHECK(calls == 1000);
        exit(7);
    }
    CHECK(step == 2);
    ends_with(child, 7);
    end_reader(reader);
    rcu_barrier();
    CHECK(calls == 1000);
    SET(step, 3);
    join_thread(thread);
}

/* The child queues what its parent's worker had for the default one, which has had no thread. */
static void a_child_starts_one_worker(void)
{
    pthread_t reader = start_reader();
    pid_t child;

    worker = create_call_rcu_data(0, -1);
    set_thread_call_rcu_data(worker);
    queue_all();
    child = fork_with_hooks();
    if (child == 0) {
        rcu_barrier();
        CHECK(calls == 1000);
        CHECK(count_threads() == 2);
        exit(8);
    }
    ends_with(child, 8);
    end_reader(reader);
    rcu_barrier();
    set_thread_call_rcu_data(NULL);
    call_rcu_data_free(worker);
}

static void stop(void)
{
    rcu_barrier();
    CHECK(calls == 2);
    set_thread_call_rcu_data(NULL);
    call_rcu_data_free(worker);
}

static void start(void)
{
    worker = create_call_rcu_data(0, -1);
    set_thread_call_rcu_data(worker);
}

/* As one that stops a program's threads before a fork, and starts them afterwards. */
static void handlers_may_wait_and_end_workers(void)
{
    int i;

    start();
    for (i = 0; i < 3; i++) {
        pid_t child;

        calls = 0;
        call_rcu(&objects[0].head, count);
        set_thread_call_rcu_data(NULL);
        call_rcu(&objects[1].head, count);
        last_before = stop;
        first_after = start;
        child = fork_with_hooks();
        if (child == 0) {
            rcu_barrier();
            CHECK(calls == 2);
            exit(9);
        }
        ends_with(child, 9);
        last_before = first_after = NULL;
    }
    set_thread_call_rcu_data(NULL);
    call_rcu_data_free(worker);
}

/* A callback that a fork waits for. */
static void make_worker(struct rcu_head *head)
{
    (void)head;
    SET(phase, 1);
    EVENTUALLY(GET(step) == 1);
    call_rcu_data_free(create_call_rcu_data(0, -1));
    SET(step, 2);
}

static void callbacks_may_make_workers_meanwhile(void)
{
    pid_t child;

    step = phase = 0;
    call_rcu(&objects[0].head, make_worker);
    rcu_thread_offline();
    EVENTUALLY(GET(phase));
    rcu_thread_online();
    last_before = let_it_come;
    child = fork_with_hooks();
    if (child == 0) {
        rcu_barrier();
        exit(10);
    }
    ends_with(child, 10);
    rcu_barrier();
}

/* The number of the calling thread's fork. */
static __thread int fork_number;
/* When the first one had the worker wait, how long that took, and when the second was alone. */
static long first_since, first_took, second_since;

/* A handler: the second fork begins before the first ends, and both take 70 ms. */
static void take_time(void)
{
    if (fork_number == 1) {
        SET(step, 1);
        EVENTUALLY(GET(step) == 2);
        first_since = milliseconds();
        call_rcu(&objects[0].head, count);
        sleep_ms(70);
        SET(second_since, milliseconds());
    } else if (fork_number == 2) {
        SET(step, 2);
        EVENTUALLY(GET(step) == 3);
        sleep_ms(70);
        /* On a machine that is so busy, callbacks do not wait any longer. */
        CHECK(GET(calls) == 0 || first_took >= 90 || milliseconds() - GET(second_since) >= 90);
    }
}

static void *fork_second(void *unused)
{
    pid_t child;

    (void)unused;
    EVENTUALLY(GET(step) == 1);
    fork_number = 2;
    child = fork();
    CHECK(child >= 0);
    if (child == 0)
        _exit(11);
    ends_with(child, 11);
    return NULL;
}

/* Callbacks do not begin while a fork is under way because another one has taken long. */
static void each_fork_has_its_time(void)
{
    pthread_t thread;
    pid_t child;

    start();
    step = calls = 0;
    last_before = take_time;
    thread = start_thread(fork_second, NULL);
    fork_number = 1;
    child = fork_with_hooks();
    if (child == 0)
        exit(12);
    first_took = milliseconds() - first_since;
    SET(step, 3);
    rcu_thread_offline();
    join_thread(thread);
    rcu_thread_online();
    last_before = NULL;
    ends_with(child, 12);
    rcu_barrier();
    CHECK(calls == 1);
    set_thread_call_rcu_data(NULL);
    call_rcu_data_free(worker);
}

int main(void)
{
    begin();
    CHECK(is_installed && early);
    rcu_register_thread();
    a_first_worker_may_come_meanwhile();
    a_child_starts_one_worker();
    handlers_may_wait_and_end_workers();
    callbacks_may_make_workers_meanwhile();
    each_fork_has_its_time();
    rcu_unregister_thread();
    return end("forks_handlers");
}
