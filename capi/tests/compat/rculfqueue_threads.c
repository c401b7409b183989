/*
 * urcu/rculfqueue.h by several threads. A call_rcu() that frees nothing before the end stands for
 * grace periods.
 */
#include <stdlib.h>
#ifdef LEEWARD_IS_PEER
/* liburcu's header does not say what a struct rcu_head is. */
#include <urcu-call-rcu.h>
#endif
#include <urcu/rculfqueue.h>
#include <urcu/wfstack.h>

#include "threads.h"

struct item {
    int producer, number;
    struct cds_lfq_node_rcu node;
};

static struct cds_lfq_queue_rcu queue;
static struct item items[PRODUCERS][MANY];
static int taken;

/* What the queue gave to its call_rcu(). */
static struct cds_wfcq_head pending_head;
static struct cds_wfcq_tail pending_tail;

static void at_the_end(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
    head->func = func;
    cds_wfcq_node_init(&head->next);
    (void)cds_wfcq_enqueue(&pending_head, &pending_tail, &head->next);
}

static void *body(void *number)
{
    int last[PRODUCERS] = { -1, -1 }, i;

    if ((intptr_t)number < PRODUCERS) {
        for (i = 0; i < MANY; i++) {
            struct item *item = &items[(intptr_t)number][i];

            item->producer = (int)(intptr_t)number;
            item->number = i;
            cds_lfq_node_init_rcu(&item->node);
            cds_lfq_enqueue_rcu(&queue, &item->node);
        }
        return NULL;
    }
    while (uatomic_read(&taken) < PRODUCERS * MANY) {
        struct cds_lfq_node_rcu *node = cds_lfq_dequeue_rcu(&queue);

        if (node) {
            struct item *item = caa_container_of(node, struct item, node);

            CHECK(item->number > last[item->producer]);
            last[item->producer] = item->number;
            came_out[item->producer][item->number]++;
            uatomic_inc(&taken);
        }
    }
    return NULL;
}

int main(void)
{
    struct cds_wfcq_node *node;

    errno = UNTOUCHED;
    cds_wfcq_init(&pending_head, &pending_tail);
    cds_lfq_init_rcu(&queue, at_the_end);
    together(PRODUCERS + CONSUMERS, body);
    came_out_all_once();
    CHECK(cds_lfq_dequeue_rcu(&queue) == NULL);
    CHECK(cds_lfq_destroy_rcu(&queue) == 0);
    while ((node = cds_wfcq_dequeue_blocking(&pending_head, &pending_tail)) != NULL) {
        struct rcu_head *head = caa_container_of(node, struct rcu_head, next);

        head->func(head);
    }
    cds_wfcq_destroy(&pending_head, &pending_tail);
    return done("rculfqueue_threads");
}
