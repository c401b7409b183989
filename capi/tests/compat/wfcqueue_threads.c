/*
 * urcu/wfcqueue.h and urcu/wfqueue.h by several threads, each node freed as soon as it is dequeued.
 */
#define _GNU_SOURCE 1
#define CDS_WFQ_DEPRECATED
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <urcu/futex.h>
#include <urcu/wfcqueue.h>
#include <urcu/wfqueue.h>

#include "threads.h"

#ifndef FUTEX_WAIT
#define FUTEX_WAIT 0
#define FUTEX_WAKE 1
#endif

struct item {
    int producer, number;
    struct cds_wfcq_node node;
    struct cds_wfq_node old_node;
};

static struct cds_wfcq_head head;
static struct cds_wfcq_tail tail;
static struct cds_wfq_queue old_queue;
static int taken;

static struct item *new_item(int producer, int number)
{
    struct item *item = (struct item *)malloc(sizeof(*item));

    CHECK(item != NULL);
    item->producer = producer;
    item->number = number;
    cds_wfcq_node_init(&item->node);
    cds_wfq_node_init(&item->old_node);
    return item;
}

/* Counts the item and frees it. `last` has what this consumer saw of each producer. */
static void take(struct item *item, int *last)
{
    CHECK(item->number > last[item->producer]);
    last[item->producer] = item->number;
    uatomic_inc(&came_out[item->producer][item->number]);
    memset(item, 0xff, sizeof(*item));
    free(item);
    uatomic_inc(&taken);
}

static void begin(void)
{
    came_out_reset();
    taken = 0;
}

static void produce(int producer)
{
    int i;

    for (i = 0; i < MANY; i++)
        (void)cds_wfcq_enqueue(&head, &tail, &new_item(producer, i)->node);
}

/* Consumers by the mutex. */
static void *by_mutex(void *number)
{
    int last[PRODUCERS] = { -1, -1 };

    if ((intptr_t)number < PRODUCERS) {
        produce((int)(intptr_t)number);
        return NULL;
    }
    while (uatomic_read(&taken) < PRODUCERS * MANY) {
        struct cds_wfcq_node *node = cds_wfcq_dequeue_blocking(&head, &tail);

        if (node)
            take(caa_container_of(node, struct item, node), last);
    }
    return NULL;
}

/* Consumers that race to splice all there is to a queue of their own, and walk through that. */
static void *by_splice(void *number)
{
    struct __cds_wfcq_head own;
    struct cds_wfcq_tail own_tail;
    struct cds_wfcq_node *node, *n;
    int last[PRODUCERS] = { -1, -1 };

    if ((intptr_t)number < PRODUCERS) {
        produce((int)(intptr_t)number);
        return NULL;
    }
    while (uatomic_read(&taken) < PRODUCERS * MANY) {
        enum cds_wfcq_ret found;

        __cds_wfcq_init(&own, &own_tail);
        if ((intptr_t)number % 2)
            found = __cds_wfcq_splice_blocking(&own, &own_tail, &head, &tail);
        else
            found = __cds_wfcq_splice_nonblocking(&own, &own_tail, &head, &tail);
        CHECK(found != CDS_WFCQ_RET_DEST_NON_EMPTY);
        CHECK(found != CDS_WFCQ_RET_DEST_EMPTY || !cds_wfcq_empty(&own, &own_tail));
        __cds_wfcq_for_each_blocking_safe(&own, &own_tail, node, n)
            take(caa_container_of(node, struct item, node), last);
    }
    return NULL;
}

/* A queue that is empty most of the time: each producer waits until its last element is gone. */
static void *by_turns(void *number)
{
    struct cds_wfcq_node *node;
    int last[PRODUCERS] = { -1, -1 }, i;

    if ((intptr_t)number < PRODUCERS) {
        for (i = 0; i < MANY; i++) {
            (void)cds_wfcq_enqueue(&head, &tail, &new_item((int)(intptr_t)number, i)->node);
            while (!uatomic_read(&came_out[(intptr_t)number][i]) && has_time())
                sched_yield();
        }
        return NULL;
    }
    while (taken < PRODUCERS * MANY) {
        struct __cds_wfcq_head own;
        struct cds_wfcq_tail own_tail;
        int before = taken;

        __cds_wfcq_init(&own, &own_tail);
        if (taken % 2)
            (void)__cds_wfcq_splice_blocking(&own, &own_tail, &head, &tail);
        else if ((node = __cds_wfcq_dequeue_blocking(&head, &tail)))
            take(caa_container_of(node, struct item, node), last);
        while ((node = __cds_wfcq_dequeue_blocking(&own, &own_tail)))
            take(caa_container_of(node, struct item, node), last);
        if (taken == before)
            sched_yield();
    }
    return NULL;
}

/* A thread that moves one queue to the end of another, which a producer fills too. */
static struct cds_wfcq_head between;
static struct cds_wfcq_tail between_tail;

static void *by_forward(void *number)
{
    struct cds_wfcq_node *node;
    int last[PRODUCERS] = { -1, -1 }, i;

    switch ((intptr_t)number) {
    case 0:
        /* Slowly, so that each is enqueued behind what was moved. */
        for (i = 0; i < MANY; i++) {
            (void)cds_wfcq_enqueue(&head, &tail, &new_item(0, i)->node);
            if (has_time())
                sched_yield();
        }
        break;
    case 1:
        for (i = 0; i < MANY; i++) {
            (void)cds_wfcq_enqueue(&between, &between_tail, &new_item(1, i)->node);
            if (i % 4 == 3 && has_time())
                sched_yield();
        }
        break;
    case 2:
        while (uatomic_read(&taken) < PRODUCERS * MANY) {
            (void)cds_wfcq_splice_blocking(&head, &tail, &between, &between_tail);
            sched_yield();
        }
        break;
    default:
        while (uatomic_read(&taken) < PRODUCERS * MANY) {
            node = cds_wfcq_dequeue_blocking(&head, &tail);
            if (node)
                take(caa_container_of(node, struct item, node), last);
        }
    }
    return NULL;
}

