/*
 * Functions of the program's that do not do what they promise: a comparison that answers at random,
 * hashes that change, a comparison that changes the map that calls it. Nodes are neither lost nor
 * freed twice, and each call returns.
 */
#include "rcu_check.h"

#include <leeward/map.h>
#include <leeward/rcu.h>

#define ITEMS 300

struct item {
	struct lee_map_node node;
	struct lee_head head;
	/* True while it is in the map, as far as what the calls returned tells. */
	bool is_in;
	int walked;
};

static struct lee_map *map;
static struct item *items[ITEMS];
static uint64_t state = 12345;
static int made, freed;

static struct item *item_of(struct lee_map_node *node)
{
	return LEE_OBJECT(node, struct item, node);
}

static void free_item(struct lee_head *head)
{
	struct item *item = LEE_OBJECT(head, struct item, head);

	CHECK(!item->is_in);
	memset((void *)item, 0x5a, sizeof *item);
	free(item);
	ADD(freed, 1);
}

/* An item has left the map, or never came into it. */
static void is_out(struct item *item)
{
	size_t at;

	for (at = 0; at < ITEMS; at++)
		if (items[at] == item)
			items[at] = NULL;
	item->is_in = false;
	lee_memb_defer(&item->head, free_item);
}

static int answers_at_random(const struct lee_map_node *node, const void *key)
{
	(void)node;
	(void)key;
	return random_below(&state, 4) == 0;
}

static struct item *new_item(size_t at)
{
	struct item *item = (struct item *)calloc(1, sizeof *item);

	CHECK(item != NULL);
	item->is_in = true;
	items[at] = item;
	made++;
	return item;
}

static size_t free_place(void)
{
	size_t at = random_below(&state, ITEMS);

	while (items[at] != NULL)
		at = random_below(&state, ITEMS);
	return at;
}

/* One change, with a hash of a few that has nothing to do with the item. */
static void change(void)
{
	const unsigned long hash = random_below(&state, 8);
	struct lee_map_node *other = NULL;
	struct lee_map_cursor cursor;
	struct item *item;
	int result;

	if (lee_map_count(map) > ITEMS / 2) {
		other = lee_map_first(map, &cursor);
		CHECK_EQ(lee_map_remove(map, other), 0);
		CHECK_EQ(lee_map_remove(map, other), ENOENT);
		is_out(item_of(other));
		return;
	}
	switch (random_below(&state, 5)) {
	case 0:
		item = new_item(free_place());
		CHECK_EQ(lee_map_add(map, hash, &item->node), 0);
		break;
	case 1:
		item = new_item(free_place());
		result = lee_map_add_unique(map, hash, answers_at_random, NULL, &item->node, &other);
		CHECK(result == 0 || result == EEXIST);
		CHECK((result == 0) == (other == NULL));
		if (result != 0) {
			CHECK(item_of(other)->is_in);
			is_out(item);
		}
		break;
	case 2:
		item = new_item(free_place());
		CHECK_EQ(lee_map_set(map, hash, answers_at_random, NULL, &item->node, &other), 0);
		if (other != NULL) {
			CHECK(item_of(other)->is_in);
			is_out(item_of(other));
		}
		break;
	case 3:
		other = lee_map_find_all(map, hash, answers_at_random, NULL, &cursor);
		while (other != NULL) {
			CHECK(item_of(other)->is_in);
			other = lee_map_next_equal(map, answers_at_random, NULL, &cursor);
		}
		break;
	default:
		other = lee_map_find(map, hash, answers_at_random, NULL);
		result = lee_map_remove(map, other);
		CHECK_EQ(result, other == NULL ? ENOENT : 0);
		if (other != NULL)
			is_out(item_of(other));
	}
}

/* A walk meets each item that is in the map, once. */
static void is_whole(void)
{
	struct lee_map_cursor cursor;
	struct lee_map_node *node;
	size_t at, count = 0;

	for (at = 0; at < ITEMS; at++)
		if (items[at] != NULL)
			items[at]->walked = 0;
	LEE_MAP_FOR_EACH(map, &cursor, node) {
		CHECK(item_of(node)->is_in);
		CHECK_EQ(++item_of(node)->walked, 1);
		count++;
	}
	for (at = 0; at < ITEMS; at++)
		CHECK(items[at] == NULL || items[at]->walked == 1);
	CHECK_EQ(lee_map_count(map), count);
}

static void lies(void)
{
	struct lee_map_cursor cursor;
	struct lee_map_node *node;
	int round;

	map = lee_map_new(&lee_memb, 4);
	for (round = 0; round < (IS_SANITIZED ? 2000 : 20000); round++) {
		lee_memb_read_lock();
		change();
		if (round % 100 == 0)
			is_whole();
		lee_memb_read_unlock();
		if (round % 1000 == 0)
			CHECK_EQ(lee_map_resize(map, random_below(&state, 1000)), 0);
	}
	lee_memb_read_lock();
	LEE_MAP_FOR_EACH(map, &cursor, node) {
		CHECK_EQ(lee_map_remove(map, node), 0);
		is_out(item_of(node));
	}
	lee_memb_read_unlock();
	CHECK_EQ(lee_map_count(map), 0);
	CHECK_EQ(lee_map_free(map), 0);
	CHECK_EQ(lee_memb_barrier(), 0);
	CHECK_EQ(GET(freed), made);
}

/* A comparison that changes the map which calls it: a few times, so that the call may return. */
static int turns;

static int changes_the_map(const struct lee_map_node *node, const void *key)
{
	(void)key;
	if (turns > 0) {
		turns--;
		change();
		is_whole();
	}
	return item_of((struct lee_map_node *)(uintptr_t)node)->is_in && random_below(&state, 2);
}

static void enters_again(void)
{
	struct lee_map_node *other;
	struct item *item;
	int round, result;

	map = lee_map_new(&lee_memb, 4);
	for (round = 0; round < (IS_SANITIZED ? 200 : 2000); round++) {
		const unsigned long hash = random_below(&state, 8);

		turns = 3;
		lee_memb_read_lock();
		lee_map_find(map, hash, changes_the_map, NULL);
		turns = 3;
		/* Walks do not meet it until the call returns. */
		item = (struct item *)calloc(1, sizeof *item);
		made++;
		result = lee_map_add_unique(map, hash, changes_the_map, NULL, &item->node, &other);
		turns = 0;
		if (result == 0) {
			size_t at = free_place();

			item->is_in = true;
			items[at] = item;
		} else {
			CHECK_EQ(result, EEXIST);
			is_out(item);
		}
		is_whole();
		lee_memb_read_unlock();
	}
}

int main(void)
{
	rcu_begin();
	lies();
	enters_again();
	return check_end("map_lies");
}
