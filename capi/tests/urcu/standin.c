/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A program for liburcu, compiled with the system's headers and linked with its libraries. It runs
 * on those, and, with another LD_LIBRARY_PATH, on ours; its argument says on which it should be.
 */
#include "check.h"

#include <urcu/rculfhash.h>
#include <urcu/wfcqueue.h>
#include <urcu/wfstack.h>

struct entry {
    struct cds_lfht_node node;
    struct cds_wfcq_node link;
    struct rcu_head head;
    int key;
};

static int calls, is_over;
static struct entry *current;

static void free_entry(struct rcu_head *head)
{
    free(caa_container_of(head, struct entry, head));
    ADD(calls, 1);
}

static struct entry *make(int key)
{
    struct entry *entry = (struct entry *)calloc(1, sizeof *entry);

    CHECK(entry);
    entry->key = key;
    return entry;
}

static void *read_all(void *unused)
{
    (void)unused;
    rcu_register_thread();
    while (!GET(is_over)) {
        rcu_read_lock();
        CHECK(rcu_dereference(current)->key >= 0);
        rcu_read_unlock();
        rcu_quiescent_state();
    }
    rcu_unregister_thread();
    return NULL;
}

static void grace_periods(void)
{
    pthread_t readers[2];
    int i;

    rcu_assign_pointer(current, make(0));
    for (i = 0; i < 2; i++)
        readers[i] = start_thread(read_all, NULL);
    for (i = 1; i < 300; i++) {
        struct entry *before = rcu_xchg_pointer(&current, make(i));

        if (i % 2) {
            call_rcu(&before->head, free_entry);
        } else {
            synchronize_rcu();
            before->key = -1;
            free(before);
        }
    }
    SET(is_over, 1);
    for (i = 0; i < 2; i++)
        join_thread(readers[i]);
    rcu_barrier();
    CHECK(calls == 150);
    CHECK(rcu_cmpxchg_pointer(&current, current, NULL) != NULL);
    CHECK(current == NULL);
}

static void count(struct rcu_head *head)
{
    (void)head;
    ADD(calls, 1);
}

static void workers(void)
{
    static struct rcu_head head;
    struct call_rcu_data *worker = create_call_rcu_data(0, -1);

    set_thread_call_rcu_data(worker);
    calls = 0;
    call_rcu(&head, count);
    rcu_barrier();
    CHECK(calls == 1);
    set_thread_call_rcu_data(NULL);
    synchronize_rcu();
    call_rcu_data_free(worker);
    CHECK(create_all_cpu_call_rcu_data(0) == 0);
    call_rcu(&head, count);
    rcu_barrier();
    CHECK(calls == 2);
    free_all_cpu_call_rcu_data();
}

static void children(void)
{
    static struct rcu_head head;
    pid_t child;

    calls = 0;
    rcu_read_lock();
    call_rcu(&head, count);
    rcu_read_unlock();
    call_rcu_before_fork();
    child = fork();
    if (child == 0) {
        begin();
        call_rcu_after_fork_child();
        rcu_barrier();
        CHECK(calls == 1);
        _exit(5);
    }
    call_rcu_after_fork_parent();
    ends_with(child, 5);
    rcu_barrier();
    CHECK(calls == 1);
}

static int match(struct cds_lfht_node *node, const void *key)
{
    return caa_container_of(node, struct entry, node)->key == *(const int *)key;
}

static void hash_tables(void)
{
    struct cds_lfht *table = cds_lfht_new(1, 1, 0, CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING, NULL);
    struct cds_lfht_iter iter;
    struct cds_lfht_node *node;
    int i, seen = 0;

    CHECK(table);
    calls = 0;
    for (i = 0; i < 1000; i++) {
        struct entry *entry = make(i);

        rcu_read_lock();
        CHECK(cds_lfht_add_unique(table, (unsigned long)i * 2654435761u, match, &i, &entry->node) == &entry->node);
        rcu_read_unlock();
        rcu_quiescent_state();
    }
    rcu_read_lock();
    cds_lfht_for_each(table, &iter, node) {
        seen++;
        CHECK(cds_lfht_del(table, node) == 0);
        call_rcu(&caa_container_of(node, struct entry, node)->head, free_entry);
    }
    rcu_read_unlock();
    CHECK(seen == 1000);
    CHECK(cds_lfht_destroy(table, NULL) == 0);
    rcu_barrier();
    CHECK(calls == 1000);
}

static void queues(void)
{
    struct cds_wfcq_head head;
    struct cds_wfcq_tail tail;
    struct cds_wfcq_node node;

    cds_wfcq_init(&head, &tail);
    CHECK(cds_wfcq_empty(&head, &tail));
    cds_wfcq_node_init(&node);
    CHECK(!cds_wfcq_enqueue(&head, &tail, &node));
    CHECK(cds_wfcq_dequeue_blocking(&head, &tail) == &node);
    cds_wfcq_destroy(&head, &tail);
}

/* The library that the functions are from. */
static void is_on(const char *library)
{
    char line[1000];
    bool is_there = false;
    FILE *file = fopen("/proc/self/maps", "r");

    CHECK(file);
    while (fgets(line, sizeof line, file))
        is_there |= strstr(line, "libleeward-urcu") != NULL;
    fclose(file);
    CHECK(is_there == (strcmp(library, "leeward") == 0));
}

int main(int count_of_arguments, char **arguments)
{
    CHECK(count_of_arguments == 2);
    begin();
    is_on(arguments[1]);
    rcu_register_thread();
    CHECK(IS_QSBR || !rcu_read_ongoing());
    grace_periods();
    workers();
    children();
    hash_tables();
    queues();
    /* The flavour as a value: the program has a copy. */
    rcu_flavor.read_lock();
    CHECK(rcu_read_ongoing());
    rcu_flavor.read_unlock();
    rcu_flavor.update_synchronize_rcu();
    CHECK(rcu_defer_register_thread() == 0);
    defer_rcu((void (*)(void *))free, malloc(1));
    rcu_defer_barrier();
    rcu_defer_unregister_thread();
    rcu_unregister_thread();
    return end("standin");
}
