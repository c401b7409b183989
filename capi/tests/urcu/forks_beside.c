/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Forks beside threads that are busy with workers, and in a signal handler of such a thread.
 */
#include "forks.h"

/* Forks beside threads that queue for workers of their own, and for the default one. */
#define PRODUCERS 3
static int queued, is_over;
static pid_t forked;

static void free_object(struct rcu_head *head)
{
    free(head);
    ADD(calls, 1);
}

static void *produce(void *is_own)
{
    int i = 0;

    if (is_own)
        set_thread_call_rcu_data(create_call_rcu_data(0, -1));
    while (!GET(is_over)) {
        struct rcu_head *head = (struct rcu_head *)malloc(sizeof *head);

        CHECK(head);
        ADD(queued, 1);
        call_rcu(head, free_object);
        if (++i % 50 == 0)
            sleep_ms(1);
    }
    if (is_own)
        call_rcu_data_free(get_thread_call_rcu_data());
    return NULL;
}

static void forks_beside_producers(void)
{
    pthread_t threads[PRODUCERS];
    int i;

    rcu_thread_offline();
    queued = calls = is_over = 0;
    for (i = 0; i < PRODUCERS; i++)
        threads[i] = start_thread(produce, i ? &queued : NULL);
    for (i = 0; i < 100; i++) {
        pid_t child = fork_with_hooks();

        if (child == 0) {
            int known = queued;

            rcu_barrier();
            /*
             * A producer may be between its count and its call, or count twice what it had just
             * queued.
             */
            CHECK(calls <= known && calls >= known - PRODUCERS);
            exit(13);
        }
        ends_with(child, 13);
    }
    SET(is_over, 1);
    for (i = 0; i < PRODUCERS; i++)
        join_thread(threads[i]);
    rcu_barrier();
    CHECK(calls == queued);
    rcu_thread_online();
}

/*
 * A signal handler that forks while its thread queues for workers and waits for them; not while it
 * allocates.
 */
static void fork_in_handler(int signal)
{
    pid_t child = fork();

    (void)signal;
    if (child == 0) {
        begin();
        alarm(10);
        return;
    }
    ADD(forked, 1);
}

/* Ends a worker whose thread was asked for, and joins it. */
static void join_thread_of(struct call_rcu_data *data)
{
    pthread_t thread = get_call_rcu_thread(data);

    call_rcu_data_free(data);
    join_thread(thread);
}

static void handlers_may_fork(void)
{
    struct timespec start, now;
    struct sigaction action;
    pid_t self = getpid();
    sigset_t blocked;

    memset(&action, 0, sizeof action);
    action.sa_handler = fork_in_handler;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    forked = calls = 0;
    clock_gettime(CLOCK_MONOTONIC, &start);
    {
        /* Another process sends the signals. */
        pid_t sender = fork();
        int i;

        if (sender == 0) {
            for (i = 0; i < 30; i++) {
                struct timespec time = {0, 3000000};

                nanosleep(&time, NULL);
                kill(self, SIGUSR1);
            }
            _exit(0);
        }
        do {
            struct call_rcu_data *mine;

            CHECK(pthread_sigmask(SIG_BLOCK, &blocked, NULL) == 0);
            mine = create_call_rcu_data(0, -1);
            set_thread_call_rcu_data(mine);
            CHECK(pthread_sigmask(SIG_UNBLOCK, &blocked, NULL) == 0);
            for (i = 0; i < 20 && getpid() == self; i++) {
                call_rcu(&objects[0].head, count);
                rcu_barrier();
                CHECK(get_cpu_call_rcu_data(0) == NULL);
                get_call_rcu_thread(mine);
            }
            CHECK(pthread_sigmask(SIG_BLOCK, &blocked, NULL) == 0);
            join_thread_of(mine);
            CHECK(pthread_sigmask(SIG_UNBLOCK, &blocked, NULL) == 0);
            clock_gettime(CLOCK_MONOTONIC, &now);
        } while (getpid() == self && now.tv_sec - start.tv_sec < 2 && GET(forked) < 25);
        CHECK(pthread_sigmask(SIG_BLOCK, &blocked, NULL) == 0);
        if (getpid() != self)
            _exit(0);
        ends_with(sender, 0);
        while ((sender = waitpid(-1, &i, 0)) > 0 || errno == EINTR)
            CHECK(sender < 0 || (WIFEXITED(i) && WEXITSTATUS(i) == 0));
    }
    signal(SIGUSR1, SIG_DFL);
}

int main(void)
{
    begin();
    rcu_register_thread();
    forks_beside_producers();
    has_hooks = true;
    forks_beside_producers();
    handlers_may_fork();
    rcu_unregister_thread();
    return end("forks_beside");
}
