/*
 * The map of nodes: each call, an order, keys that are there several times, threads, a fork, and no
 * memory.
 */
#include "rcu_check.h"

#include <leeward/map.h>

#define KEYS 64
#define ROUNDS 20000

struct object {
	int key, value;
	struct lee_map_node node;
	struct lee_head head;
};

static struct lee_map *map;

static struct object *object_of(const struct lee_map_node *node)
{
	return LEE_OBJECT(node, struct object, node);
}

/* Four keys have one hash. */
static unsigned long hash_of(int key)
{
	return (unsigned long)key / 4 * 0x9e3779b9UL;
}

static int has_key(const struct lee_map_node *node, const void *key)
{
	return object_of(node)->key == *(const int *)key;
}

static struct object *make(int key, int value)
{
	struct object *object = (struct object *)calloc(1, sizeof(*object));

	CHECK(object != NULL);
	object->key = key;
	object->value = value;
	return object;
}

static void free_object(struct lee_head *head)
{
	free(LEE_OBJECT(head, struct object, head));
}

static struct lee_map_node *find(int key)
{
	return lee_map_find(map, hash_of(key), has_key, &key);
}

static int values_of(int key)
{
	struct lee_map_cursor cursor;
	struct lee_map_node *node;
	int sum = 0;

	LEE_MAP_FOR_EACH_EQUAL(map, hash_of(key), has_key, &key, &cursor, node)
		sum = 10 * sum + object_of(node)->value;
	return sum;
}

static int walk(void)
{
	struct lee_map_cursor cursor;
	struct lee_map_node *node;
	int count = 0;

	LEE_MAP_FOR_EACH(map, &cursor, node)
		count++;
	CHECK(cursor.node == NULL && lee_map_next(map, &cursor) == NULL);
	return count;
}

static void empty(void)
{
	struct lee_map_cursor cursor;
	struct lee_map_node *node;

	lee_memb_read_lock();
	LEE_MAP_FOR_EACH(map, &cursor, node) {
		CHECK_EQ(lee_map_remove(map, node), 0);
		lee_memb_defer(&object_of(node)->head, free_object);
	}
	lee_memb_read_unlock();
}

static void alone(void)
{
	struct lee_map_node *found;
	struct object *objects[6];
	int i, key = 5;

	map = lee_map_new(&lee_memb, 0);
	CHECK(map != NULL);
	for (i = 0; i < 6; i++)
		objects[i] = make(i < 3 ? 4 : 5, i + 1);
	lee_map_node_init_removed(&objects[0]->node);
	CHECK(lee_map_node_is_removed(&objects[0]->node));
	lee_memb_read_lock();
	for (i = 0; i < 3; i++)
		KEEPS_ERRNO(CHECK_EQ(lee_map_add(map, hash_of(4), &objects[i]->node), 0));
	CHECK(!lee_map_node_is_removed(&objects[0]->node));
	CHECK_EQ(values_of(4), 123);
	CHECK(find(5) == NULL && find(4) == &objects[0]->node);

	KEEPS_ERRNO(CHECK_EQ(lee_map_add_unique(map, hash_of(5), has_key, &key, &objects[3]->node, &found), 0));
	CHECK(found == NULL);
	CHECK_EQ(lee_map_add_unique(map, hash_of(5), has_key, &key, &objects[4]->node, &found), EEXIST);
	CHECK(found == &objects[3]->node);
	CHECK_EQ(lee_map_set(map, hash_of(5), has_key, &key, &objects[4]->node, &found), 0);
	CHECK(found == &objects[3]->node && lee_map_node_is_removed(found));
	CHECK_EQ(lee_map_replace(map, &objects[3]->node, &objects[5]->node), ENOENT);
	CHECK_EQ(lee_map_replace(map, NULL, &objects[5]->node), ENOENT);
	CHECK_EQ(lee_map_replace(map, &objects[4]->node, &objects[5]->node), 0);
	CHECK_EQ(values_of(5), 6);
	CHECK_EQ(values_of(4), 123);
	CHECK_EQ(walk(), 4);
	CHECK_EQ(lee_map_count(map), 4);

	CHECK_EQ(lee_map_remove(map, &objects[1]->node), 0);
	CHECK_EQ(lee_map_remove(map, &objects[1]->node), ENOENT);
	CHECK_EQ(lee_map_remove(map, NULL), ENOENT);
	CHECK_EQ(values_of(4), 13);
	CHECK_EQ(lee_map_free(map), EBUSY);
	lee_memb_read_unlock();
	for (i = 3; i < 6; i++)
		CHECK_EQ(lee_map_resize(map, i == 4 ? 1000 : 1), 0);
	empty();
	CHECK_EQ(lee_memb_barrier(), 0);
	free(objects[1]);
	free(objects[3]);
	free(objects[4]);
	lee_memb_read_lock();
	CHECK_EQ(walk(), 0);
	CHECK_EQ(lee_map_free(map), 0);
	lee_memb_read_unlock();
	CHECK_EQ(lee_map_free(NULL), 0);
}

/* The order is that of the hashes' bits, lowest first, in a table of any size. */
static unsigned long reversed(unsigned long hash)
{
	unsigned long result = 0;
	size_t bit;

	for (bit = 0; bit < 8 * sizeof(hash); bit++)
		result = 2 * result + (hash >> bit & 1);
	return result;
}

