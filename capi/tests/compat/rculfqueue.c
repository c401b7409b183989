/*
 * urcu/rculfqueue.h, by one thread, with a call_rcu() that runs its callbacks at once: nobody
 * reads.
 */
#include <string.h>
#ifdef LEEWARD_IS_PEER
/* liburcu's header does not say what a struct rcu_head is. */
#include <urcu-call-rcu.h>
#endif
#include <urcu/rculfqueue.h>

#include "check.h"

struct item {
    int value;
    struct cds_lfq_node_rcu node;
};

static struct item items[8];
static int freed;

static void at_once(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
    freed++;
    func(head);
}

static struct cds_lfq_node_rcu *prepared(int value)
{
    items[value].value = value;
    cds_lfq_node_init_rcu(&items[value].node);
    return &items[value].node;
}

static int value(struct cds_lfq_node_rcu *node)
{
    return caa_container_of(node, struct item, node)->value;
}

#ifdef LEEWARD
/*
 * Enqueuers that were stopped before they moved the tail: no dequeue may leave it at a node that it
 * takes.
 */
static void behind(void)
{
    struct cds_lfq_queue_rcu queue;

    cds_lfq_init_rcu(&queue, at_once);
    queue.tail->next = prepared(0);
    items[0].node.next = prepared(1);
    items[1].node.next = prepared(2);
    CHECK(value(cds_lfq_dequeue_rcu(&queue)) == 0);
    CHECK(queue.tail == &items[1].node || queue.tail == &items[2].node);
    cds_lfq_enqueue_rcu(&queue, prepared(3));
    CHECK(queue.tail == &items[3].node);
    CHECK(value(cds_lfq_dequeue_rcu(&queue)) == 1);
    CHECK(value(cds_lfq_dequeue_rcu(&queue)) == 2);
    CHECK(value(cds_lfq_dequeue_rcu(&queue)) == 3);
    CHECK(cds_lfq_destroy_rcu(&queue) == 0);
}
#endif

int main(void)
{
    struct cds_lfq_queue_rcu queue;
    int i;

    errno = UNTOUCHED;
    cds_lfq_init_rcu(&queue, at_once);
    CHECK(cds_lfq_dequeue_rcu(&queue) == NULL);
    CHECK(cds_lfq_destroy_rcu(&queue) == 0);
    cds_lfq_init_rcu(&queue, at_once);
    for (i = 0; i < 5; i++)
        cds_lfq_enqueue_rcu(&queue, prepared(i));
    CHECK(cds_lfq_destroy_rcu(&queue) == -EPERM);
    for (i = 0; i < 5; i++) {
        CHECK(value(cds_lfq_dequeue_rcu(&queue)) == i);
        memset(&items[i].node, 0xff, sizeof(items[i].node));
    }
    CHECK(cds_lfq_dequeue_rcu(&queue) == NULL);
    /* One at a time, each of them the last one. */
    for (i = 0; i < 5; i++) {
        cds_lfq_enqueue_rcu(&queue, prepared(i));
        CHECK(value(cds_lfq_dequeue_rcu(&queue)) == i);
        CHECK(cds_lfq_dequeue_rcu(&queue) == NULL);
    }
    CHECK(freed > 0);
    CHECK(cds_lfq_destroy_rcu(&queue) == 0);
#ifdef LEEWARD
    behind();
#endif
    return done("rculfqueue");
}
