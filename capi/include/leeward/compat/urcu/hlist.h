/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/hlist.h, leeward's: lists whose head is one pointer, for the buckets of hash tables. They
 * end by NULL, and are linked both ways but for the head, which only knows its first element. The
 * caller excludes everyone else (urcu/rcuhlist.h has what readers may look at meanwhile).
 */
#ifndef LEEWARD_COMPAT_URCU_HLIST_H
#define LEEWARD_COMPAT_URCU_HLIST_H

#include "compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cds_hlist_node;

/* A list. Zeroed memory is an empty one. */
struct cds_hlist_head {
    struct cds_hlist_node *next;
};

/* The links of an element. The first one's prev is the address of the head. */
struct cds_hlist_node {
    struct cds_hlist_node *next;
    struct cds_hlist_node *prev;
};

/* An empty list: its definition, its initialiser, and at run time. */
#define CDS_HLIST_HEAD_INIT(name) { NULL }
#define CDS_HLIST_HEAD(name) struct cds_hlist_head name = CDS_HLIST_HEAD_INIT(name)
static inline void CDS_INIT_HLIST_HEAD(struct cds_hlist_head *head)
{
    head->next = NULL;
}

/*
 * The link of what prev points to, a node or a head: both begin with it. The pointer is named by
 * its own type, so that the compiler does not take the two structures for different memory.
 */
static inline struct cds_hlist_node **lee_1_urcu_hlist_link(struct cds_hlist_node *prev)
{
    return (struct cds_hlist_node **)(void *)prev;
}

/* Makes newp's links those of a first element, and its successor's those of a second. */
static inline void lee_1_urcu_hlist_prepare(struct cds_hlist_node *newp, struct cds_hlist_head *head)
{
    newp->next = head->next;
    newp->prev = (struct cds_hlist_node *)(void *)head;
    if (head->next)
        head->next->prev = newp;
}

/* Links newp as the first element. */
static inline void cds_hlist_add_head(struct cds_hlist_node *newp, struct cds_hlist_head *head)
{
    lee_1_urcu_hlist_prepare(newp, head);
    head->next = newp;
}

/* Unlinks elem, and leaves its own links as they are. */
static inline void cds_hlist_del(struct cds_hlist_node *elem)
{
    if (elem->next)
        elem->next->prev = elem->prev;
    *lee_1_urcu_hlist_link(elem->prev) = elem->next;
}

#ifdef __cplusplus
}
#endif

/* The element of `type` whose `member` is at ptr. The safe form gives NULL for NULL. */
#define cds_hlist_entry(ptr, type, member) caa_container_of(ptr, type, member)
#define cds_hlist_entry_safe(ptr, type, member) caa_container_of_check_null(ptr, type, member)

/* The element at a link that may be NULL, as entry's type. */
#define LEE_1_URCU_HLIST_ENTRY(link, entry, member) cds_hlist_entry_safe(link, __typeof__(*(entry)), member)

/* The loops over links. In the safe one the body may unlink and free pos. */
#define cds_hlist_for_each(pos, head) for ((pos) = (head)->next; (pos) != NULL; (pos) = (pos)->next)
#define cds_hlist_for_each_safe(pos, p, head) \
    for ((pos) = (head)->next; (pos) != NULL && ((p) = (pos)->next, 1); (pos) = (p))

/* The loops over elements that also take a link as their position; p is a link too. */
#define cds_hlist_for_each_entry(entry, pos, head, member)                            \
    for ((pos) = (head)->next;                                                        \
         (pos) != NULL && ((entry) = LEE_1_URCU_HLIST_ENTRY(pos, entry, member), 1); \
         (pos) = (pos)->next)
#define cds_hlist_for_each_entry_safe(entry, pos, p, head, member)                                        \
    for ((pos) = (head)->next;                                                                            \
         (pos) != NULL && ((p) = (pos)->next, (entry) = LEE_1_URCU_HLIST_ENTRY(pos, entry, member), 1); \
         (pos) = (p))

/* The loops over elements alone; e is one too. After a loop that ran to its end entry is NULL. */
#define cds_hlist_for_each_entry_2(entry, head, member)                                     \
    for ((entry) = LEE_1_URCU_HLIST_ENTRY((head)->next, entry, member); (entry) != NULL; \
         (entry) = LEE_1_URCU_HLIST_ENTRY((entry)->member.next, entry, member))
#define cds_hlist_for_each_entry_safe_2(entry, e, head, member)                                           \
    for ((entry) = LEE_1_URCU_HLIST_ENTRY((head)->next, entry, member);                                   \
         (entry) != NULL && ((e) = LEE_1_URCU_HLIST_ENTRY((entry)->member.next, entry, member), 1); \
         (entry) = (e))

#endif
