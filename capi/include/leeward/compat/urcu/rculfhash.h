/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/rculfhash.h, leeward's: liburcu's hash table, over the flavour that it is given. Include a
 * flavour's header before it. Programs link -lleeward-urcu-cds beside the flavour.
 *
 * Unless a comment says otherwise, a function is called in a section, by a registered thread. A
 * node that was removed or replaced may be freed, or added again, after a grace period. What
 * changes the table is a full barrier where it succeeds.
 *
 * The table is the map of leeward/map.h. It differs from liburcu's in that
 * - it has no thread: the writers that come by move nodes to a larger or smaller table, and no call
 *   waits for readers;
 * - a writer may sleep while another changes a node in the same cache line of the table, so what
 *   changes the table is not for signal handlers;
 * - a size is a number of nodes. One that is no power of two is taken for the next greater one in
 *   cds_lfht_resize(), where liburcu's does not return;
 * - there is one way to store the table, whatever `mm` says, and memory comes from the library's
 *   allocator, whatever `alloc` says.
 * The process aborts where there is no memory for an addition.
 */
#ifndef LEEWARD_COMPAT_URCU_RCULFHASH_H
#define LEEWARD_COMPAT_URCU_RCULFHASH_H

#include <pthread.h>
#include <stddef.h>

#include "call-rcu.h"
#include "compiler.h"
#include "flavor.h"
#include "pointer.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cds_lfht;

/* The link of an element. The table keeps a flag in `next`. */
struct cds_lfht_node {
    struct cds_lfht_node *next;
    unsigned long reverse_hash; /* the hash, as it was given */
} __attribute__((__aligned__(8)));

/* A place in a table, valid within one section; `node` is NULL at the end. */
struct cds_lfht_iter {
    struct cds_lfht_node *node, *next;
#ifdef CONFIG_CDS_LFHT_ITER_DEBUG
    struct cds_lfht *lfht;
#endif
};

/* How liburcu's table stores its buckets. Any of them may be named. */
struct cds_lfht_mm_type;
extern const struct cds_lfht_mm_type cds_lfht_mm_order, cds_lfht_mm_chunk, cds_lfht_mm_mmap;

/* Allocators of a program's own, which may be named. */
struct cds_lfht_alloc {
    void *(*malloc)(void *state, size_t size);
    void *(*calloc)(void *state, size_t nmemb, size_t size);
    void *(*realloc)(void *state, void *ptr, size_t size);
    void *(*aligned_alloc)(void *state, size_t alignment, size_t size);
    void (*free)(void *state, void *ptr);
    void *state;
};

/*
 * Flags of a table: it grows by itself; it shrinks as well, where it grows, and counts its nodes in
 * cds_lfht_count_nodes().
 */
enum { CDS_LFHT_AUTO_RESIZE = 1U << 0, CDS_LFHT_ACCOUNTING = 1U << 1 };

/* Returns non-zero if the node has that key. Is asked only about nodes of the key's hash. */
typedef int (*cds_lfht_match_fct)(struct cds_lfht_node *node, const void *key);

/*
 * Makes a table over a flavour, outside of sections too. The sizes are powers of two, of which the
 * greatest may be 0 for none; NULL is returned if they are not, or if there is no memory. `mm` may be
 * NULL. `attr` is kept for cds_lfht_destroy().
 */
struct cds_lfht *_cds_lfht_new(unsigned long init_size, unsigned long min_nr_alloc_buckets,
                               unsigned long max_nr_buckets, int flags, const struct cds_lfht_mm_type *mm,
                               const struct rcu_flavor_struct *flavor, pthread_attr_t *attr);
struct cds_lfht *_cds_lfht_new_with_alloc(unsigned long init_size, unsigned long min_nr_alloc_buckets,
                                          unsigned long max_nr_buckets, int flags, const struct cds_lfht_mm_type *mm,
                                          const struct rcu_flavor_struct *flavor, const struct cds_lfht_alloc *alloc,
                                          pthread_attr_t *attr);

/*
 * Ends a table, outside of sections too. Returns 0, and the attributes that it was made with in
 * `attr` unless that is NULL; or -EPERM, and does nothing, if the table has nodes.
 */
int cds_lfht_destroy(struct cds_lfht *ht, pthread_attr_t **attr);

/* Walks the table and counts; the other two are what accounting estimates. */
void cds_lfht_count_nodes(struct cds_lfht *ht, long *split_count_before, unsigned long *count,
                          long *split_count_after);

/* Goes to the first node of that key, and from there to the next one of the same key. */
void cds_lfht_lookup(struct cds_lfht *ht, unsigned long hash, cds_lfht_match_fct match, const void *key,
                     struct cds_lfht_iter *iter);
void cds_lfht_next_duplicate(struct cds_lfht *ht, cds_lfht_match_fct match, const void *key,
                             struct cds_lfht_iter *iter);

/* Goes to the table's first node, and from there to its next one. */
void cds_lfht_first(struct cds_lfht *ht, struct cds_lfht_iter *iter);
void cds_lfht_next(struct cds_lfht *ht, struct cds_lfht_iter *iter);

/* Adds a node, whether or not there is one of its key. */
void cds_lfht_add(struct cds_lfht *ht, unsigned long hash, struct cds_lfht_node *node);

/* Adds a node and returns it; or returns the one of that key that is there already. */
struct cds_lfht_node *cds_lfht_add_unique(struct cds_lfht *ht, unsigned long hash, cds_lfht_match_fct match,
                                          const void *key, struct cds_lfht_node *node);

