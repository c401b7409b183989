/* urcu/rculfqueue.h where malloc() has no memory for a dummy. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static int out_of_memory;

static void *limited(size_t size)
{
    if (out_of_memory)
        errno = ENOMEM;
    return out_of_memory ? NULL : malloc(size);
}

#define malloc(size) limited(size)
#include <urcu/rculfqueue.h>

#include "check.h"

static void at_once(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
    func(head);
}

/* The last node stays until there is memory; the others do not need any. */
static void dequeue(void)
{
    struct cds_lfq_queue_rcu queue;
    struct cds_lfq_node_rcu nodes[2];

    cds_lfq_init_rcu(&queue, at_once);
    cds_lfq_node_init_rcu(&nodes[0]);
    cds_lfq_node_init_rcu(&nodes[1]);
    cds_lfq_enqueue_rcu(&queue, &nodes[0]);
    cds_lfq_enqueue_rcu(&queue, &nodes[1]);
    out_of_memory = 1;
    CHECK(cds_lfq_dequeue_rcu(&queue) == &nodes[0]);
    CHECK(cds_lfq_dequeue_rcu(&queue) == NULL);
    CHECK(errno == UNTOUCHED);
    CHECK(cds_lfq_destroy_rcu(&queue) == -EPERM);
    out_of_memory = 0;
    CHECK(cds_lfq_dequeue_rcu(&queue) == &nodes[1]);
    CHECK(cds_lfq_destroy_rcu(&queue) == 0);
}

/*
 * An empty queue has a dummy, and its initialisation cannot fail but by an abort, which says why.
 */
static void initialise(void)
{
    struct cds_lfq_queue_rcu queue;
    char line[100] = "";
    int ends[2], status;
    pid_t child;

    CHECK(pipe(ends) == 0);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        out_of_memory = 1;
        CHECK(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
        cds_lfq_init_rcu(&queue, at_once);
        _exit(0);
    }
    CHECK(close(ends[1]) == 0);
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    CHECK(read(ends[0], line, sizeof(line) - 1) > 0);
    CHECK(strncmp(line, "leeward: ", 9) == 0);
    CHECK(close(ends[0]) == 0);
}

int main(void)
{
    errno = UNTOUCHED;
    dequeue();
    initialise();
    return done("rculfqueue_memory");
}
