/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Workers of a program's own: creating, ending, joining, and workers of processors.
 */
#include "check.h"

#include <sched.h>

struct object {
    struct rcu_head head;
    int number;
};

static struct object objects[2000];
static int calls;
static struct call_rcu_data *worker;

static void count(struct rcu_head *head)
{
    (void)head;
    ADD(calls, 1);
}

static void in_order(struct rcu_head *head)
{
    CHECK(((struct object *)head)->number == calls);
    calls++;
}

static void on_worker(struct rcu_head *head)
{
    sigset_t blocked;

    (void)head;
    CHECK(get_thread_call_rcu_data() == worker && get_call_rcu_data() == worker);
    CHECK(pthread_equal(get_call_rcu_thread(worker), pthread_self()));
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0);
    CHECK(sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGUSR1) && !sigismember(&blocked, SIGSEGV));
    rcu_read_lock();
    CHECK(rcu_read_ongoing());
    rcu_read_unlock();
    synchronize_rcu();
    ADD(calls, 1);
}

static void calls_in_order_on_its_own_thread(unsigned long flags, int cpu)
{
    int i;

    calls = 0;
    KEEPS_ERRNO(worker = create_call_rcu_data(flags, cpu));
    CHECK(worker && worker != get_default_call_rcu_data());
    KEEPS_ERRNO(set_thread_call_rcu_data(worker));
    CHECK(get_thread_call_rcu_data() == worker && get_call_rcu_data() == worker);
    for (i = 0; i < 2000; i++) {
        objects[i].number = i;
        KEEPS_ERRNO(call_rcu(&objects[i].head, in_order));
    }
    KEEPS_ERRNO(rcu_barrier());
    CHECK(calls == 2000);
    call_rcu(&objects[0].head, on_worker);
    rcu_barrier();
    CHECK(calls == 2001);
    set_thread_call_rcu_data(NULL);
    KEEPS_ERRNO(call_rcu_data_free(worker));
}

/* Returns the number of threads where there is no worker but the default one, which is started. */
static int count_at_rest(void)
{
    call_rcu(&objects[0].head, count);
    rcu_barrier();
    EVENTUALLY(count_threads() == 2);
    return 2;
}

/* Those who join the thread after it, as older versions of liburcu want, and those who do not. */
static void may_be_joined_or_not(void)
{
    int i, threads = count_at_rest();

    for (i = 0; i < 50; i++) {
        pthread_t thread;
        void *result = &thread;

        worker = create_call_rcu_data(0, -1);
        set_thread_call_rcu_data(worker);
        call_rcu(&objects[0].head, count);
        rcu_barrier();
        thread = get_call_rcu_thread(worker);
        CHECK(thread == get_call_rcu_thread(worker));
        set_thread_call_rcu_data(NULL);
        synchronize_rcu();
        call_rcu_data_free(worker);
        CHECK(pthread_join(thread, &result) == 0 && result == NULL);

        worker = create_call_rcu_data(0, -1);
        call_rcu_data_free(worker);
        EVENTUALLY(count_threads() == threads);
    }
}

/* What was queued runs on the default worker. */
static void loses_nothing_when_it_ends(void)
{
    int i, round;

    for (round = 0; round < 50; round++) {
        calls = 0;
        worker = create_call_rcu_data(round % 2 ? URCU_CALL_RCU_RT : 0, -1);
        set_thread_call_rcu_data(worker);
        for (i = 0; i < 1000; i++) {
            objects[i].number = i;
            call_rcu(&objects[i].head, in_order);
        }
        call_rcu_data_free(worker);
        CHECK(!get_thread_call_rcu_data());
        rcu_barrier();
        CHECK(calls == 1000);
    }
}

static void free_own(struct rcu_head *head)
{
    (void)head;
    call_rcu_data_free(worker);
    CHECK(!get_thread_call_rcu_data());
    ADD(calls, 1);
}

static void barrier_inside(struct rcu_head *head)
{
    (void)head;
    rcu_barrier();
    ADD(calls, 1);
}

