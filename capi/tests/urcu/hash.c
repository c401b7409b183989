/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A hash table of urcu/rculfhash.h over one of the flavours, which is handed to it as a struct
 * rcu_flavor_struct: look-ups beside updates, a fork, and what is freed.
 */
#include "check.h"

#include <urcu/rculfhash.h>

#define KEYS 2000

struct entry {
    struct cds_lfht_node node;
    struct rcu_head head;
    unsigned long key;
    int is_valid;
};

static struct cds_lfht *table;
static int is_over, freed;

static struct entry *entry_of(struct cds_lfht_node *node)
{
    return caa_container_of(node, struct entry, node);
}

static unsigned long hash(unsigned long key)
{
    return key * 0x9e3779b97f4a7c15UL;
}

static int match(struct cds_lfht_node *node, const void *key)
{
    return entry_of(node)->key == *(const unsigned long *)key;
}

static void free_entry(struct rcu_head *head)
{
    struct entry *entry = caa_container_of(head, struct entry, head);

    CHECK(entry->is_valid);
    entry->is_valid = 0;
    free(entry);
    ADD(freed, 1);
}

static void put(unsigned long key)
{
    struct entry *entry = (struct entry *)calloc(1, sizeof *entry);
    struct cds_lfht_node *before;

    CHECK(entry);
    entry->key = key;
    entry->is_valid = 1;
    rcu_read_lock();
    before = cds_lfht_add_replace(table, hash(key), match, &key, &entry->node);
    rcu_read_unlock();
    if (before)
        call_rcu(&entry_of(before)->head, free_entry);
}

static bool take_out(unsigned long key)
{
    struct cds_lfht_iter iter;
    bool was_there;

    rcu_read_lock();
    cds_lfht_lookup(table, hash(key), match, &key, &iter);
    was_there = iter.node && cds_lfht_del(table, iter.node) == 0;
    rcu_read_unlock();
    if (was_there)
        call_rcu(&entry_of(iter.node)->head, free_entry);
    return was_there;
}

static void *look_up(void *unused)
{
    unsigned long key = 0, found = 0;

    (void)unused;
    rcu_register_thread();
    while (!GET(is_over) || !found) {
        struct cds_lfht_iter iter;

        key = (key + 1) % KEYS;
        rcu_read_lock();
        cds_lfht_lookup(table, hash(key), match, &key, &iter);
        if (iter.node) {
            CHECK(entry_of(iter.node)->is_valid && entry_of(iter.node)->key == key);
            found++;
        }
        rcu_read_unlock();
        rcu_quiescent_state();
    }
    rcu_unregister_thread();
    return NULL;
}

static void *update(void *first)
{
    unsigned long key;
    int round;

    rcu_register_thread();
    for (round = 0; round < 20; round++) {
        for (key = *(unsigned long *)first; key < KEYS; key += 2)
            put(key);
        for (key = *(unsigned long *)first; key < KEYS; key += 4)
            CHECK(take_out(key));
        rcu_quiescent_state();
    }
    rcu_unregister_thread();
    return NULL;
}

static unsigned long count(void)
{
    long before, after;
    unsigned long nodes;

    rcu_read_lock();
    cds_lfht_count_nodes(table, &before, &nodes, &after);
    rcu_read_unlock();
    return nodes;
}

static void empty(void)
{
    struct cds_lfht_iter iter;

    rcu_read_lock();
    for (cds_lfht_first(table, &iter); iter.node; cds_lfht_next(table, &iter)) {
        CHECK(cds_lfht_del(table, iter.node) == 0);
        call_rcu(&entry_of(iter.node)->head, free_entry);
    }
    rcu_read_unlock();
}

int main(void)
{
    static unsigned long firsts[2] = {0, 1};
    pthread_t threads[4];
    pid_t child;
    int i;

    begin();
    rcu_register_thread();
    table = cds_lfht_new(1, 1, 0, CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING, NULL);
    CHECK(table);
    rcu_thread_offline();
    for (i = 0; i < 4; i++)
        threads[i] = i < 2 ? start_thread(update, &firsts[i]) : start_thread(look_up, NULL);
    for (i = 0; i < 2; i++)
        join_thread(threads[i]);
    SET(is_over, 1);
    for (i = 2; i < 4; i++)
        join_thread(threads[i]);
    rcu_thread_online();
    CHECK(count() == KEYS / 2);
    cds_lfht_resize(table, 64);
    CHECK(count() == KEYS / 2);

    /* A callback may have a table that was replaced: the child has it too. */
    call_rcu_before_fork();
    child = fork();
    if (child == 0) {
        begin();
        call_rcu_after_fork_child();
        empty();
        CHECK(count() == 0);
        CHECK(cds_lfht_destroy(table, NULL) == 0);
        rcu_barrier();
        exit(3);
    }
    call_rcu_after_fork_parent();
    ends_with(child, 3);

    empty();
    CHECK(cds_lfht_destroy(table, NULL) == 0);
    rcu_barrier();
    CHECK(freed == 20 * KEYS);
    rcu_unregister_thread();
    return end("hash");
}
