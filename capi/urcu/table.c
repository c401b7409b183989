/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * liburcu's hash table, in libleeward-urcu-cds: urcu/rculfhash.h over the map of libleeward, whose
 * nodes and cursors have the same layout. table.symbols lists the functions.
 *
 * A table works over any flavour that it is given as a struct rcu_flavor_struct, of which it uses
 * read_lock, read_unlock and update_call_rcu. The memory of a table that has grown or shrunk is
 * freed by call_rcu(): no function waits for readers, and there is no thread.
 */
#define LEE_1_URCU_TABLE __attribute__((__visibility__("default")))

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <urcu/rculfhash.h>

#include <urcu/uatomic.h>

#include <leeward/map.h>

/* The layouts that programs have compiled in. */
urcu_static_assert(sizeof(struct cds_lfht_node) == sizeof(struct lee_map_node), "cds_lfht_node", cds_lfht_node_size);
urcu_static_assert(sizeof(struct cds_lfht_iter) == sizeof(struct lee_map_cursor), "cds_lfht_iter",
                   cds_lfht_iter_size);
urcu_static_assert(offsetof(struct cds_lfht_iter, next) == sizeof(void *), "cds_lfht_iter.next", cds_lfht_iter_next);
urcu_static_assert(offsetof(struct cds_lfht_node, reverse_hash) == sizeof(void *), "cds_lfht_node.reverse_hash",
                   cds_lfht_node_reverse_hash);
urcu_static_assert(sizeof(struct rcu_head) == sizeof(struct lee_head), "rcu_head", rcu_head_size);

/* How buckets are stored: in lines, whichever is asked for. Four functions in liburcu. */
struct cds_lfht_mm_type {
    void (*unused[4])(void);
};
LEE_1_URCU_TABLE const struct cds_lfht_mm_type cds_lfht_mm_order = {{NULL}};
LEE_1_URCU_TABLE const struct cds_lfht_mm_type cds_lfht_mm_chunk = {{NULL}};
LEE_1_URCU_TABLE const struct cds_lfht_mm_type cds_lfht_mm_mmap = {{NULL}};

/* What a table is made with, besides the map. Kept by the map as its context. */
struct options {
    pthread_attr_t *attr;
    bool is_counted;
};

static struct lee_map *map_of(struct cds_lfht *ht)
{
    return (struct lee_map *)(void *)ht;
}

static struct lee_map_node *node_of(struct cds_lfht_node *node)
{
    return (struct lee_map_node *)(void *)node;
}

static struct lee_map_cursor *cursor_of(struct cds_lfht_iter *iter)
{
    return (struct lee_map_cursor *)(void *)iter;
}

static struct options *options_of(struct cds_lfht *ht)
{
    return (struct options *)lee_1_map_context(map_of(ht));
}

/* The two differ in the type that they have for a node. */
static lee_map_equal *equal_of(cds_lfht_match_fct match)
{
    return (lee_map_equal *)(void (*)(void))match;
}

static void lock(void *flavor)
{
    ((const struct rcu_flavor_struct *)flavor)->read_lock();
}

static void unlock(void *flavor)
{
    ((const struct rcu_flavor_struct *)flavor)->read_unlock();
}

static void defer(void *flavor, struct lee_head *head, void (*func)(struct lee_head *head))
{
    ((const struct rcu_flavor_struct *)flavor)
        ->update_call_rcu((struct rcu_head *)(void *)head, (void (*)(struct rcu_head *))(void (*)(void))func);
}

/* An addition cannot fail in liburcu's interface. */
static void has_memory(int error)
{
    /* The node is in the table: this was said, and the caller cannot be told. */
    if (error == EINVAL)
        abort();
    if (error == ENOMEM) {
        fputs("leeward: a hash table has no memory for another node\n", stderr);
        abort();
    }
}

static bool is_power_of_two(unsigned long number)
{
    return number != 0 && (number & (number - 1)) == 0;
}

LEE_1_URCU_TABLE struct cds_lfht *_cds_lfht_new(unsigned long init_size, unsigned long min_nr_alloc_buckets,
                                                unsigned long max_nr_buckets, int flags,
                                                const struct cds_lfht_mm_type *mm,
                                                const struct rcu_flavor_struct *flavor, pthread_attr_t *attr)
{
    struct lee_map_options sizes = {init_size, min_nr_alloc_buckets, max_nr_buckets, 0, 0};
    struct lee_1_map_rcu rcu = {(void *)(uintptr_t)flavor, lock, unlock, defer};
    struct options *options;
    struct lee_map *map;
    int error = errno;

    (void)mm;
    if (!is_power_of_two(init_size) || !is_power_of_two(min_nr_alloc_buckets) ||
        (max_nr_buckets != 0 && !is_power_of_two(max_nr_buckets)))
        return NULL;
    if (!(flags & CDS_LFHT_AUTO_RESIZE))
        sizes.flags = LEE_MAP_FIXED;
    else if (!(flags & CDS_LFHT_ACCOUNTING))
        sizes.flags = LEE_MAP_KEEPS;
    options = (struct options *)malloc(sizeof(*options));
    errno = error;
    if (!options)
        return NULL;
    options->attr = attr;
    options->is_counted = (flags & CDS_LFHT_ACCOUNTING) != 0;
    map = lee_1_map_new(&sizes, &rcu, options);
    if (!map)
        free(options);
    return (struct cds_lfht *)(void *)map;
}

