/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A head that is queued again before its function began ends the process with a line, on the default
 * worker, on workers of the program's own, and across both; so does a NULL.
 */
#include "check.h"

#include <stdint.h>

static struct rcu_head twice, between;
static struct call_rcu_data *worker;

static void nothing(struct rcu_head *head)
{
    (void)head;
}

/* A callback that has its worker wait until `may_return` is 1. */
struct hold {
    struct rcu_head head;
    int runs, may_return;
};

static struct hold before, first;

static void waits(struct rcu_head *head)
{
    struct hold *hold = (struct hold *)head;

    SET(hold->runs, 1);
    /* qsbr: another worker waits for this one. */
    rcu_thread_offline();
    while (!GET(hold->may_return))
        sleep_ms(1);
    rcu_thread_online();
}

/* Has the worker run a callback, so that what is queued from here on stays queued. */
static void hold_worker(void)
{
    call_rcu(&before.head, waits);
    /* qsbr: the worker waits for this thread. */
    rcu_thread_offline();
    EVENTUALLY(GET(before.runs));
    rcu_thread_online();
}

static void was_queued_last(void)
{
    hold_worker();
    call_rcu(&twice, nothing);
    call_rcu(&twice, nothing);
}

static void is_queued(void)
{
    hold_worker();
    call_rcu(&twice, nothing);
    call_rcu(&between, nothing);
    call_rcu(&twice, nothing);
    SET(before.may_return, 1);
    rcu_barrier();
}

static void is_in_a_batch(void)
{
    hold_worker();
    /* One batch, which the worker takes when the callback before has returned. */
    call_rcu(&first.head, waits);
    call_rcu(&twice, nothing);
    SET(before.may_return, 1);
    rcu_thread_offline();
    EVENTUALLY(GET(first.runs));
    rcu_thread_online();
    call_rcu(&twice, nothing);
    SET(first.may_return, 1);
    rcu_barrier();
}

static void is_another_workers(void)
{
    struct call_rcu_data *others = create_call_rcu_data(0, -1);

    hold_worker();
    call_rcu(&twice, nothing);
    call_rcu(&between, nothing);
    set_thread_call_rcu_data(others);
    call_rcu(&twice, nothing);
    /* Ends once what is queued for it has run, or has gone to the default one. */
    call_rcu(&first.head, waits);
    rcu_thread_offline();
    EVENTUALLY(GET(first.runs));
    rcu_thread_online();
    SET(first.may_return, 1);
    SET(before.may_return, 1);
    rcu_barrier();
}

static void function_is_null(void)
{
    call_rcu(&twice, NULL);
}

static void head_is_null(void)
{
    call_rcu(NULL, nothing);
}

/* What a child does, and whether on a worker of its own. */
struct misuse {
    bool has_worker;
    void (*what)(void);
};

static void misuses(void *argument)
{
    const struct misuse *misuse = (const struct misuse *)argument;

    rcu_register_thread();
    if (misuse->has_worker) {
        worker = create_call_rcu_data(0, -1);
        set_thread_call_rcu_data(worker);
    }
    misuse->what();
}

static void try_it(bool has_worker, void (*what)(void), const char *words)
{
    struct misuse misuse;

    misuse.has_worker = has_worker;
    misuse.what = what;
    is_fatal(misuses, &misuse, words);
}

int main(void)
{
    int has_worker;

    begin();
    for (has_worker = 0; has_worker < 2; has_worker++) {
        try_it(has_worker, was_queued_last, " called again with the head ");
        try_it(has_worker, is_queued, " called again with the head ");
        try_it(has_worker, is_in_a_batch, " called again with the head ");
        try_it(has_worker, is_another_workers, " called again with the head ");
        try_it(has_worker, function_is_null, " that is NULL");
        try_it(has_worker, head_is_null, " that is NULL");
    }
    return end("twice");
}
