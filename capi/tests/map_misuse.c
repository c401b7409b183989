/*
 * Nodes that are put into the map that has them: the call is refused with one line on standard error that
 * names it, and the map is as before.
 */
#include "rcu_check.h"

#include <leeward/map.h>
#include <leeward/rcu.h>

static struct lee_map *map;
static struct lee_map_node nodes[3];
/* What the last capture said. */
static char said[1000];

static int is_it(const struct lee_map_node *node, const void *key)
{
	return node == key;
}

static int is_none(const struct lee_map_node *node, const void *key)
{
	(void)node;
	(void)key;
	return 0;
}

/* The walk has an end, and meets each node once. */
static void is_whole(void)
{
	struct lee_map_cursor cursor;
	size_t met = 0;

	for (lee_map_first(map, &cursor); cursor.node != NULL; lee_map_next(map, &cursor))
		CHECK(++met <= 3);
	CHECK(met == 3 && lee_map_count(map) == 3);
}

/* The call said one line, which names it, the node and the thread. */
static void is_said(int error, const char *call, const struct lee_map_node *node)
{
	char what[100];

	CHECK_EQ(capture_end(said, sizeof said), 1);
	CHECK_EQ(error, EINVAL);
	snprintf(what, sizeof what, "leeward: %s called with the node %p", call, (const void *)node);
	CHECK(strncmp(said, what, strlen(what)) == 0);
	is_whole();
}

static void refused(struct lee_map_node *node)
{
	struct lee_map_node *other = node;
	int error;

	capture_begin();
	error = lee_map_add(map, 7, node);
	is_said(error, "lee_map_add", node);

	capture_begin();
	error = lee_map_set(map, 7, is_it, node, node, &other);
	is_said(error, "lee_map_set", node);
	CHECK(other == NULL);

	/* Whatever the comparison says. */
	capture_begin();
	error = lee_map_set(map, 7, is_none, NULL, node, &other);
	is_said(error, "lee_map_set", node);

	capture_begin();
	error = lee_map_replace(map, node, node);
	is_said(error, "lee_map_replace", node);

	/* This one has an error for it. */
	CHECK_EQ(lee_map_add_unique(map, 7, is_it, node, node, &other), EEXIST);
	CHECK(other == node);
	CHECK_EQ(lee_map_add_unique(map, 7, is_none, NULL, node, &other), EEXIST);
	CHECK(other == node);
	is_whole();
}

int main(void)
{
	int i;

	rcu_begin();
	map = lee_map_new(&lee_memb, 10);
	CHECK(map != NULL);
	lee_memb_read_lock();
	for (i = 0; i < 3; i++)
		CHECK_EQ(lee_map_add(map, 7, &nodes[i]), 0);
	for (i = 0; i < 3; i++)
		refused(&nodes[i]);
	/* A node that was removed may come back, after a grace period. */
	for (i = 0; i < 3; i++)
		CHECK_EQ(lee_map_remove(map, &nodes[i]), 0);
	lee_memb_read_unlock();
	CHECK_EQ(lee_memb_synchronize(), 0);
	lee_memb_read_lock();
	for (i = 0; i < 3; i++)
		CHECK_EQ(lee_map_add(map, 7, &nodes[i]), 0);
	is_whole();
	for (i = 0; i < 3; i++)
		CHECK_EQ(lee_map_remove(map, &nodes[i]), 0);
	lee_memb_read_unlock();
	CHECK_EQ(lee_map_free(map), 0);
	return check_end("map_misuse");
}