static void leave_open(struct rcu_head *head)
{
    (void)head;
    rcu_read_lock();
    rcu_read_lock();
    ADD(calls, 1);
}

static void bears_with_its_callbacks(void)
{
    char text[1000];
    int threads = count_at_rest();

    /* One that frees its worker, in the middle of others, once this thread does not use it. */
    calls = 0;
    worker = create_call_rcu_data(0, -1);
    set_thread_call_rcu_data(worker);
    rcu_read_lock();
    call_rcu(&objects[0].head, count);
    call_rcu(&objects[1].head, free_own);
    call_rcu(&objects[2].head, count);
    set_thread_call_rcu_data(NULL);
    rcu_read_unlock();
    rcu_thread_offline();
    EVENTUALLY(GET(calls) == 3);
    EVENTUALLY(count_threads() == threads);
    rcu_thread_online();

    /* One that waits for itself, and one that leaves sections open. */
    worker = create_call_rcu_data(0, -1);
    set_thread_call_rcu_data(worker);
    capture_begin();
    call_rcu(&objects[0].head, barrier_inside);
    rcu_barrier();
    CHECK(capture_end(text, sizeof text) == 1 && strstr(text, "callback"));
    CHECK(calls == 4);
    capture_begin();
    call_rcu(&objects[0].head, leave_open);
    rcu_barrier();
    CHECK(calls == 5);
    call_rcu(&objects[0].head, count);
    rcu_barrier();
    CHECK(capture_end(text, sizeof text) == (IS_QSBR ? 0 : 1));
    CHECK(calls == 6);
    set_thread_call_rcu_data(NULL);

    /* Who frees it in a section does not wait. */
    call_rcu(&objects[0].head, count);
    rcu_read_lock();
    call_rcu_data_free(worker);
    rcu_read_unlock();
    rcu_thread_offline();
    EVENTUALLY(GET(calls) == 7);
    EVENTUALLY(count_threads() == threads);
    rcu_thread_online();
}

static void is_freed_once(void)
{
    char text[1000];

    capture_begin();
    worker = create_call_rcu_data(0, -1);
    call_rcu_data_free(worker);
    KEEPS_ERRNO(call_rcu_data_free(worker));
    CHECK(capture_end(text, sizeof text) == 1);
    CHECK(strstr(text, "leeward: ") == text && strstr(text, "freed before"));
}

static void go_offline(struct rcu_head *head)
{
    (void)head;
    rcu_thread_offline();
}

static void is_online(struct rcu_head *head)
{
    (void)head;
    CHECK(!IS_QSBR || rcu_read_ongoing());
    ADD(calls, 1);
}

/* Whatever the callback before it has done; those that wait for a section are one batch. */
static void callbacks_are_online(void)
{
    int i;

    calls = 0;
    worker = create_call_rcu_data(0, -1);
    set_thread_call_rcu_data(worker);
    rcu_read_lock();
    for (i = 0; i < 20; i++)
        call_rcu(&objects[i].head, i % 2 ? is_online : go_offline);
    rcu_read_unlock();
    rcu_barrier();
    CHECK(calls == 10);
    set_thread_call_rcu_data(NULL);
    call_rcu_data_free(worker);
}

/* A thread in a section until its word is 2. */
static void *read_on(void *word)
{
    int *phase = (int *)word;

    rcu_register_thread();
    rcu_read_lock();
    SET(*phase, 1);
    EVENTUALLY(GET(*phase) == 2);
    rcu_read_unlock();
    rcu_unregister_thread();
    return NULL;
}

static pthread_t start_reading(int *phase)
{
    pthread_t reader = start_thread(read_on, phase);

    EVENTUALLY(GET(*phase) == 1);
    return reader;
}

static void *free_all(void *has_freed)
{
    free_all_cpu_call_rcu_data();
    SET(*(int *)has_freed, 1);
    return NULL;
}

