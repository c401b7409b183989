/*
 * The thread sanitizer sees neither what the library does, nor what a map orders:
 * what was done before a node was added happens before the return of a call that
 * finds it, and before a comparison is called with it; what was done before a removal,
 * before the return of a call that does not find the node any more. Here the functions
 * of map.h tell it so. map.h includes this, in programs that are built with it.
 */
#ifndef LEEWARD_MAP_TSAN_H
#define LEEWARD_MAP_TSAN_H

/* It includes this. */
#include <leeward/map.h>

#ifdef LEE_1_TSAN

LEE_1_BEGIN

/* What a search is about, for the comparison that the library is given instead. */
struct lee_1_tsan_key {
	lee_map_equal *equal;
	const void *key;
};

static __attribute__((__unused__)) int lee_1_tsan_equal(const struct lee_map_node *node, const void *argument)
{
	const struct lee_1_tsan_key *asked = (const struct lee_1_tsan_key *)argument;

	__tsan_acquire((void *)node);
	return asked->equal(node, asked->key);
}

/* Returns the node that a call has found; for none, the removals in the map came before. */
LEE_1_INLINE struct lee_map_node *lee_1_tsan_found(struct lee_map *map, struct lee_map_node *node)
{
	__tsan_acquire(node != NULL ? (void *)node : (void *)map);
	return node;
}

LEE_1_INLINE struct lee_map_node *lee_1_tsan_map_find(struct lee_map *map, unsigned long hash, lee_map_equal *equal,
						      const void *key)
{
	struct lee_1_tsan_key asked = { equal, key };

	return lee_1_tsan_found(map, lee_map_find(map, hash, lee_1_tsan_equal, &asked));
}

LEE_1_INLINE struct lee_map_node *lee_1_tsan_map_find_all(struct lee_map *map, unsigned long hash,
							  lee_map_equal *equal, const void *key,
							  struct lee_map_cursor *cursor)
{
	struct lee_1_tsan_key asked = { equal, key };

	return lee_1_tsan_found(map, lee_map_find_all(map, hash, lee_1_tsan_equal, &asked, cursor));
}

LEE_1_INLINE struct lee_map_node *lee_1_tsan_map_next_equal(struct lee_map *map, lee_map_equal *equal,
							    const void *key, struct lee_map_cursor *cursor)
{
	struct lee_1_tsan_key asked = { equal, key };

	return lee_1_tsan_found(map, lee_map_next_equal(map, lee_1_tsan_equal, &asked, cursor));
}

LEE_1_INLINE struct lee_map_node *lee_1_tsan_map_first(struct lee_map *map, struct lee_map_cursor *cursor)
{
	return lee_1_tsan_found(map, lee_map_first(map, cursor));
}

LEE_1_INLINE struct lee_map_node *lee_1_tsan_map_next(struct lee_map *map, struct lee_map_cursor *cursor)
{
	return lee_1_tsan_found(map, lee_map_next(map, cursor));
}

LEE_1_INLINE int lee_1_tsan_map_add(struct lee_map *map, unsigned long hash, struct lee_map_node *node)
{
	__tsan_release(node);
	return lee_map_add(map, hash, node);
}

LEE_1_INLINE int lee_1_tsan_map_add_unique(struct lee_map *map, unsigned long hash, lee_map_equal *equal,
					   const void *key, struct lee_map_node *node, struct lee_map_node **found)
{
	struct lee_1_tsan_key asked = { equal, key };
	int result;

	__tsan_release(node);
	result = lee_map_add_unique(map, hash, lee_1_tsan_equal, &asked, node, found);
	lee_1_tsan_found(map, *found);
	return result;
}

LEE_1_INLINE int lee_1_tsan_map_set(struct lee_map *map, unsigned long hash, lee_map_equal *equal, const void *key,
				    struct lee_map_node *node, struct lee_map_node **replaced)
{
	struct lee_1_tsan_key asked = { equal, key };
	int result;

	__tsan_release(node);
	__tsan_release(map);
	result = lee_map_set(map, hash, lee_1_tsan_equal, &asked, node, replaced);
	lee_1_tsan_found(map, *replaced);
	return result;
}

LEE_1_INLINE int lee_1_tsan_map_replace(struct lee_map *map, struct lee_map_node *old, struct lee_map_node *node)
{
	__tsan_release(node);
	__tsan_release(map);
	return lee_map_replace(map, old, node);
}

LEE_1_INLINE int lee_1_tsan_map_remove(struct lee_map *map, struct lee_map_node *node)
{
	__tsan_release(map);
	return lee_map_remove(map, node);
}

#define lee_map_find(map, hash, equal, key) lee_1_tsan_map_find(map, hash, equal, key)
#define lee_map_find_all(map, hash, equal, key, cursor) lee_1_tsan_map_find_all(map, hash, equal, key, cursor)
#define lee_map_next_equal(map, equal, key, cursor) lee_1_tsan_map_next_equal(map, equal, key, cursor)
#define lee_map_first(map, cursor) lee_1_tsan_map_first(map, cursor)
#define lee_map_next(map, cursor) lee_1_tsan_map_next(map, cursor)
#define lee_map_add(map, hash, node) lee_1_tsan_map_add(map, hash, node)
#define lee_map_add_unique(map, hash, equal, key, node, found) \
	lee_1_tsan_map_add_unique(map, hash, equal, key, node, found)
#define lee_map_set(map, hash, equal, key, node, replaced) lee_1_tsan_map_set(map, hash, equal, key, node, replaced)
#define lee_map_replace(map, old, node) lee_1_tsan_map_replace(map, old, node)
#define lee_map_remove(map, node) lee_1_tsan_map_remove(map, node)

LEE_1_END

#endif

#endif
