/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/rcuhlist.h, leeward's: changes to the lists of urcu/hlist.h beside readers. Writers exclude
 * each other; readers are in sections. An element that was unlinked keeps its link to the next one
 * for the readers on it, and is freed or linked again after a grace period.
 */
#ifndef LEEWARD_COMPAT_URCU_RCUHLIST_H
#define LEEWARD_COMPAT_URCU_RCUHLIST_H

#include "hlist.h"
#include "pointer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Links newp as the first element. */
static inline void cds_hlist_add_head_rcu(struct cds_hlist_node *newp, struct cds_hlist_head *head)
{
    lee_1_urcu_hlist_prepare(newp, head);
    /* Release: partner of the consume in the loops below. They see newp's links and its element. */
    rcu_assign_pointer(head->next, newp);
}

/* Unlinks elem. */
static inline void cds_hlist_del_rcu(struct cds_hlist_node *elem)
{
    if (elem->next)
        elem->next->prev = elem->prev;
    /* Release: as liburcu's. What was done to the next element before is seen with the link. */
    rcu_set_pointer(lee_1_urcu_hlist_link(elem->prev), elem->next);
}

#ifdef __cplusplus
}
#endif

/* The loops of readers: over links, over elements beside a link, and over elements alone. */
#define cds_hlist_for_each_rcu(pos, head) \
    for ((pos) = rcu_dereference((head)->next); (pos) != NULL; (pos) = rcu_dereference((pos)->next))
#define cds_hlist_for_each_entry_rcu(entry, pos, head, member)                         \
    for ((pos) = rcu_dereference((head)->next);                                        \
         (pos) != NULL && ((entry) = LEE_1_URCU_HLIST_ENTRY(pos, entry, member), 1);  \
         (pos) = rcu_dereference((pos)->next))
#define cds_hlist_for_each_entry_rcu_2(entry, head, member)                                     \
    for ((entry) = LEE_1_URCU_HLIST_ENTRY(rcu_dereference((head)->next), entry, member);        \
         (entry) != NULL;                                                                       \
         (entry) = LEE_1_URCU_HLIST_ENTRY(rcu_dereference((entry)->member.next), entry, member))

#endif
