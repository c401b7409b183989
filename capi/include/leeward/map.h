/*
 * A hash map of nodes inside the program's objects. Readers take no lock, and wait for
 * nobody, also while the map grows; writers lock a line of seven nodes.
 *
 *     struct session { struct lee_map_node node; struct lee_head head; uint32_t id; };
 *     static struct lee_map *sessions;
 *
 *     static int has_id(const struct lee_map_node *node, const void *id)
 *     {
 *             return LEE_OBJECT(node, const struct session, node)->id == *(const uint32_t *)id;
 *     }
 *
 *     sessions = lee_map_new(&lee_memb, 1000);
 *
 *     // A reader.
 *     lee_memb_read_lock();
 *     struct lee_map_node *node = lee_map_find(sessions, hash(id), has_id, &id);
 *     if (node != NULL)
 *             use(LEE_OBJECT(node, struct session, node));
 *     lee_memb_read_unlock();
 *
 *     // A writer: of two that remove the same node, one is told so, and frees it.
 *     lee_memb_read_lock();
 *     node = lee_map_find(sessions, hash(id), has_id, &id);
 *     if (lee_map_remove(sessions, node) == 0)
 *             lee_memb_defer(&LEE_OBJECT(node, struct session, node)->head, free_session);
 *     lee_memb_read_unlock();
 *
 * Sections. Unless a comment says otherwise, a function is called inside a read
 * section of the map's domain (<leeward/rcu.h>), in a domain of QSBR by a thread that
 * is online; and the nodes that it returns may be used until the section ends. A node
 * that was removed or replaced may be freed, or added again, after a grace period.
 *
 * Keys. The program computes a hash of each key, and gives the same one whenever it
 * names the key. A function that compares is called with nodes of that hash alone,
 * without any lock, any number of times; it may use the map.
 *
 * Several nodes of one key. lee_map_add() adds nodes whether or not their key is
 * there. If a key enters by lee_map_add_unique() and lee_map_set() only, no reader
 * ever meets two nodes of it, and between its first addition and its removal every
 * reader finds exactly one, while it is being replaced too.
 *
 * Order of a walk: hashes from their lowest bit on, and nodes of one hash in the
 * order in which lee_map_add() added them. A node that is in the map throughout is met
 * once, whatever the map's size does meanwhile. Others may be met, or not. The node
 * where a cursor is may be removed or replaced.
 *
 * Memory ordering. What was done before a node was added happens before the return of
 * the call that finds it; what was done before it was removed, before the return of a
 * call that does not find it any more.
 *
 * Cost. A call that finds: one cache line of the map, and one of the node. One that
 * changes: two atomic operations besides. The map has 14 to 29 bytes for a node while
 * it grows, and moves its nodes to a larger or smaller table a few lines at a time, by
 * the writers that come by: there is no thread. lee_domain_defer() frees the old table.
 * Many nodes of one hash are a list, to whose end lee_map_add() walks.
 *
 * NULL. For the NULL of a pointer that is not said to be optional, the process ends
 * with a line; and for a comparison that throws or ends its thread.
 *
 * Waiting. Readers wait for nothing. A writer sleeps while another changes the same
 * line; neither waits for readers.
 *
 * Fork. The child may use the map, also if another thread was changing it. Signals.
 * In a handler, what finds and walks may be called; what changes may not. Cancellation:
 * no call is a cancellation point. errno is changed by no call.
 */
#ifndef LEEWARD_MAP_H
#define LEEWARD_MAP_H

#include <errno.h>

#include <leeward/node.h>
#include <leeward/rcu.h>

LEE_1_BEGIN

/* A place in one map, inside the program's object. Needs no initialization. */
struct lee_map_node {
	struct lee_map_node *lee_1_next;
	unsigned long lee_1_hash;
} __attribute__((__aligned__(8)));
LEE_1_ASSERT(sizeof(struct lee_map_node) == 2 * sizeof(void *), "the node is a part of the binary interface");

/* A place in a walk, valid in one section. `node` is NULL at its end. */
struct lee_map_cursor {
	struct lee_map_node *node, *lee_1_next;
};

/* A map. */
struct lee_map;

/* Returns non-zero if the node has that key. */
typedef int lee_map_equal(const struct lee_map_node *node, const void *key);

/* The map does not change its size but by lee_map_resize(). */
#define LEE_MAP_FIXED 1
/* The map does not shrink but by lee_map_resize(). */
#define LEE_MAP_KEEPS 2

/* The sizes of a map, in nodes. They are rounded up to 4, 8, 16, and so on. */
struct lee_map_options {
	size_t initial; /* that it has room for at first */
	size_t least;   /* that it keeps room for */
	size_t most;    /* that it grows for; 0: any number. More nodes find room, and are found slowly. */
	uint32_t flags;
	uint32_t reserved; /* 0 */
};

/*
 * Makes a map over a domain, which may be called outside of sections. Returns NULL if
 * there is no memory; and, with a line on standard error, for flags or reserved bits
 * that the library does not know.
 */
struct lee_map *lee_map_new_with(struct lee_domain *domain, const struct lee_map_options *options);