LEE_1_URCU_TABLE struct cds_lfht *_cds_lfht_new_with_alloc(unsigned long init_size,
                                                           unsigned long min_nr_alloc_buckets,
                                                           unsigned long max_nr_buckets, int flags,
                                                           const struct cds_lfht_mm_type *mm,
                                                           const struct rcu_flavor_struct *flavor,
                                                           const struct cds_lfht_alloc *alloc, pthread_attr_t *attr)
{
    (void)alloc;
    return _cds_lfht_new(init_size, min_nr_alloc_buckets, max_nr_buckets, flags, mm, flavor, attr);
}

LEE_1_URCU_TABLE int cds_lfht_destroy(struct cds_lfht *ht, pthread_attr_t **attr)
{
    struct options *options = options_of(ht);

    if (lee_map_free(map_of(ht)) != 0)
        return -EPERM;
    if (attr)
        *attr = options->attr;
    free(options);
    return 0;
}

LEE_1_URCU_TABLE void cds_lfht_count_nodes(struct cds_lfht *ht, long *split_count_before, unsigned long *count,
                                           long *split_count_after)
{
    bool is_counted = options_of(ht)->is_counted;

    *split_count_before = is_counted ? (long)lee_map_count(map_of(ht)) : 0;
    *count = lee_1_map_walk(map_of(ht));
    *split_count_after = is_counted ? (long)lee_map_count(map_of(ht)) : 0;
}

LEE_1_URCU_TABLE void cds_lfht_lookup(struct cds_lfht *ht, unsigned long hash, cds_lfht_match_fct match,
                                      const void *key, struct cds_lfht_iter *iter)
{
    lee_map_find_all(map_of(ht), hash, equal_of(match), key, cursor_of(iter));
}

LEE_1_URCU_TABLE void cds_lfht_next_duplicate(struct cds_lfht *ht, cds_lfht_match_fct match, const void *key,
                                              struct cds_lfht_iter *iter)
{
    lee_map_next_equal(map_of(ht), equal_of(match), key, cursor_of(iter));
}

LEE_1_URCU_TABLE void cds_lfht_first(struct cds_lfht *ht, struct cds_lfht_iter *iter)
{
    lee_map_first(map_of(ht), cursor_of(iter));
}

LEE_1_URCU_TABLE void cds_lfht_next(struct cds_lfht *ht, struct cds_lfht_iter *iter)
{
    lee_map_next(map_of(ht), cursor_of(iter));
}

/*
 * What changes the map is a full barrier: on x86 it begins and ends with an atomic operation that is
 * one, and elsewhere these two are.
 */
#define BEFORE_CHANGE() cmm_smp_mb__before_uatomic_add()
#define AFTER_CHANGE() cmm_smp_mb__after_uatomic_add()

LEE_1_URCU_TABLE void cds_lfht_add(struct cds_lfht *ht, unsigned long hash, struct cds_lfht_node *node)
{
    BEFORE_CHANGE();
    has_memory(lee_map_add(map_of(ht), hash, node_of(node)));
    AFTER_CHANGE();
}

LEE_1_URCU_TABLE struct cds_lfht_node *cds_lfht_add_unique(struct cds_lfht *ht, unsigned long hash,
                                                           cds_lfht_match_fct match, const void *key,
                                                           struct cds_lfht_node *node)
{
    struct lee_map_node *found;
    int error;

    BEFORE_CHANGE();
    error = lee_map_add_unique(map_of(ht), hash, equal_of(match), key, node_of(node), &found);
    has_memory(error);
    AFTER_CHANGE();
    return error == 0 ? node : (struct cds_lfht_node *)(void *)found;
}

LEE_1_URCU_TABLE struct cds_lfht_node *cds_lfht_add_replace(struct cds_lfht *ht, unsigned long hash,
                                                            cds_lfht_match_fct match, const void *key,
                                                            struct cds_lfht_node *node)
{
    struct lee_map_node *replaced;

    BEFORE_CHANGE();
    has_memory(lee_map_set(map_of(ht), hash, equal_of(match), key, node_of(node), &replaced));
    AFTER_CHANGE();
    return (struct cds_lfht_node *)(void *)replaced;
}

LEE_1_URCU_TABLE int cds_lfht_replace(struct cds_lfht *ht, struct cds_lfht_iter *old_iter, unsigned long hash,
                                      cds_lfht_match_fct match, const void *key, struct cds_lfht_node *new_node)
{
    struct cds_lfht_node *old = old_iter->node;
    int error;

    if (!old)
        return -ENOENT;
    if (!lee_1_map_has_hash(node_of(old), hash) || !match(old, key))
        return -EINVAL;
    BEFORE_CHANGE();
    error = lee_map_replace(map_of(ht), node_of(old), node_of(new_node));
    AFTER_CHANGE();
    return -error;
}

LEE_1_URCU_TABLE int cds_lfht_del(struct cds_lfht *ht, struct cds_lfht_node *node)
{
    int error;

    BEFORE_CHANGE();
    error = lee_map_remove(map_of(ht), node_of(node));
    AFTER_CHANGE();
    return -error;
}

LEE_1_URCU_TABLE int cds_lfht_is_node_deleted(const struct cds_lfht_node *node)
{
    return lee_map_node_is_removed((const struct lee_map_node *)(const void *)node);
}

LEE_1_URCU_TABLE void cds_lfht_node_init_deleted(struct cds_lfht_node *node)
{
    lee_map_node_init_removed(node_of(node));
}

LEE_1_URCU_TABLE void cds_lfht_resize(struct cds_lfht *ht, unsigned long new_size)
{
    /* Without memory it keeps the size that it has. */
    (void)lee_map_resize(map_of(ht), new_size);
}
