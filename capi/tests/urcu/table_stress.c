/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The hash table of urcu/rculfhash.h under load: threads that add, replace and remove nodes, of which
 * several have one hash, and one that resizes the table all the time, beside look-ups and walks. What
 * is there throughout is found, and met once; no key that is unique is met twice; nothing is freed
 * that a reader has. Forks in the midst of it leave the child a table that works.
 */
#include "check.h"

#include <urcu/rculfhash.h>

#ifndef ROUNDS
#define ROUNDS 100
#endif
/* 0 where a child cannot go on: with liburcu's own table, and with sanitizers, whose locks a fork leaves. */
#ifndef FORKS
#define FORKS 10
#endif

/* 0 where a table that resizes itself must not be resized by hand as well. */
#ifndef AUTO_RESIZE
#define AUTO_RESIZE CDS_LFHT_AUTO_RESIZE
#endif

/* Keys below STAY are there throughout, and replaced; those up to KEYS come and go. */
#define STAY 24
#define KEYS 96
/* A key of which several nodes are added: COPIES stay, others come and go. */
#define COPIED 1000
#define COPIES 5
/* Other keys, so that the table has many lines. */
#define FILLER 2000
#define FILLERS 300

struct entry {
    unsigned long key;
    struct cds_lfht_node node;
    struct rcu_head head;
    int is_valid, stays;
};

static struct cds_lfht *table;
static int is_over, added, freed;

static struct entry *entry_of(struct cds_lfht_node *node)
{
    struct entry *entry = caa_container_of(node, struct entry, node);

    CHECK(entry->is_valid);
    return entry;
}

/* Of the keys, several have one hash, and many the lowest bits in common. */
static unsigned long hash(unsigned long key)
{
    if (key >= FILLER)
        return key * 0x9e3779b97f4a7c15UL;
    return (key % 12) << 8;
}

static int match(struct cds_lfht_node *node, const void *key)
{
    return entry_of(node)->key == *(const unsigned long *)key;
}

static void free_entry(struct rcu_head *head)
{
    struct entry *entry = caa_container_of(head, struct entry, head);

    CHECK(entry->is_valid);
    memset(entry, 0, sizeof *entry);
    free(entry);
    ADD(freed, 1);
}

static struct entry *make(unsigned long key)
{
    struct entry *entry = (struct entry *)calloc(1, sizeof *entry);

    CHECK(entry);
    entry->key = key;
    entry->is_valid = 1;
    ADD(added, 1);
    return entry;
}

static void drop(struct cds_lfht_node *node)
{
    call_rcu(&entry_of(node)->head, free_entry);
}

static void put(unsigned long key)
{
    struct entry *entry = make(key);
    struct cds_lfht_node *before;

    rcu_read_lock();
    before = cds_lfht_add_replace(table, hash(key), match, &key, &entry->node);
    CHECK(before != &entry->node);
    if (before) {
        CHECK(cds_lfht_is_node_deleted(before) && cds_lfht_del(table, before) == -ENOENT);
        drop(before);
    }
    rcu_read_unlock();
}

static void put_new(unsigned long key)
{
    struct entry *entry = make(key);

    rcu_read_lock();
    if (cds_lfht_add_unique(table, hash(key), match, &key, &entry->node) != &entry->node) {
        free(entry);
        ADD(freed, 1);
    }
    rcu_read_unlock();
}

static void exchange(unsigned long key)
{
    struct entry *entry = make(key);
    struct cds_lfht_iter iter;
    int error;

    rcu_read_lock();
    cds_lfht_lookup(table, hash(key), match, &key, &iter);
    error = cds_lfht_replace(table, &iter, hash(key), match, &key, &entry->node);
    CHECK(error == 0 || (error == -ENOENT && (!iter.node || cds_lfht_is_node_deleted(iter.node))));
    if (error == 0) {
        drop(iter.node);
    } else {
        free(entry);
        ADD(freed, 1);
    }
    rcu_read_unlock();
}

static void take_out(unsigned long key)
{
    struct cds_lfht_iter iter;
    struct cds_lfht_node *node;

    rcu_read_lock();
    cds_lfht_for_each_duplicate(table, hash(key), match, &key, &iter, node) {
        if (!entry_of(node)->stays && cds_lfht_del(table, node) == 0)
            drop(node);
    }
    rcu_read_unlock();
}

static void copy(int stays)
{
    struct entry *entry = make(COPIED);

    entry->stays = stays;
    rcu_read_lock();
    cds_lfht_add(table, hash(COPIED), &entry->node);
    rcu_read_unlock();
}

