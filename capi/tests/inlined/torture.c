/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A program whose sections are inlined from liburcu's headers (HEADER), or are what facts.h has in their
 * place (FACTS), on the library that its argument names: liburcu or leeward. On leeward, readers of ours.c
 * read beside it, whose sections are inlined from the headers of ours.
 */
#ifdef FACTS
#include "facts.h"
#else
#define _LGPL_SOURCE
#endif
#include "box.h"

/* A callback, which reads by itself. */
static void spoil_later(struct rcu_head *head)
{
    rcu_read_lock();
    CHECK(__atomic_load_n(&rcu_dereference(published)->is_valid, __ATOMIC_RELAXED) == 1);
    CHECK(rcu_read_ongoing());
    rcu_read_unlock();
    CHECK(!rcu_read_ongoing());
    spoil_of(head);
}

static void read_often(int rounds)
{
    int i, j;

    for (i = 0; i < rounds; i++) {
        struct box *box;

        rcu_read_lock();
        box = rcu_dereference(published);
        CHECK(__atomic_load_n(&box->is_valid, __ATOMIC_RELAXED) == 1);
        for (j = 0; j < i % 64; j++)
            __asm__ __volatile__("" ::: "memory");
        rcu_read_lock();
        CHECK(rcu_read_ongoing() == 2);
        rcu_read_unlock();
        CHECK(__atomic_load_n(&box->is_valid, __ATOMIC_RELAXED) == 1);
        rcu_read_unlock();
    }
}

static void *lasting(void *unused)
{
    rcu_register_thread();
    while (!GET(is_over)) {
        read_often(1000);
        if (read_as_ours)
            CHECK(read_as_ours(&published, 100));
    }
    rcu_unregister_thread();
    return unused;
}

static void *short_lived(void *unused)
{
    rcu_register_thread();
    read_often(50);
    if (read_as_ours)
        CHECK(read_as_ours(&published, 50));
    if (on_leeward)
        /* And exits inside, without unregistering. */
        rcu_read_lock();
    else
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
    rcu_read_lock();
    SET(is_inside, 1);
    EVENTUALLY(GET(leaves));
    rcu_read_unlock();
    rcu_unregister_thread();
    return unused;
}

/* One section that is in the way, of a thread that sleeps in it. */
static void waits(void)
{
    pthread_t holder = start_thread(holding, NULL), writer;

    EVENTUALLY(GET(is_inside));
    freed = 0;
    writer = start_thread(synchronizing, NULL);
    sleep_ms(30);
    CHECK(GET(freed) == 0);
    SET(leaves, 1);
    join_thread(holder);
    join_thread(writer);
    CHECK(freed == 1);
}

static void updates(int rounds)
{
    pthread_t threads[6];
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
    }
    SET(is_over, 1);
    for (i = 0; i < count; i++)
        join_thread(threads[i]);
    rcu_barrier();
    CHECK(freed == rounds);
}

/* A child has the sections of the thread that forked, and of no other. */
static void forks(void)
{
    pthread_t holder;
    pid_t child;

    is_inside = leaves = 0;
    holder = start_thread(holding, NULL);
    EVENTUALLY(GET(is_inside));
    rcu_read_lock();
    call_rcu_before_fork();
    child = fork();
    if (child == 0) {
        struct box *before;

        begin();
        call_rcu_after_fork_child();
        CHECK(rcu_read_ongoing() == 1);
        rcu_read_unlock();
        synchronize_rcu();
        before = rcu_xchg_pointer(&published, make());
        call_rcu(&before->head, spoil_later);
        rcu_barrier();
        _exit(5);
    }
    call_rcu_after_fork_parent();
    rcu_read_unlock();
    ends_with(child, 5);
    SET(leaves, 1);
    join_thread(holder);
}

/* Both kinds on one thread, and what asks for them. */
static void kinds(void)
{
    void (*lock)(void), (*unlock)(void);
    int (*ongoing)(void);
    char text[1000];

    *(void **)&lock = named(RTLD_DEFAULT, PREFIX "read_lock");
    *(void **)&unlock = named(RTLD_DEFAULT, PREFIX "read_unlock");
    *(void **)&ongoing = named(RTLD_DEFAULT, PREFIX "read_ongoing");
    /* Sections by call and inlined ones nest as one. */
    lock();
    CHECK(rcu_read_ongoing() == 1);
    rcu_read_lock();
    CHECK(ongoing() == 2);
    unlock();
    CHECK(rcu_read_ongoing() == 1 && ongoing() == 1);
    rcu_read_unlock();
    CHECK(ongoing() == 0 && rcu_read_ongoing() == 0);
    if (!on_leeward)
        return;
    /* A wait inside is reported; then it ends, and the sections go on. */
    rcu_read_lock();
    rcu_read_lock();
    capture_begin();
    synchronize_rcu();
    CHECK(capture_end(text, sizeof text) == 1);
    CHECK(rcu_read_ongoing() == 2);
    rcu_read_unlock();
    rcu_read_unlock();
    CHECK(ongoing() == 0);
}

int main(int count_of_arguments, char **arguments)
{
    CHECK(count_of_arguments >= 2);
    begin();
    on_leeward = strcmp(arguments[1], "leeward") == 0;
    if (count_of_arguments > 2) {
        void *library = dlopen(arguments[2], RTLD_NOW);

        if (!library)
            fprintf(stderr, "%s\n", dlerror());
        CHECK(library);
        *(void **)&read_as_ours = named(library, "read_as_ours");
    }
    waits();
    rcu_register_thread();
    kinds();
    updates(600);
    if (on_leeward)
        /* On liburcu the child would wait for the thread that it has not. */
        forks();
    free(published);
    rcu_unregister_thread();
    return end("torture");
}
