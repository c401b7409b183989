/* A hash map of nodes: look-ups, and one update in ten operations, by threads that do nothing else. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "crew.h"
#include "face.h"
#include "figures.h"

struct entry;

#ifdef FACE_HEADER

#include <urcu/rculfhash.h>

typedef struct cds_lfht map;
typedef struct cds_lfht_node map_node;
#define MAP_NODE map_node

#else

#include <leeward/map.h>

typedef struct lee_map map;
typedef struct lee_map_node map_node;
#define MAP_NODE const map_node

#endif

/* An object of a program. */
struct entry {
	map_node node;
	struct face_head head;
	uint64_t key;
};

static uint64_t key_of(MAP_NODE *node)
{
	return ((const struct entry *)(const void *)((const char *)node - offsetof(struct entry, node)))->key;
}

static int has_key(MAP_NODE *node, const void *key)
{
	return key_of(node) == *(const uint64_t *)key;
}

#ifdef FACE_HEADER

static map *map_new(void)
{
	return cds_lfht_new(64, 64, 0, CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING, NULL);
}

static inline map_node *map_find(map *map, unsigned long hash, uint64_t key)
{
	struct cds_lfht_iter iter;

	cds_lfht_lookup(map, hash, has_key, &key, &iter);
	return cds_lfht_iter_get_node(&iter);
}

static inline int map_add(map *map, unsigned long hash, struct entry *entry)
{
	return cds_lfht_add_unique(map, hash, has_key, &entry->key, &entry->node) == &entry->node;
}

static inline int map_remove(map *map, map_node *node)
{
	return cds_lfht_del(map, node) == 0;
}

static void map_resize(map *map, uint64_t nodes)
{
	unsigned long buckets = 1;

	while (buckets < nodes)
		buckets *= 2;
	cds_lfht_resize(map, buckets);
}

#else

static map *map_new(void)
{
	return lee_map_new(face_domain, 64);
}

static inline map_node *map_find(map *map, unsigned long hash, uint64_t key)
{
	return lee_map_find(map, hash, has_key, &key);
}

static inline int map_add(map *map, unsigned long hash, struct entry *entry)
{
	map_node *found;

	return lee_map_add_unique(map, hash, has_key, &entry->key, &entry->node, &found) == 0;
}

static inline int map_remove(map *map, map_node *node)
{
	return lee_map_remove(map, node) == 0;
}

static void map_resize(map *map, uint64_t nodes)
{
	lee_map_resize(map, nodes);
}

#endif

#define MOST 16
/* Operations between two looks at the flag. */
#define BATCH 256

struct worker {
	unsigned long thread;
	uint64_t seed, lookups, operations, processor_ns;
} __attribute__((aligned(128)));

static map *table;
static uint64_t range;
static int is_over __attribute__((aligned(128)));

static unsigned long hash_of(uint64_t key)
{
	key ^= key >> 31;
	key *= 0x7fb5d329728ea185u;
	key ^= key >> 27;
	key *= 0x81dadef4bc2dd44du;
	return key ^ key >> 33;
}

static struct entry *entry_new(uint64_t key)
{
	struct entry *entry = malloc(sizeof(*entry));

	if (!entry) {
		fputs("out of memory\n", stderr);
		exit(1);
	}
	entry->key = key;
	return entry;
}

static void entry_free(struct face_head *head)
{
	free((char *)head - offsetof(struct entry, head));
}

static void insert(uint64_t key)
{
	struct entry *entry = entry_new(key);

	face_lock();
	if (!map_add(table, hash_of(key), entry))
		free(entry);
	face_unlock();
}

static void take_out(uint64_t key)
{
	map_node *node;

	face_lock();
	node = map_find(table, hash_of(key), key);
	if (node && map_remove(table, node))
		face_defer(&((struct entry *)(void *)((char *)node - offsetof(struct entry, node)))->head, entry_free);
	face_unlock();
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	uint64_t random = worker->seed * 0x9e3779b97f4a7c15u + 1, found = 0;

	face_register();
	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
		for (int i = 0; i < BATCH; i++) {
			uint64_t key;

			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			key = ((random >> 32) * range) >> 32;
			if ((random & 0xffff) * 10 >> 16 != 0) {
				face_lock();
				found += map_find(table, hash_of(key), key) != NULL;
				face_unlock();
				worker->lookups++;
			} else if (random & 0x10000) {
				insert(key);
			} else {
				take_out(key);
			}
		}
		worker->operations += BATCH;
		face_quiescent();
	}
	worker->processor_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	face_unregister();
	return (void *)(uintptr_t)found;
}

static uint64_t resident(void)
{
	unsigned long pages = 0, of_them = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%lu %lu", &pages, &of_them) != 2) {
		fputs("/proc/self/statm cannot be read\n", stderr);
		exit(1);
	}
	fclose(file);
	return of_them * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Adds the nodes, and returns the bytes of the table for each. */
static double fill(uint64_t nodes)
{
	struct entry **entries = malloc(nodes * sizeof(*entries));
	uint64_t before;

	for (uint64_t i = 0; entries && i < nodes; i++) {
		entries[i] = entry_new(2 * i);
		entries[i]->head = (struct face_head){ 0 };
		entries[i]->node = (map_node){ 0 };
	}
	before = resident();
	table = map_new();
	if (!entries || !table) {
		fputs("out of memory\n", stderr);
		exit(1);
	}
	for (uint64_t i = 0; i < nodes; i++) {
		face_lock();
		map_add(table, hash_of(entries[i]->key), entries[i]);
		face_unlock();
	}
	/* Each has its size by now, but one that is resized by a thread of its own, which may be late. */
	map_resize(table, nodes);
	face_barrier();
	free(entries);
	return ((double)resident() - (double)before) / (double)nodes;
}

/*
 * args: the number of nodes, threads and milliseconds. Prints the look-ups in a second, the nanoseconds of processors' time
 * for an operation, and the bytes of the table for a node.
 */
void figure_map(const uint64_t *args)
{
	unsigned threads = args[1] < MOST ? (unsigned)args[1] : MOST;
	static struct worker workers[MOST];
	uint64_t began, lookups = 0, operations = 0, processor_ns = 0;
	double bytes, seconds;

	face_register();
	range = 2 * args[0];
	bytes = fill(args[0]);
	face_offline();
	for (unsigned i = 0; i < threads; i++) {
		workers[i].seed = i + 1;
		thread_start(&workers[i].thread, work, &workers[i]);
	}
	began = now_ns();
	usleep((useconds_t)args[2] * 1000);
	__atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < threads; i++) {
		thread_join(workers[i].thread);
		lookups += workers[i].lookups;
		operations += workers[i].operations;
		processor_ns += workers[i].processor_ns;
	}
	seconds = (double)(now_ns() - began) / 1e9;
	face_online();
	face_unregister();
	printf("%f %f %f\n", (double)lookups / seconds, (double)processor_ns / (double)operations, bytes);
	fflush(stdout);
	/* The table has nodes. */
	_exit(0);
}