static void *update(void *seed)
{
    unsigned int random = *(unsigned int *)seed;
    int round;

    rcu_register_thread();
    for (round = 0; !GET(is_over); round++) {
        unsigned long key;

        random = random * 1103515245 + 12345;
        key = (random >> 16) % KEYS;
        switch (key < STAY ? random >> 30 & 1 : random >> 30) {
        case 0: put(key); break;
        case 1: exchange(key); break;
        case 2: put_new(key); break;
        default: take_out(key); break;
        }
        if (round % 8 == 0)
            copy(0);
        if (round % 32 == 0)
            take_out(COPIED);
        rcu_quiescent_state();
    }
    rcu_unregister_thread();
    return NULL;
}

static void *resize(void *unused)
{
    unsigned long size = 1;

    (void)unused;
    rcu_register_thread();
    while (!GET(is_over)) {
        size = size == 4096 ? 1 : 4 * size;
        cds_lfht_resize(table, size);
        rcu_quiescent_state();
    }
    rcu_unregister_thread();
    return NULL;
}

/* What a reader may rely on. */
static void look(void)
{
    struct cds_lfht_iter iter;
    struct cds_lfht_node *node;
    int met[KEYS] = {0}, fillers = 0, copies = 0;
    unsigned long key;

    for (key = 0; key < STAY; key++) {
        int count = 0;

        rcu_read_lock();
        cds_lfht_for_each_duplicate(table, hash(key), match, &key, &iter, node)
            count++;
        CHECK(count == 1);
        rcu_read_unlock();
    }
    key = COPIED;
    rcu_read_lock();
    cds_lfht_for_each_duplicate(table, hash(key), match, &key, &iter, node)
        copies += entry_of(node)->stays;
    CHECK(copies == COPIES);
    copies = 0;
    cds_lfht_for_each(table, &iter, node) {
        struct entry *entry = entry_of(node);

        if (entry->key < KEYS)
            met[entry->key]++;
        else if (entry->key >= FILLER)
            fillers++;
        else
            copies += entry->stays;
    }
    rcu_read_unlock();
    for (key = 0; key < KEYS; key++)
        CHECK(met[key] <= 1 && (key >= STAY || met[key] == 1));
    CHECK(fillers == FILLERS && copies == COPIES);
}

static void *read_all(void *unused)
{
    int round;

    (void)unused;
    rcu_register_thread();
    for (round = 0; round < ROUNDS; round++) {
        look();
        rcu_quiescent_state();
    }
    rcu_unregister_thread();
    return NULL;
}

static void empty(void)
{
    struct cds_lfht_iter iter;
    struct cds_lfht_node *node;

    rcu_read_lock();
    cds_lfht_for_each(table, &iter, node) {
        CHECK(cds_lfht_del(table, node) == 0);
        drop(node);
    }
    rcu_read_unlock();
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

static void child_uses_it(void)
{
    pid_t child;

    call_rcu_before_fork();
    child = fork();
    if (child == 0) {
        unsigned long key;

        begin();
        call_rcu_after_fork_child();
        look();
        for (key = 0; key < KEYS; key++)
            put(key);
        look();
        cds_lfht_resize(table, 64);
        look();
        empty();
        CHECK(count() == 0);
        CHECK(cds_lfht_destroy(table, NULL) == 0);
        _exit(3);
    }
    call_rcu_after_fork_parent();
    ends_with(child, 3);
}

int main(void)
{
    static unsigned int seeds[2] = {1, 20};
    pthread_t threads[5];
    unsigned long key;
    int i;

    begin();
    rcu_register_thread();
    table = cds_lfht_new(1, 1, 0, AUTO_RESIZE | CDS_LFHT_ACCOUNTING, NULL);
    CHECK(table);
    for (key = 0; key < FILLERS; key++)
        put(FILLER + key);
    for (key = 0; key < STAY; key++)
        put_new(key);
    for (i = 0; i < COPIES; i++)
        copy(1);
    for (i = 0; i < 2; i++)
        threads[i] = start_thread(update, &seeds[i]);
    threads[2] = start_thread(resize, NULL);
    for (i = 3; i < 5; i++)
        threads[i] = start_thread(read_all, NULL);
    for (i = 0; i < FORKS; i++)
        child_uses_it();
    rcu_thread_offline();
    for (i = 3; i < 5; i++)
        join_thread(threads[i]);
    SET(is_over, 1);
    for (i = 0; i < 3; i++)
        join_thread(threads[i]);
    rcu_thread_online();
    look();
    empty();
    CHECK(count() == 0);
    CHECK(cds_lfht_destroy(table, NULL) == 0);
    rcu_barrier();
    CHECK(added == freed);
    rcu_unregister_thread();
    return end("table_stress");
}
