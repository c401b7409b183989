/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Signal handlers that fork in a thread that waits: for callbacks, for readers, or for the end of a
 * worker. Both processes go on.
 */
#include "forks.h"

static pthread_t main_thread;
static pid_t forked;
static pthread_key_t key;

static void fork_in_handler(int signal)
{
    pid_t child = fork();

    (void)signal;
    if (child == 0) {
        begin();
        return;
    }
    SET(forked, child);
}

/* Signals the main thread while it waits, and then lets it go on. */
static void *interrupt(void *must_fork)
{
    EVENTUALLY(GET(phase) == 1);
    sleep_ms(20);
    CHECK(pthread_kill(main_thread, SIGUSR1) == 0);
    if (must_fork)
        EVENTUALLY(GET(forked));
    else
        sleep_ms(20);
    SET(phase, 2);
    return NULL;
}

static void end_child_or_wait(pthread_t thread)
{
    pid_t child;

    rcu_thread_offline();
    join_thread(thread);
    EVENTUALLY((child = GET(forked)));
    rcu_thread_online();
    ends_with(child, 7);
}

/* The reader stays in the parent, and with it what the thread waits for. */
static void waits_for_callbacks(bool is_own)
{
    pid_t self = getpid();
    struct call_rcu_data *worker = is_own ? create_call_rcu_data(0, -1) : NULL;
    pthread_t reader = start_reader(), thread;
    int i;

    set_thread_call_rcu_data(worker);
    calls = 0;
    forked = 0;
    call_rcu(&objects[0].head, count);
    thread = start_thread(interrupt, &forked);
    rcu_barrier();
    CHECK(calls == 1);
    if (getpid() != self) {
        for (i = 2; i < 200; i++) {
            call_rcu(&objects[0].head, count);
            rcu_barrier();
            CHECK(calls == i);
        }
        _exit(7);
    }
    rcu_thread_offline();
    join_thread(reader);
    rcu_thread_online();
    end_child_or_wait(thread);
    set_thread_call_rcu_data(NULL);
    call_rcu_data_free(worker);
}

static void waits_for_readers(void)
{
    pid_t self = getpid();
    pthread_t reader = start_reader(), thread = start_thread(interrupt, &forked);
    int i;

    forked = 0;
    synchronize_rcu();
    if (getpid() != self) {
        for (i = 0; i < 10; i++)
            synchronize_rcu();
        _exit(7);
    }
    rcu_thread_offline();
    join_thread(reader);
    rcu_thread_online();
    end_child_or_wait(thread);
}

/* A thread that ends slowly. */
static void at_exit(void *unused)
{
    (void)unused;
    SET(phase, 1);
    EVENTUALLY(GET(phase) == 2);
}

static void end_slowly(struct rcu_head *head)
{
    CHECK(pthread_setspecific(key, head) == 0);
}

static void waits_for_a_thread(void)
{
    pid_t self = getpid();
    struct call_rcu_data *worker = create_call_rcu_data(0, -1);
    pthread_t thread;

    phase = 0;
    forked = 0;
    set_thread_call_rcu_data(worker);
    call_rcu(&objects[0].head, end_slowly);
    rcu_barrier();
    set_thread_call_rcu_data(NULL);
    thread = start_thread(interrupt, NULL);
    call_rcu_data_free(worker);
    if (getpid() != self)
        _exit(7);
    end_child_or_wait(thread);
}

int main(void)
{
    struct sigaction action;
    int round;

    begin();
    memset(&action, 0, sizeof action);
    action.sa_handler = fork_in_handler;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    CHECK(pthread_key_create(&key, at_exit) == 0);
    main_thread = pthread_self();
    rcu_register_thread();
    for (round = 0; round < 3; round++) {
        waits_for_callbacks(false);
        waits_for_callbacks(true);
        waits_for_readers();
        waits_for_a_thread();
    }
    rcu_unregister_thread();
    return end("forks_waiting");
}