static void in_order(size_t size)
{
	struct lee_map_options options = { size, 0, 0, LEE_MAP_FIXED, 0 };
	struct lee_map_cursor cursor;
	struct lee_map_node *node;
	unsigned long last = 0;
	int key, count = 0;

	map = lee_map_new_with(&lee_memb, &options);
	CHECK(map != NULL);
	lee_memb_read_lock();
	for (key = 0; key < 800; key++)
		CHECK_EQ(lee_map_add(map, hash_of(key), &make(key, key)->node), 0);
	LEE_MAP_FOR_EACH(map, &cursor, node) {
		unsigned long position = reversed(hash_of(object_of(node)->key));

		CHECK(position >= last);
		last = position;
		CHECK_EQ(object_of(node)->key % 4, count++ % 4);
	}
	CHECK_EQ(count, 800);
	lee_memb_read_unlock();
	empty();
	CHECK_EQ(lee_map_free(map), 0);
}

static int is_over;

static void *change(void *seed)
{
	unsigned int random = *(unsigned int *)seed;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		struct lee_map_node *found;
		struct object *object;
		int key;

		random = random * 1103515245 + 12345;
		key = (int)(random >> 16) % KEYS;
		lee_memb_read_lock();
		if (key < 8 || random >> 31) {
			object = make(key, round);
			CHECK_EQ(lee_map_set(map, hash_of(key), has_key, &key, &object->node, &found), 0);
		} else {
			found = find(key);
			if (lee_map_remove(map, found) != 0)
				found = NULL;
		}
		if (found != NULL)
			lee_memb_defer(&object_of(found)->head, free_object);
		lee_memb_read_unlock();
	}
	return NULL;
}

/* The first eight keys are always there, once. */
static void look(void)
{
	struct lee_map_cursor cursor;
	struct lee_map_node *node;
	int met[KEYS] = { 0 }, key;

	lee_memb_read_lock();
	for (key = 0; key < 8; key++)
		CHECK(find(key) != NULL);
	LEE_MAP_FOR_EACH(map, &cursor, node)
		met[object_of(node)->key]++;
	lee_memb_read_unlock();
	for (key = 0; key < KEYS; key++)
		CHECK(met[key] <= 1 && (key >= 8 || met[key] == 1));
}

static void *read_all(void *unused)
{
	(void)unused;
	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
		look();
		CHECK_EQ(lee_map_resize(map, 400), 0);
		look();
		CHECK_EQ(lee_map_resize(map, 1), 0);
	}
	return NULL;
}

static void child(void *unused)
{
	(void)unused;
	look();
	CHECK_EQ(lee_map_resize(map, 200), 0);
	lee_memb_read_lock();
	CHECK_EQ(lee_map_count(map), (size_t)walk());
	lee_memb_read_unlock();
	empty();
	CHECK_EQ(lee_map_count(map), 0);
	CHECK_EQ(lee_map_free(map), 0);
}

static void together(void)
{
	static unsigned int seeds[2] = { 1, 2 };
	pthread_t threads[3];
	int i, status;

	map = lee_map_new(&lee_memb, 0);
	CHECK(map != NULL);
	lee_memb_read_lock();
	for (i = 0; i < 8; i++)
		CHECK_EQ(lee_map_add(map, hash_of(i), &make(i, 0)->node), 0);
	lee_memb_read_unlock();
	for (i = 0; i < 3; i++)
		threads[i] = i < 2 ? check_start(change, &seeds[i]) : check_start(read_all, NULL);
	/* Neither the sanitizers' allocators nor qemu survive a fork beside threads. */
	for (i = 0; i < 8 && !IS_SANITIZED && !IS_EMULATED; i++) {
		pid_t process = check_fork(child, NULL);

		CHECK_EQ(waitpid(process, &status, 0), process);
		CHECK_EQ(status, 0);
	}
	check_join(threads[0]);
	check_join(threads[1]);
	__atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
	check_join(threads[2]);
	look();
	empty();
	CHECK_EQ(lee_map_count(map), 0);
	CHECK_EQ(lee_map_free(map), 0);
}

/* A size that no memory suffices for is an error. */
static void too_large(void)
{
	struct lee_map_options options = { SIZE_MAX, SIZE_MAX, 0, 0, 0 };

	KEEPS_ERRNO(CHECK(lee_map_new_with(&lee_memb, &options) == NULL));
	map = lee_map_new(&lee_memb, 1);
	CHECK(map != NULL);
	if (!IS_SANITIZED)
		KEEPS_ERRNO(CHECK_EQ(lee_map_resize(map, SIZE_MAX / 1024), ENOMEM));
	CHECK_EQ(lee_map_free(map), 0);
}

/* What a later version may know is refused by this one. */
static void makes_unknown(void *argument)
{
	const struct lee_map_options *options = (const struct lee_map_options *)argument;

	KEEPS_ERRNO(CHECK(lee_map_new_with(&lee_memb, options) == NULL));
}

static void unknown(void)
{
	struct lee_map_options options = { 1, 0, 0, LEE_MAP_FIXED | LEE_MAP_KEEPS, 0 };

	map = lee_map_new_with(&lee_memb, &options);
	CHECK(map != NULL);
	CHECK_EQ(lee_map_free(map), 0);
	options.flags = 4 | LEE_MAP_KEEPS;
	check_says("lee_map_new_with called with unknown options: flags 0x6, reserved 0x0", makes_unknown, &options);
	options.flags = 0;
	options.reserved = 1;
	check_says("lee_map_new_with called with unknown options: flags 0x0, reserved 0x1", makes_unknown, &options);
}

int main(void)
{
	check_begin();
	unknown();
	alone();
	in_order(1);
	in_order(100);
	in_order(4000);
	together();
	too_large();
	CHECK_EQ(lee_memb_barrier(), 0);
	return check_end("map");
}
