/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Each call and loop of urcu/rculfhash.h, on one thread.
 */
#include "check.h"

#include <urcu/cds.h>

struct entry {
    int key, value;
    struct cds_lfht_node node;
};

static struct cds_lfht *table;

static int match(struct cds_lfht_node *node, const void *key)
{
    return caa_container_of(node, struct entry, node)->key == *(const int *)key;
}

/* One hash for two keys: what is of a key is told by match() alone. */
static unsigned long hash(int key)
{
    return (unsigned long)key / 2;
}

static int values_of(int key)
{
    struct cds_lfht_iter iter;
    struct cds_lfht_node *node;
    struct entry *entry;
    int sum = 0, same = 0;

    cds_lfht_for_each_entry_duplicate(table, hash(key), match, &key, &iter, entry, node)
        sum += entry->value;
    CHECK(!entry);
    cds_lfht_for_each_duplicate(table, hash(key), match, &key, &iter, node)
        same += cds_lfht_entry(node, struct entry, node)->value;
    CHECK(!node && same == sum);
    return sum;
}

static unsigned long nodes(void)
{
    long before, after;
    unsigned long count;

    cds_lfht_count_nodes(table, &before, &count, &after);
    CHECK(before == 0 && after == 0);
    return count;
}

static struct cds_lfht_iter find(int key)
{
    struct cds_lfht_iter iter;

    cds_lfht_lookup(table, hash(key), match, &key, &iter);
    return iter;
}

/* Nodes are added, found and replaced. */
static void fill(struct entry *entries)
{
    struct cds_lfht_iter iter;
    int key = 4;

    cds_lfht_add(table, hash(4), &entries[0].node);
    cds_lfht_add(table, hash(4), &entries[1].node);
    CHECK(values_of(4) == 1 + 2 && values_of(5) == 0);
    CHECK(cds_lfht_add_unique(table, hash(4), match, &key, &entries[2].node) != &entries[2].node);
    key = 5;
    CHECK(cds_lfht_add_unique(table, hash(5), match, &key, &entries[3].node) == &entries[3].node);
    CHECK(!cds_lfht_is_node_deleted(&entries[3].node));
    CHECK(cds_lfht_add_replace(table, hash(5), match, &key, &entries[4].node) == &entries[3].node);
    CHECK(cds_lfht_is_node_deleted(&entries[3].node));
    CHECK(values_of(4) == 1 + 2 && values_of(5) == 16 && nodes() == 3);

    iter = find(5);
    CHECK(cds_lfht_iter_get_node(&iter) == &entries[4].node);
    CHECK(cds_lfht_replace(table, &iter, hash(7), match, &key, &entries[5].node) == -EINVAL);
    CHECK(cds_lfht_replace(table, &iter, hash(5), match, &key, &entries[5].node) == 0);
    CHECK(cds_lfht_replace(table, &iter, hash(5), match, &key, &entries[6].node) == -ENOENT);
    CHECK(values_of(5) == 32);
    iter = find(6);
    CHECK(!cds_lfht_iter_get_node(&iter));
    CHECK(cds_lfht_del(table, cds_lfht_iter_get_node(&iter)) == -ENOENT);
}

/* Nodes are removed by the loops that find them. */
static void drain(void)
{
    struct cds_lfht_iter iter;
    struct cds_lfht_node *node;
    struct entry *entry;
    int sum = 0;

    cds_lfht_for_each_entry(table, &iter, entry, node)
        sum += entry->value;
    CHECK(!entry && sum == 1 + 2 + 32);
    cds_lfht_for_each(table, &iter, node) {
        CHECK(cds_lfht_del(table, node) == 0);
        CHECK(cds_lfht_del(table, node) == -ENOENT);
    }
    CHECK(!node && nodes() == 0);
}

int main(void)
{
    struct entry entries[7];
    pthread_attr_t attributes, *returned = NULL;
    int i;

    begin();
    memset(entries, 0, sizeof entries);
    for (i = 0; i < 7; i++) {
        entries[i].key = i < 3 ? 4 : 5;
        entries[i].value = 1 << i;
        cds_lfht_node_init(&entries[i].node);
    }
    CHECK(sizeof(struct cds_lfht_node) == 16 && sizeof(struct cds_lfht_iter) == 16);
    CHECK(cds_lfht_entry((struct cds_lfht_node *)NULL, struct entry, node) == NULL);

    rcu_register_thread();
    CHECK(cds_lfht_new(3, 1, 0, 0, NULL) == NULL);
    CHECK(pthread_attr_init(&attributes) == 0);
    table = cds_lfht_new_flavor(2, 1, 0, 0, &rcu_flavor, &attributes);
    CHECK(table);
    rcu_read_lock();
    fill(entries);
    rcu_read_unlock();
    cds_lfht_resize(table, 16);
    CHECK(cds_lfht_destroy(table, NULL) == -EPERM);
    rcu_read_lock();
    drain();
    rcu_read_unlock();
    synchronize_rcu();
    CHECK(cds_lfht_destroy(table, &returned) == 0 && returned == &attributes);

    table = _cds_lfht_new(1, 1, 64, CDS_LFHT_ACCOUNTING, &cds_lfht_mm_chunk, &rcu_flavor, NULL);
    CHECK(table && cds_lfht_destroy(table, NULL) == 0);
    rcu_unregister_thread();
    return end("table");
}
