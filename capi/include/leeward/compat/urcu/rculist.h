/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/rculist.h, leeward's: changes to the lists of urcu/list.h beside readers. Writers exclude
 * each other; readers are in sections, and walk forwards only. An element that was unlinked keeps
 * its link to the next one for the readers on it, and is freed or linked again after a grace
 * period.
 */
#ifndef LEEWARD_COMPAT_URCU_RCULIST_H
#define LEEWARD_COMPAT_URCU_RCULIST_H

#include "list.h"
#include "pointer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Links newp between two neighbours: the link that readers follow last. */
static inline void lee_1_urcu_list_add_rcu(struct cds_list_head *newp, struct cds_list_head *prev,
                                           struct cds_list_head *next)
{
    newp->next = next;
    newp->prev = prev;
    next->prev = newp;
    /* Release: partner of the consume in the loops below. They see newp's links and its element. */
    rcu_assign_pointer(prev->next, newp);
}

/* Links newp behind the head. */
static inline void cds_list_add_rcu(struct cds_list_head *newp, struct cds_list_head *head)
{
    lee_1_urcu_list_add_rcu(newp, head, head->next);
}

/* Links newp before the head, as the last element. */
static inline void cds_list_add_tail_rcu(struct cds_list_head *newp, struct cds_list_head *head)
{
    lee_1_urcu_list_add_rcu(newp, head->prev, head);
}

/* Puts _new into the place of old. A reader meets one of the two. */
static inline void cds_list_replace_rcu(struct cds_list_head *old, struct cds_list_head *_new)
{
    lee_1_urcu_list_add_rcu(_new, old->prev, old->next);
}

/* Unlinks elem. */
static inline void cds_list_del_rcu(struct cds_list_head *elem)
{
    elem->next->prev = elem->prev;
    /* Release: as liburcu's. What was done to the next element before is seen with the link. */
    rcu_assign_pointer(elem->prev->next, elem->next);
}

#ifdef __cplusplus
}
#endif

/* The loops of readers: over links and over elements. */
#define cds_list_for_each_rcu(pos, head) \
    for ((pos) = rcu_dereference((head)->next); (pos) != (head); (pos) = rcu_dereference((pos)->next))
#define cds_list_for_each_entry_rcu(pos, head, member)                                  \
    for ((pos) = LEE_1_URCU_ENTRY(rcu_dereference((head)->next), pos, member);          \
         &(pos)->member != (head);                                                      \
         (pos) = LEE_1_URCU_ENTRY(rcu_dereference((pos)->member.next), pos, member))

#endif