/* Gives processor 0 a worker, and has a thread free it, which waits for readers first. */
static pthread_t start_freeing(int *has_freed)
{
    pthread_t thread;

    worker = create_call_rcu_data(0, -1);
    CHECK(set_cpu_call_rcu_data(0, worker) == 0);
    thread = start_thread(free_all, has_freed);
    EVENTUALLY(!get_cpu_call_rcu_data(0));
    sleep_ms(20);
    return thread;
}

/* A thread that frees what processors have does not free what another has taken from them since. */
static void freeing_waits_for_readers(void)
{
    int phases[2] = {0, 0}, has_freed[2] = {0, 0}, i;
    pthread_t readers[2], threads[2], of_worker;

    rcu_thread_offline();
    for (i = 0; i < 2; i++) {
        readers[i] = start_reading(&phases[i]);
        threads[i] = start_freeing(&has_freed[i]);
    }
    of_worker = get_call_rcu_thread(worker);
    SET(phases[0], 2);
    /* Where its grace period began late, it waits for the other reader, too. */
    for (i = 0; i < 200 && !GET(has_freed[0]); i++)
        sleep_ms(1);
    sleep_ms(20);
    CHECK(pthread_tryjoin_np(of_worker, NULL) == EBUSY);
    SET(phases[1], 2);
    for (i = 0; i < 2; i++) {
        join_thread(readers[i]);
        join_thread(threads[i]);
    }
    join_thread(of_worker);
    rcu_thread_online();
}

static void processors_have_workers(void)
{
    struct call_rcu_data *other;
    int cpu = sched_getcpu(), far = 1 << 19, processors = 0, i;
    char text[1000];

    CHECK(!get_cpu_call_rcu_data(0) && !get_cpu_call_rcu_data(-1) && !get_cpu_call_rcu_data(far));
    worker = create_call_rcu_data(0, 0);
    other = create_call_rcu_data(0, -1);
    KEEPS_ERRNO(CHECK(set_cpu_call_rcu_data(0, worker) == 0));
    CHECK(get_cpu_call_rcu_data(0) == worker);
    errno = 0;
    CHECK(set_cpu_call_rcu_data(0, other) == -EEXIST && errno == EEXIST);
    capture_begin();
    errno = 0;
    CHECK(set_cpu_call_rcu_data(far, other) == -EINVAL && errno == EINVAL);
    errno = 0;
    CHECK(set_cpu_call_rcu_data(-1, other) == -EINVAL && errno == EINVAL);
    CHECK(capture_end(text, sizeof text) == 2);
    KEEPS_ERRNO(CHECK(set_cpu_call_rcu_data(0, NULL) == 0));
    CHECK(!get_cpu_call_rcu_data(0));
    synchronize_rcu();
    call_rcu_data_free(worker);
    call_rcu_data_free(other);

    KEEPS_ERRNO(CHECK(create_all_cpu_call_rcu_data(0) == 0));
    KEEPS_ERRNO(CHECK(create_all_cpu_call_rcu_data(0) == 0));
    while (get_cpu_call_rcu_data(processors))
        processors++;
    CHECK(processors > cpu);
    CHECK(get_call_rcu_data() != get_default_call_rcu_data());
    CHECK(!get_thread_call_rcu_data());
    calls = 0;
    for (i = 0; i < 2000; i++)
        KEEPS_ERRNO(call_rcu(&objects[i].head, count));
    KEEPS_ERRNO(rcu_barrier());
    CHECK(calls == 2000);
    for (i = 0; i < 2000; i++)
        call_rcu(&objects[i].head, count);
    KEEPS_ERRNO(free_all_cpu_call_rcu_data());
    free_all_cpu_call_rcu_data();
    rcu_barrier();
    CHECK(calls == 4000);
    CHECK(!get_cpu_call_rcu_data(cpu) && get_call_rcu_data() == get_default_call_rcu_data());
}

/* Workers begin and end beside threads that queue and wait for all of them. */
static int is_over;

