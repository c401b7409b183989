/* urcu/wfcqueue.h where the program has its own sleep for waits in a gap. */
#define _LGPL_SOURCE 1
static int sleeps, milliseconds;
static void own_sleep(int argument);
#define CDS_WFCQ_WAIT_SLEEP(argument) own_sleep(argument)
#include <urcu/wfcqueue.h>

#include "check.h"

static struct __cds_wfcq_head head;
static struct cds_wfcq_tail tail;
static struct cds_wfcq_node node;

/* The third sleep closes the gap. */
static void own_sleep(int argument)
{
    milliseconds = argument;
    if (++sleeps == 3)
        head.node.next = &node;
}

int main(void)
{
    errno = UNTOUCHED;
    __cds_wfcq_init(&head, &tail);
    cds_wfcq_node_init(&node);
    tail.p = &node;
    CHECK(__cds_wfcq_dequeue_blocking(&head, &tail) == &node);
    CHECK(sleeps == 3 && milliseconds == 10);
    return done("wfcqueue_sleep");
}
