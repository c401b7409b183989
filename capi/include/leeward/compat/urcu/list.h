/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/list.h, leeward's: circular lists, linked both ways, whose links are members of what they
 * link. A head is a node too. The caller excludes everyone else (urcu/rculist.h has what readers
 * may look at meanwhile). All of it is inlined; the macros evaluate a head or a position once an
 * element.
 */
#ifndef LEEWARD_COMPAT_URCU_LIST_H
#define LEEWARD_COMPAT_URCU_LIST_H

#include "compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A head, or the links of an element. */
struct cds_list_head {
    struct cds_list_head *next, *prev;
};

/* An empty list: its definition, its initialiser, and at run time. */
#define CDS_LIST_HEAD_INIT(name) { &(name), &(name) }
#define CDS_LIST_HEAD(name) struct cds_list_head name = CDS_LIST_HEAD_INIT(name)
/* (The last of any type that has both links, as some programs' own lists have.) */
#define CDS_INIT_LIST_HEAD(ptr)                         \
    __extension__({                                     \
        __typeof__((ptr) + 0) lee_1_urcu_head = (ptr);  \
        lee_1_urcu_head->next = lee_1_urcu_head;        \
        lee_1_urcu_head->prev = lee_1_urcu_head;        \
        (void)0;                                        \
    })

static inline void lee_1_urcu_list_init(struct cds_list_head *head)
{
    head->next = head;
    head->prev = head;
}

static inline void lee_1_urcu_list_join(struct cds_list_head *prev, struct cds_list_head *next)
{
    next->prev = prev;
    prev->next = next;
}

/* Makes prev and next neighbours: unlinks what is between them. */
static inline void __cds_list_del(struct cds_list_head *prev, struct cds_list_head *next)
{
    lee_1_urcu_list_join(prev, next);
}

/* Links newp behind the head. */
static inline void cds_list_add(struct cds_list_head *newp, struct cds_list_head *head)
{
    lee_1_urcu_list_join(newp, head->next);
    lee_1_urcu_list_join(head, newp);
}

/* Links newp before the head, as the last element. */
static inline void cds_list_add_tail(struct cds_list_head *newp, struct cds_list_head *head)
{
    cds_list_add(newp, head->prev);
}

/* Unlinks elem, and leaves its own links as they are. */
static inline void cds_list_del(struct cds_list_head *elem)
{
    lee_1_urcu_list_join(elem->prev, elem->next);
}

/* Unlinks elem and makes it an empty list. */
static inline void cds_list_del_init(struct cds_list_head *elem)
{
    cds_list_del(elem);
    lee_1_urcu_list_init(elem);
}

/* Unlinks elem, and links it behind the head. */
static inline void cds_list_move(struct cds_list_head *elem, struct cds_list_head *head)
{
    cds_list_del(elem);
    cds_list_add(elem, head);
}

/*
 * Puts _new into the place of old, whose own links are stale then. Where old was an empty list,
 * old->prev is _new by the time it is read, and _new becomes an empty one.
 */
static inline void cds_list_replace(struct cds_list_head *old, struct cds_list_head *_new)
{
    lee_1_urcu_list_join(_new, old->next);
    lee_1_urcu_list_join(old->prev, _new);
}

/* Puts _new into the place of old, and makes old an empty list. */
static inline void cds_list_replace_init(struct cds_list_head *old, struct cds_list_head *_new)
{
    cds_list_replace(old, _new);
    lee_1_urcu_list_init(old);
}

/* Puts the elements of the list `add` behind the head. `add` itself stays as it is. */
static inline void cds_list_splice(struct cds_list_head *add, struct cds_list_head *head)
{
    struct cds_list_head *first = add->next, *last = add->prev;

    if (first == add)
        return;
    lee_1_urcu_list_join(last, head->next);
    lee_1_urcu_list_join(head, first);
}

/* Returns non-zero if the list has no element. Readers of a list under RCU may ask too. */
static inline int cds_list_empty(const struct cds_list_head *head)
{
    /* Relaxed: the answer says nothing about an element. */
    return __atomic_load_n(&head->next, __ATOMIC_RELAXED) == head;
}

#ifdef __cplusplus
}
#endif

/* The element of `type` whose `member` is at ptr; the first of a list that has one. */
#define cds_list_entry(ptr, type, member) caa_container_of(ptr, type, member)
#define cds_list_first_entry(ptr, type, member) cds_list_entry((ptr)->next, type, member)

/* The loops over links, in both directions. In the safe ones the body may unlink and free pos. */
#define cds_list_for_each(pos, head) for ((pos) = (head)->next; (pos) != (head); (pos) = (pos)->next)
#define cds_list_for_each_safe(pos, p, head) \
    for ((pos) = (head)->next, (p) = (pos)->next; (pos) != (head); (pos) = (p), (p) = (pos)->next)
#define cds_list_for_each_prev(pos, head) for ((pos) = (head)->prev; (pos) != (head); (pos) = (pos)->prev)
#define cds_list_for_each_prev_safe(pos, p, head) \
    for ((pos) = (head)->prev, (p) = (pos)->prev; (pos) != (head); (pos) = (p), (p) = (pos)->prev)

/* The element after and before pos, and the head's first and last, as pos's type. */
#define LEE_1_URCU_ENTRY(link, pos, member) cds_list_entry(link, __typeof__(*(pos)), member)

/*
 * The loops over elements: forwards, backwards, and with p holding the next one, so that the body
 * may unlink and free pos. The last begins at pos instead of the first element. After a loop that
 * ran to its end pos points to no element.
 */
#define cds_list_for_each_entry(pos, head, member)                                               \
    for ((pos) = LEE_1_URCU_ENTRY((head)->next, pos, member); &(pos)->member != (head); \
         (pos) = LEE_1_URCU_ENTRY((pos)->member.next, pos, member))
#define cds_list_for_each_entry_reverse(pos, head, member)                                       \
    for ((pos) = LEE_1_URCU_ENTRY((head)->prev, pos, member); &(pos)->member != (head); \
         (pos) = LEE_1_URCU_ENTRY((pos)->member.prev, pos, member))
#define cds_list_for_each_entry_safe(pos, p, head, member)         \
    for ((pos) = LEE_1_URCU_ENTRY((head)->next, pos, member),      \
        (p) = LEE_1_URCU_ENTRY((pos)->member.next, pos, member);   \
         &(pos)->member != (head);                                 \
         (pos) = (p), (p) = LEE_1_URCU_ENTRY((pos)->member.next, pos, member))
#define cds_list_for_each_entry_safe_from(pos, p, head, member)                                        \
    for ((p) = LEE_1_URCU_ENTRY((pos)->member.next, pos, member); &(pos)->member != (head); \
         (pos) = (p), (p) = LEE_1_URCU_ENTRY((pos)->member.next, pos, member))

#endif