static void *churn(void *unused)
{
    struct object *own = (struct object *)calloc(100, sizeof *own);

    (void)unused;
    CHECK(own);
    while (!GET(is_over)) {
        struct call_rcu_data *mine = create_call_rcu_data(0, -1);
        int i;

        set_thread_call_rcu_data(mine);
        for (i = 0; i < 100; i++)
            call_rcu(&own[i].head, count);
        set_thread_call_rcu_data(NULL);
        call_rcu_data_free(mine);
        rcu_barrier();
    }
    free(own);
    return NULL;
}

static void *queue_on_processors(void *unused)
{
    struct object *own = (struct object *)calloc(100, sizeof *own);

    (void)unused;
    CHECK(own);
    while (!GET(is_over)) {
        int i;

        for (i = 0; i < 100; i++)
            call_rcu(&own[i].head, count);
        rcu_barrier();
    }
    free(own);
    return NULL;
}

static void come_and_go(void)
{
    pthread_t threads[4];
    int i;

    rcu_thread_offline();
    for (i = 0; i < 4; i++)
        threads[i] = start_thread(i % 2 ? churn : queue_on_processors, NULL);
    for (i = 0; i < 10; i++) {
        CHECK(create_all_cpu_call_rcu_data(0) == 0);
        sleep_ms(10);
        free_all_cpu_call_rcu_data();
    }
    SET(is_over, 1);
    for (i = 0; i < 4; i++)
        join_thread(threads[i]);
    rcu_thread_online();
}

static void *unregistered(void *unused)
{
    (void)unused;
    CHECK(create_all_cpu_call_rcu_data(0) == 0);
    call_rcu(&objects[0].head, count);
    /* It was registered for that moment only. */
    CHECK(LEE_1_URCU_SLOT == &lee_1_unregistered);
    rcu_barrier();
    free_all_cpu_call_rcu_data();
    return NULL;
}

/*
 * Destructors of the program's own, which run before and after the library's, may do what threads
 * do.
 */
static pthread_key_t key;
static struct object last_ones[4];

static void at_exit(void *round)
{
    long left = (long)round;

    rcu_thread_online();
    rcu_read_lock();
    CHECK(rcu_read_ongoing());
    KEEPS_ERRNO(call_rcu(&last_ones[left - 1].head, count));
    rcu_read_unlock();
    rcu_thread_offline();
    KEEPS_ERRNO(rcu_barrier());
    KEEPS_ERRNO(synchronize_rcu());
    if (left > 1)
        CHECK(pthread_setspecific(key, (void *)(left - 1)) == 0);
}

static void *exit_late(void *data)
{
    CHECK(pthread_setspecific(key, (void *)4L) == 0);
    set_thread_call_rcu_data((struct call_rcu_data *)data);
    if (data)
        rcu_register_thread();
    return NULL;
}

static void threads_end_late(void)
{
    int round;

    CHECK(pthread_key_create(&key, at_exit) == 0);
    rcu_thread_offline();
    for (round = 0; round < 6; round++) {
        worker = round % 2 ? create_call_rcu_data(0, -1) : NULL;
        if (round == 4)
            CHECK(create_all_cpu_call_rcu_data(0) == 0);
        calls = 0;
        join_thread(start_thread(exit_late, worker));
        CHECK(calls == 4);
        call_rcu_data_free(worker);
    }
    free_all_cpu_call_rcu_data();
    rcu_thread_online();
    synchronize_rcu();
    CHECK(pthread_key_delete(key) == 0);
}

int main(void)
{
    begin();
    rcu_register_thread();
    calls_in_order_on_its_own_thread(0, -1);
    calls_in_order_on_its_own_thread(0, 0);
    calls_in_order_on_its_own_thread(0, 1 << 20);
    calls_in_order_on_its_own_thread(URCU_CALL_RCU_RT, -1);
    may_be_joined_or_not();
    loses_nothing_when_it_ends();
    bears_with_its_callbacks();
    is_freed_once();
    callbacks_are_online();
    freeing_waits_for_readers();
    processors_have_workers();
    come_and_go();
    rcu_thread_offline();
    join_thread(start_thread(unregistered, NULL));
    rcu_thread_online();
    threads_end_late();
    rcu_unregister_thread();
    return end("workers");
}