/* One consumer that sleeps when the queue is empty; a producer that finds it so wakes it. */
static int32_t asleep;

static void *by_wake(void *number)
{
    int last[PRODUCERS] = { -1, -1 }, i;

    if ((intptr_t)number < PRODUCERS) {
        for (i = 0; i < MANY; i++) {
            if (cds_wfcq_enqueue(&head, &tail, &new_item((int)(intptr_t)number, i)->node))
                continue;
            cmm_smp_mb();
            if (uatomic_read(&asleep) == -1) {
                uatomic_set(&asleep, 0);
                CHECK(futex_noasync(&asleep, FUTEX_WAKE, 1, NULL, NULL, 0) >= 0);
            }
        }
        return NULL;
    }
    while (taken < PRODUCERS * MANY) {
        struct cds_wfcq_node *node = __cds_wfcq_dequeue_blocking(&head, &tail);

        if (node) {
            take(caa_container_of(node, struct item, node), last);
            continue;
        }
        uatomic_set(&asleep, -1);
        cmm_smp_mb();
        if (cds_wfcq_empty(&head, &tail))
            (void)futex_noasync(&asleep, FUTEX_WAIT, -1, NULL, NULL, 0);
        uatomic_set(&asleep, 0);
    }
    return NULL;
}

/* The older queue, whose consumers take its mutex. */
static void *by_old_queue(void *number)
{
    int last[PRODUCERS] = { -1, -1 }, i;

    if ((intptr_t)number < PRODUCERS) {
        for (i = 0; i < MANY; i++)
            cds_wfq_enqueue(&old_queue, &new_item((int)(intptr_t)number, i)->old_node);
        return NULL;
    }
    while (uatomic_read(&taken) < PRODUCERS * MANY) {
        struct cds_wfq_node *node = cds_wfq_dequeue_blocking(&old_queue);

        if (node)
            take(caa_container_of(node, struct item, old_node), last);
    }
    return NULL;
}

/* A producer whose signal handler enqueues too, wherever it was interrupted. */
#define SIGNALS 300
static struct item *from_handler[SIGNALS];
static int handled, produced;

static void handler(int number)
{
    (void)number;
    if (handled < SIGNALS)
        (void)cds_wfcq_enqueue(&head, &tail, &from_handler[handled++]->node);
}

static void *by_handler(void *number)
{
    int last[PRODUCERS] = { -1, -1 }, i;
    struct cds_wfcq_node *node;

    if ((intptr_t)number == 0) {
        for (i = 0; i < MANY; i++)
            (void)cds_wfcq_enqueue(&head, &tail, &new_item(0, i)->node);
        while (uatomic_read(&handled) < SIGNALS)
            caa_cpu_relax();
        uatomic_set(&produced, 1);
        return NULL;
    }
    while (uatomic_read(&taken) < MANY + SIGNALS) {
        node = cds_wfcq_dequeue_blocking(&head, &tail);
        if (node)
            take(caa_container_of(node, struct item, node), last);
    }
    return NULL;
}

static void signals(void)
{
    struct sigaction action;
    pthread_t producer, consumer;
    int i;

    memset(&action, 0, sizeof(action));
    action.sa_handler = handler;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    for (i = 0; i < SIGNALS; i++)
        from_handler[i] = new_item(1, i);
    CHECK(pthread_create(&producer, NULL, by_handler, (void *)0) == 0);
    CHECK(pthread_create(&consumer, NULL, by_handler, (void *)1) == 0);
    while (!uatomic_read(&produced)) {
        CHECK(pthread_kill(producer, SIGUSR1) == 0);
        for (i = 0; i < 2000; i++)
            caa_cpu_relax();
    }
    CHECK(pthread_join(producer, NULL) == 0 && pthread_join(consumer, NULL) == 0);
    for (i = 0; i < MANY; i++)
        CHECK(came_out[0][i] == 1);
    for (i = 0; i < SIGNALS; i++)
        CHECK(came_out[1][i] == 1);
}

int main(void)
{
    errno = UNTOUCHED;
    cds_wfcq_init(&head, &tail);
    begin();
    together(PRODUCERS + CONSUMERS, by_mutex);
    came_out_all_once();
    begin();
    together(PRODUCERS + CONSUMERS, by_splice);
    came_out_all_once();
    begin();
    together(PRODUCERS + 1, by_turns);
    came_out_all_once();
    begin();
    cds_wfcq_init(&between, &between_tail);
    together(4, by_forward);
    came_out_all_once();
    cds_wfcq_destroy(&between, &between_tail);
    begin();
    together(PRODUCERS + 1, by_wake);
    came_out_all_once();
    begin();
    signals();
    CHECK(cds_wfcq_empty(&head, &tail));
    cds_wfcq_destroy(&head, &tail);
    begin();
    cds_wfq_init(&old_queue);
    together(PRODUCERS + CONSUMERS, by_old_queue);
    came_out_all_once();
    cds_wfq_destroy(&old_queue);
    return done("wfcqueue_threads");
}