/* Adds a node, and returns the one of that key that it replaced, or NULL. */
struct cds_lfht_node *cds_lfht_add_replace(struct cds_lfht *ht, unsigned long hash, cds_lfht_match_fct match,
                                           const void *key, struct cds_lfht_node *node);

/*
 * Replaces the iterator's node by another one of its hash and key. Returns 0; -ENOENT if the node
 * was removed; -EINVAL if hash or key differ.
 */
int cds_lfht_replace(struct cds_lfht *ht, struct cds_lfht_iter *old_iter, unsigned long hash,
                     cds_lfht_match_fct match, const void *key, struct cds_lfht_node *new_node);

/* Removes a node. Returns 0 to one caller, and -ENOENT to others or if it is NULL. */
int cds_lfht_del(struct cds_lfht *ht, struct cds_lfht_node *node);

/* Returns non-zero if a node was removed. */
int cds_lfht_is_node_deleted(const struct cds_lfht_node *node);

/* Has a node that is in no table count as removed, until it is added. Not necessarily in a section. */
void cds_lfht_node_init_deleted(struct cds_lfht_node *node);

/* Resizes the table, within its bounds. Not in a section. */
void cds_lfht_resize(struct cds_lfht *ht, unsigned long new_size);

/* Makes a table, as above, with the storage that the library chooses. */
static inline struct cds_lfht *cds_lfht_new_flavor(unsigned long init_size, unsigned long min_nr_alloc_buckets,
                                                   unsigned long max_nr_buckets, int flags,
                                                   const struct rcu_flavor_struct *flavor, pthread_attr_t *attr)
{
    return _cds_lfht_new(init_size, min_nr_alloc_buckets, max_nr_buckets, flags, NULL, flavor, attr);
}

/* Makes a table with an allocator, which is not asked. */
static inline struct cds_lfht *
cds_lfht_new_with_flavor_alloc(unsigned long init_size, unsigned long min_nr_alloc_buckets,
                               unsigned long max_nr_buckets, int flags, const struct rcu_flavor_struct *flavor,
                               const struct cds_lfht_alloc *alloc, pthread_attr_t *attr)
{
    return _cds_lfht_new_with_alloc(init_size, min_nr_alloc_buckets, max_nr_buckets, flags, NULL, flavor, alloc,
                                    attr);
}

/* Nodes need no initialisation. */
static inline void cds_lfht_node_init(struct cds_lfht_node *node)
{
    (void)node;
}

/* Returns the node where the iterator is, or NULL. */
static inline struct cds_lfht_node *cds_lfht_iter_get_node(const struct cds_lfht_iter *iter)
{
    return iter->node;
}

#ifdef __cplusplus
}
#endif

/* The element of `type` whose `member` is at ptr; NULL for NULL. */
#define cds_lfht_entry(ptr, type, member) caa_container_of_check_null(ptr, type, member)

/* The element where the iterator is, as pos's type. */
#define LEE_1_URCU_LFHT_ENTRY(iter, pos, member) \
    cds_lfht_entry(cds_lfht_iter_get_node(iter), __typeof__(*(pos)), member)

/*
 * The loops over a table or over the nodes of one key, by node and by element. The body may remove
 * or replace the node. `iter` points to an iterator; node and pos are NULL after the last.
 */
#define cds_lfht_for_each(ht, iter, node)                                            \
    for (cds_lfht_first(ht, iter), (node) = cds_lfht_iter_get_node(iter); (node); \
         cds_lfht_next(ht, iter), (node) = cds_lfht_iter_get_node(iter))
#define cds_lfht_for_each_duplicate(ht, hash, match, key, iter, node)                                   \
    for (cds_lfht_lookup(ht, hash, match, key, iter), (node) = cds_lfht_iter_get_node(iter); (node); \
         cds_lfht_next_duplicate(ht, match, key, iter), (node) = cds_lfht_iter_get_node(iter))
#define cds_lfht_for_each_entry(ht, iter, pos, member)                                        \
    for (cds_lfht_first(ht, iter), (pos) = LEE_1_URCU_LFHT_ENTRY(iter, pos, member); (pos); \
         cds_lfht_next(ht, iter), (pos) = LEE_1_URCU_LFHT_ENTRY(iter, pos, member))
#define cds_lfht_for_each_entry_duplicate(ht, hash, match, key, iter, pos, member)                           \
    for (cds_lfht_lookup(ht, hash, match, key, iter), (pos) = LEE_1_URCU_LFHT_ENTRY(iter, pos, member); (pos); \
         cds_lfht_next_duplicate(ht, match, key, iter), (pos) = LEE_1_URCU_LFHT_ENTRY(iter, pos, member))

#endif

/* Over the flavour that has the short names, of those of a source the first that was included. */
#if defined(URCU_API_MAP) && !defined(LEEWARD_COMPAT_URCU_RCULFHASH_NEW)
#define LEEWARD_COMPAT_URCU_RCULFHASH_NEW

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a table over the flavour, with the storage that the library chooses. */
static inline struct cds_lfht *cds_lfht_new(unsigned long init_size, unsigned long min_nr_alloc_buckets,
                                            unsigned long max_nr_buckets, int flags, pthread_attr_t *attr)
{
    return cds_lfht_new_flavor(init_size, min_nr_alloc_buckets, max_nr_buckets, flags, &rcu_flavor, attr);
}

#ifdef __cplusplus
}
#endif

#endif
