/* urcu/wfqueue.h, by one thread, and in the gap of an enqueuer; wfcqueue_threads.c has many. */
#define _GNU_SOURCE 1
#define CDS_WFQ_DEPRECATED
#include <string.h>
#include <urcu/compiler.h>
#include <urcu/wfqueue.h>

#include "check.h"
#include "gap.h"

struct item {
    int value;
    struct cds_wfq_node node;
};

static struct item items[6];

static struct cds_wfq_node *prepared(int value)
{
    items[value].value = value;
    cds_wfq_node_init(&items[value].node);
    return &items[value].node;
}

static int value(struct cds_wfq_node *node)
{
    return caa_container_of(node, struct item, node)->value;
}

int main(void)
{
    struct cds_wfq_queue queue;
    struct cds_wfq_node **link;
    struct gap gap;
    int i, round;

    errno = UNTOUCHED;
    cds_wfq_init(&queue);
    CHECK(cds_wfq_dequeue_blocking(&queue) == NULL && __cds_wfq_dequeue_blocking(&queue) == NULL);
    for (round = 0; round < 3; round++) {
        for (i = 0; i < 6; i++)
            cds_wfq_enqueue(&queue, prepared(i));
        for (i = 0; i < 6; i++) {
            CHECK(value(i % 2 ? cds_wfq_dequeue_blocking(&queue) : __cds_wfq_dequeue_blocking(&queue)) == i);
            memset(&items[i].node, 0xff, sizeof(items[i].node));
        }
        CHECK(cds_wfq_dequeue_blocking(&queue) == NULL);
    }
    /* Another node than the one that was first behind the dummy until now. */
    prepared(1);
    link = __atomic_exchange_n(&queue.tail, &items[1].node.next, __ATOMIC_SEQ_CST);
    gap_close_later(&gap, link, &items[1].node, 20);
    CHECK(value(cds_wfq_dequeue_blocking(&queue)) == 1);
    gap_end(&gap);
    cds_wfq_destroy(&queue);
    return done("wfqueue");
}
