/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A node that the table has already: cds_lfht_add() and cds_lfht_add_replace(), which have no error for it,
 * end the process with a line; the functions that have one return it, and the table is as before.
 */
#include "check.h"

#include <urcu/rculfhash.h>

#define HASH 7

static struct cds_lfht *table;
static struct cds_lfht_node nodes[3];

static int is_it(struct cds_lfht_node *node, const void *key)
{
    return node == key;
}

static int is_none(struct cds_lfht_node *node, const void *key)
{
    (void)node;
    (void)key;
    return 0;
}

/* A walk meets each node once, and ends. */
static void is_whole(void)
{
    struct cds_lfht_iter iter;
    struct cds_lfht_node *node;
    int met = 0;

    cds_lfht_for_each(table, &iter, node)
        CHECK(++met <= 3);
    CHECK(met == 3);
}

static void adds(void *node)
{
    cds_lfht_add(table, HASH, (struct cds_lfht_node *)node);
}

static void replaces(void *node)
{
    cds_lfht_add_replace(table, HASH, is_it, node, (struct cds_lfht_node *)node);
}

/* Whatever the comparison says. */
static void replaces_unequal(void *node)
{
    cds_lfht_add_replace(table, HASH, is_none, node, (struct cds_lfht_node *)node);
}

/* The line names the call, and the node. */
static const char *line(const char *call, const void *node)
{
    static char text[100];

    snprintf(text, sizeof text, "leeward: %s called with the node %p", call, node);
    return text;
}

/* The node is in the table already. */
static void is_refused(struct cds_lfht_node *node)
{
    struct cds_lfht_iter iter;
    char text[1000];

    is_fatal(adds, node, line("lee_map_add", node));
    is_fatal(replaces, node, line("lee_map_set", node));
    is_fatal(replaces_unequal, node, line("lee_map_set", node));
    /* These have an answer for it. */
    CHECK(cds_lfht_add_unique(table, HASH, is_none, NULL, node) == node);
    cds_lfht_lookup(table, HASH, is_it, node, &iter);
    CHECK(cds_lfht_iter_get_node(&iter) == node);
    capture_begin();
    CHECK(cds_lfht_replace(table, &iter, HASH, is_it, node, node) == -EINVAL);
    CHECK(capture_end(text, sizeof text) == 1 && strstr(text, line("lee_map_replace", node)));
}

int main(void)
{
    int i;

    begin();
    rcu_register_thread();
    table = cds_lfht_new(1, 1, 0, CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING, NULL);
    CHECK(table);
    rcu_read_lock();
    for (i = 0; i < 3; i++)
        cds_lfht_add(table, HASH, &nodes[i]);
    for (i = 0; i < 3; i++) {
        is_refused(&nodes[i]);
        is_whole();
    }
    for (i = 0; i < 3; i++)
        CHECK(cds_lfht_del(table, &nodes[i]) == 0);
    rcu_read_unlock();
    synchronize_rcu();
    CHECK(cds_lfht_destroy(table, NULL) == 0);
    rcu_unregister_thread();
    return end("table_twice");
}
