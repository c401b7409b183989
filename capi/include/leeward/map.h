/*
 * lee_map_find(3): a hash map of nodes inside the program's objects.
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
 * A map has any number of nodes, each of which lies inside an object of the program's
 * and needs no initialization. Readers take no lock, and wait for nothing, also while
 * the map grows. Writers lock a line of seven nodes: a writer sleeps while another
 * changes the same line, and waits for no reader.
 *
 * A map belongs to a domain of RCU (lee_rcu(7)). Unless it is said otherwise, a
 * function is called inside a read section of the domain, in a domain of QSBR by a
 * thread that is online, and the nodes that it returns may be used until the section
 * ends. A node that was removed or replaced may be freed, or added again, after a
 * grace period.
 *
 * The program computes a `hash` of each key, and gives the same one whenever it names
 * the key. `equal` is called with nodes of that hash alone, without any lock, any
 * number of times, and may use the map.
 *
 * lee_map_add() adds nodes whether or not their key is there. If a key enters by
 * lee_map_add_unique() and lee_map_set() only, a reader meets one node of it at most,
 * and exactly one from its first addition to its removal, also while it is being
 * replaced.
 *
 * A walk goes through the hashes from their lowest bit on, and through the nodes of
 * one hash in the order in which lee_map_add() added them. A node that is in the map
 * throughout is met once, whatever the map's size does meanwhile. Others may be met,
 * or not. The node where a cursor is may be removed or replaced.
 *
 * Memory ordering. What was done before a node was added happens before the return of
 * the call that finds it. What was done before it was removed happens before the
 * return of a call that does not find it any more.
 *
 * Cost. A call that finds touches one cache line of the map, and one of the node. One
 * that changes executes two atomic operations besides. The map has 14 to 29 bytes for
 * a node while it grows. Writers that pass move its nodes to a larger or smaller
 * table, a few lines at a time: there is no thread. lee_domain_defer() frees the old
 * table. Many nodes of one hash are a list, to whose end lee_map_add() walks.
 *
 * Misuse. For the NULL of a pointer that is not said to be optional, the process ends
 * with a line; and for an `equal` that throws or ends its thread.
 *
 * Signals. What finds and walks is async-signal-safe, as `equal` is. What changes the
 * map is not.
 *
 * Fork. The child may use its copy, also if another thread was changing the map.
 *
 * Thread sanitizer. What is compiled with it is told what the map orders.
 *
 * See also lee_memb_read_lock(3), lee_queue_push(3), lee_urcu(7), leeward(7).
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

/* A flag: the map does not change its size but by lee_map_resize(). */
#define LEE_MAP_FIXED 1
/* A flag: the map does not shrink but by lee_map_resize(). */
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
 * Makes a map over a domain, with the sizes that it has at first and keeps within, and
 * with `flags`. It may be called outside of sections. Returns NULL if there is no
 * memory; and, with a line on standard error, for flags or reserved bits that the
 * library does not know.
 */
struct lee_map *lee_map_new_with(struct lee_domain *domain, const struct lee_map_options *options);

/*
 * Makes a map for `initial` nodes, or more, which grows and shrinks by itself. It is
 * called as lee_map_new_with() is. Returns NULL if there is no memory.
 */
LEE_1_INLINE struct lee_map *lee_map_new(struct lee_domain *domain, size_t initial)
{
	struct lee_map_options options = { initial, 0, 0, 0, 0 };

	return lee_map_new_with(domain, &options);
}

/*
 * Frees a map without nodes, which no other thread uses; inside of sections or
 * outside. NULL is no map.
 *
 * EBUSY: the map has nodes, and nothing was done.
 */
int lee_map_free(struct lee_map *map);

/* Finds the first node of a key, wait-free. Returns the node, or NULL if there is none. */
struct lee_map_node *lee_map_find(struct lee_map *map, unsigned long hash, lee_map_equal *equal, const void *key);

/* Goes to the first node of a key. Returns the node, or NULL if there is none. */
struct lee_map_node *lee_map_find_all(struct lee_map *map, unsigned long hash, lee_map_equal *equal, const void *key,
				      struct lee_map_cursor *cursor);

/*
 * Goes to the next node of the key that the cursor's node has. Returns the node, or
 * NULL if there is none.
 */
struct lee_map_node *lee_map_next_equal(struct lee_map *map, lee_map_equal *equal, const void *key,
					struct lee_map_cursor *cursor);

/* Goes to the map's first node. Returns the node, or NULL if there is none. */
struct lee_map_node *lee_map_first(struct lee_map *map, struct lee_map_cursor *cursor);

/* Goes to the next node of the map. Returns the node, or NULL if there is none. */
struct lee_map_node *lee_map_next(struct lee_map *map, struct lee_map_cursor *cursor);

/*
 * Adds a node, whether or not its key is there.
 *
 * ENOMEM: there is no memory, and nothing was changed.
 * EINVAL: the map has the node already, as a line on standard error says, and nothing
 * was changed.
 */
int lee_map_add(struct lee_map *map, unsigned long hash, struct lee_map_node *node);

/*
 * Adds a node, if its key is not there. Then it sets `found` to NULL, else to the node
 * that is there, and no other thread has seen the new one. Errors: ENOMEM.
 *
 * EEXIST: the key is there.
 */
int lee_map_add_unique(struct lee_map *map, unsigned long hash, lee_map_equal *equal, const void *key,
		       struct lee_map_node *node, struct lee_map_node **found);

/*
 * Adds a node, which takes the place of the one of its key if that is there. It sets
 * `replaced` to that one, or to NULL. Errors: ENOMEM, EINVAL.
 */
int lee_map_set(struct lee_map *map, unsigned long hash, lee_map_equal *equal, const void *key,
		struct lee_map_node *node, struct lee_map_node **replaced);

/*
 * Puts a node into the place of another, which was found in this section and has the
 * same hash and key. Errors: EINVAL.
 *
 * ENOENT: the node that was found is NULL, or was removed.
 */
int lee_map_replace(struct lee_map *map, struct lee_map_node *old, struct lee_map_node *node);

/*
 * Removes a node, which was found in this section. Of the callers that remove the same
 * node, one is told 0. Errors: ENOENT.
 */
int lee_map_remove(struct lee_map *map, struct lee_map_node *node);

/*
 * Returns the number of nodes, also outside of sections: exactly, while no thread
 * changes the map. It reads a line for each thread that has changed the map.
 */
size_t lee_map_count(const struct lee_map *map);

/*
 * Moves the nodes to a table for so many `nodes`, within the limits that the map was
 * made with. It is called outside of sections only; readers and writers may be at
 * work, and it does not wait for readers. Writers may change the size again. Errors:
 * ENOMEM.
 */
int lee_map_resize(struct lee_map *map, size_t nodes);

/*
 * Returns true if the node was removed or replaced, or if lee_map_node_init_removed()
 * was called with it and it was not added since. It may be removed as soon as this
 * returns.
 */
bool lee_map_node_is_removed(const struct lee_map_node *node);

/* Lets lee_map_node_is_removed() return true of a node that is in no map, until it is added. */
void lee_map_node_init_removed(struct lee_map_node *node);

/*
 * LEE_MAP_FOR_EACH() loops over all nodes, and LEE_MAP_FOR_EACH_EQUAL() over those of
 * one key. `node_variable` is NULL after the last. The body may remove or replace the
 * node.
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