/* Makes a map for so many nodes, or more: it grows and shrinks by itself. Otherwise as lee_map_new_with(). */
LEE_1_INLINE struct lee_map *lee_map_new(struct lee_domain *domain, size_t initial)
{
	struct lee_map_options options = { initial, 0, 0, 0, 0 };

	return lee_map_new_with(domain, &options);
}

/*
 * Frees a map, which no other thread uses; inside of sections or outside. NULL is no
 * map. Errors: EBUSY, it has nodes, and nothing was done.
 */
int lee_map_free(struct lee_map *map);

/* Returns the first node of a key, or NULL. Wait-free, and async-signal-safe, as `equal` is. */
struct lee_map_node *lee_map_find(struct lee_map *map, unsigned long hash, lee_map_equal *equal, const void *key);

/* Goes to the first node of a key, and returns it or NULL. Otherwise as lee_map_find(). */
struct lee_map_node *lee_map_find_all(struct lee_map *map, unsigned long hash, lee_map_equal *equal, const void *key,
				      struct lee_map_cursor *cursor);

/* Goes to the next node of the key that the cursor's node has, and returns it or NULL. As lee_map_find(). */
struct lee_map_node *lee_map_next_equal(struct lee_map *map, lee_map_equal *equal, const void *key,
					struct lee_map_cursor *cursor);

/* Goes to the map's first node, and returns it or NULL. Async-signal-safe. */
struct lee_map_node *lee_map_first(struct lee_map *map, struct lee_map_cursor *cursor);

/* Goes to the next node of the map, and returns it or NULL. Async-signal-safe. */
struct lee_map_node *lee_map_next(struct lee_map *map, struct lee_map_cursor *cursor);

/* Adds a node, whether or not its key is there. Errors: ENOMEM, and nothing was changed. */
int lee_map_add(struct lee_map *map, unsigned long hash, struct lee_map_node *node);

/*
 * Adds a node, if its key is not there. Errors: EEXIST, it is, `found` is set to its
 * node, and no other thread has seen the new one; ENOMEM. Otherwise `found` is NULL.
 */
int lee_map_add_unique(struct lee_map *map, unsigned long hash, lee_map_equal *equal, const void *key,
		       struct lee_map_node *node, struct lee_map_node **found);

/*
 * Adds a node, which takes the place of the one of its key if that is there. Sets
 * `replaced` to that one, or to NULL. Errors: ENOMEM, and nothing was changed.
 */
int lee_map_set(struct lee_map *map, unsigned long hash, lee_map_equal *equal, const void *key,
		struct lee_map_node *node, struct lee_map_node **replaced);

/*
 * Puts a node into the place of another, which was found in this section and has the
 * same hash and key. Errors: ENOENT, the other is NULL or was removed.
 */
int lee_map_replace(struct lee_map *map, struct lee_map_node *old, struct lee_map_node *node);

/*
 * Removes a node, which was found in this section. Returns 0 to one caller. Errors:
 * ENOENT, it is NULL or was removed.
 */
int lee_map_remove(struct lee_map *map, struct lee_map_node *node);

/*
 * Returns the number of nodes, also outside of sections: exactly, while no thread
 * changes the map. Cost: a line for each thread that has changed it.
 */
size_t lee_map_count(const struct lee_map *map);

/*
 * Moves the nodes to a table for so many, within the limits that the map was made
 * with. Outside of sections only; readers and writers may be at work. Writers may change
 * the size again. Does not wait for readers. Errors: ENOMEM, it has another size.
 */
int lee_map_resize(struct lee_map *map, size_t nodes);

/*
 * Returns true if the node was removed or replaced, or is one that
 * lee_map_node_init_removed() was called with. It may be removed as soon as this returns.
 */
bool lee_map_node_is_removed(const struct lee_map_node *node);

/* Lets lee_map_node_is_removed() return true of a node that is in no map, until it is added. */
void lee_map_node_init_removed(struct lee_map_node *node);

/*
 * Loops over all nodes, and over those of one key. `node` is NULL after the last. The
 * body may remove or replace the node.
 */
#define LEE_MAP_FOR_EACH(map, cursor, node_variable)                             \
	for ((node_variable) = lee_map_first(map, cursor); (node_variable) != NULL; \
	     (node_variable) = lee_map_next(map, cursor))
#define LEE_MAP_FOR_EACH_EQUAL(map, hash, equal, key, cursor, node_variable)                               \
	for ((node_variable) = lee_map_find_all(map, hash, equal, key, cursor); (node_variable) != NULL; \
	     (node_variable) = lee_map_next_equal(map, equal, key, cursor))

/* An RCU as functions, each of which is given `domain`. (For the library of liburcu's table.) */
struct lee_1_map_rcu {
	void *domain;
	void (*read_lock)(void *domain);
	void (*read_unlock)(void *domain);
	void (*defer)(void *domain, struct lee_head *head, void (*func)(struct lee_head *head));
};

struct lee_map *lee_1_map_new(const struct lee_map_options *options, const struct lee_1_map_rcu *rcu, void *context);
void *lee_1_map_context(const struct lee_map *map);
size_t lee_1_map_walk(const struct lee_map *map);
bool lee_1_map_has_hash(const struct lee_map_node *node, unsigned long hash);

LEE_1_END

/* What programs are told that are built with the thread sanitizer. */
#ifdef LEE_1_TSAN
#include <leeward/map_tsan.h>
#endif

#endif
