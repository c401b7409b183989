/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * call_rcu(), rcu_barrier() and defer_rcu() on the default worker; misuse; what workers look like.
 */
#include "check.h"

struct object {
    long before;
    struct rcu_head head;
    int number;
};

static struct object objects[10000];
static int calls, last;

static struct object *object_of(struct rcu_head *head)
{
    return caa_container_of(head, struct object, head);
}

static void in_order(struct rcu_head *head)
{
    CHECK(object_of(head)->number == calls);
    calls++;
}

static void are_called_in_order(void)
{
    int i;

    for (i = 0; i < 10000; i++) {
        memset(&objects[i].head, 0x55, sizeof objects[i].head);
        objects[i].number = i;
        KEEPS_ERRNO(call_rcu(&objects[i].head, in_order));
    }
    KEEPS_ERRNO(rcu_barrier());
    CHECK(calls == 10000);
}

/* Not before the sections that are open have ended. */
static void note(struct rcu_head *head)
{
    SET(last, object_of(head)->number);
}

static void wait_for_sections(void)
{
    objects[0].number = 7;
    rcu_read_lock();
    call_rcu(&objects[0].head, note);
    sleep_ms(30);
    CHECK(GET(last) != 7);
    rcu_read_unlock();
    rcu_quiescent_state();
    rcu_barrier();
    CHECK(last == 7);
}

/* A callback may queue its own head again, use sections and wait for a grace period. */
static void again(struct rcu_head *head)
{
    struct object *object = object_of(head);

#ifdef LEE_1_URCU_IS_QSBR
    CHECK(rcu_read_ongoing());
#else
    CHECK(!rcu_read_ongoing());
#endif
    rcu_read_lock();
    CHECK(rcu_read_ongoing());
    rcu_read_unlock();
    synchronize_rcu();
    if (--object->number > 0)
        call_rcu(head, again);
}

static void queue_themselves_again(void)
{
    objects[0].number = 20;
    call_rcu(&objects[0].head, again);
    while (GET(objects[0].number) > 0)
        rcu_barrier();
    rcu_barrier();
}

static void free_object(struct rcu_head *head)
{
    free(object_of(head));
    ADD(calls, 1);
}

static void *produce(void *unused)
{
    int i;

    (void)unused;
    /* A thread that is not registered may, too. */
    for (i = 0; i < 20000; i++) {
        struct object *object = (struct object *)malloc(sizeof *object);

        CHECK(object);
        call_rcu(&object->head, free_object);
        if (i % 5000 == 0)
            rcu_barrier();
    }
    return NULL;
}

static void come_from_several_threads(void)
{
    pthread_t threads[4];
    int i;

    calls = 0;
    rcu_thread_offline();
    for (i = 0; i < 4; i++)
        threads[i] = start_thread(produce, NULL);
    for (i = 0; i < 4; i++)
        join_thread(threads[i]);
    rcu_thread_online();
    rcu_barrier();
    CHECK(calls == 80000);
}

static void barrier_inside(struct rcu_head *head)
{
    (void)head;
    rcu_barrier();
    rcu_defer_barrier();
    SET(last, 8);
}

static void refuse_to_wait_for_themselves(void)
{
    char text[1000];

    capture_begin();
    call_rcu(&objects[0].head, barrier_inside);
    rcu_barrier();
    CHECK(capture_end(text, sizeof text) == 2);
    CHECK(strstr(text, "leeward: ") == text && strstr(text, "callback"));
    CHECK(last == 8);
    if (IS_QSBR)
        return;
    call_rcu(&objects[1].head, note);
    rcu_read_lock();
    capture_begin();
    KEEPS_ERRNO(rcu_barrier());
    CHECK(capture_end(text, sizeof text) == 1);
    CHECK(strstr(text, "section"));
    rcu_read_unlock();
    rcu_barrier();
}

static void look_at_thread(struct rcu_head *head)
{
    sigset_t blocked;

    (void)head;
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0);
    CHECK(sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGUSR1) && sigismember(&blocked, SIGALRM));
    CHECK(!pthread_equal(*(pthread_t *)&objects[2].before, pthread_self()));
    CHECK(pthread_equal(pthread_self(), get_call_rcu_thread(get_default_call_rcu_data())));
}

static void run_elsewhere(void)
{
    pthread_t self = pthread_self();

    CHECK(sizeof self == sizeof objects[2].before);
    memcpy(&objects[2].before, &self, sizeof self);
    KEEPS_ERRNO(get_call_rcu_thread(get_default_call_rcu_data()));
    call_rcu(&objects[0].head, look_at_thread);
    rcu_barrier();
    CHECK(get_default_call_rcu_data() && get_call_rcu_data() == get_default_call_rcu_data());
    CHECK(!get_thread_call_rcu_data());
    call_rcu_data_free(get_default_call_rcu_data());
    call_rcu_data_free(NULL);
    set_thread_call_rcu_data(get_default_call_rcu_data());
    CHECK(get_thread_call_rcu_data() == get_default_call_rcu_data());
    call_rcu(&objects[0].head, look_at_thread);
    rcu_barrier();
    set_thread_call_rcu_data(NULL);
}

static int added;

static void add(void *number)
{
    CHECK(added < *(int *)number);
    added = *(int *)number;
}

static void *defer_some(void *numbers)
{
    int i;

    CHECK(rcu_defer_register_thread() == 0);
    for (i = 0; i < 5000; i++)
        KEEPS_ERRNO(defer_rcu(add, (int *)numbers + i));
    rcu_defer_barrier_thread();
    CHECK(added == 5000);
    for (i = 5000; i < 10000; i++)
        defer_rcu(add, (int *)numbers + i);
    rcu_defer_unregister_thread();
    CHECK(added == 10000);
    return NULL;
}

static void defers(void)
{
    static int numbers[10001];
    int i;

    for (i = 0; i <= 10000; i++)
        numbers[i] = i + 1;
    rcu_thread_offline();
    join_thread(start_thread(defer_some, numbers));
    rcu_thread_online();
    rcu_read_lock();
    defer_rcu(add, &numbers[10000]);
    CHECK(added == 10000);
    rcu_read_unlock();
    rcu_defer_barrier();
    CHECK(added == 10001);
    rcu_defer_exit();
}

int main(void)
{
    begin();
    rcu_register_thread();
    are_called_in_order();
    wait_for_sections();
    queue_themselves_again();
    come_from_several_threads();
    refuse_to_wait_for_themselves();
    run_elsewhere();
    defers();
    rcu_unregister_thread();
    return end("callbacks");
}
