/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What torture.c and qsbr.c share: the boxes that are published and spoiled, and threads beside the
 * readers. To be included after the names of the flavour.
 */
#ifndef INLINED_BOX_H
#define INLINED_BOX_H

#include "../urcu/check.h"

#include <dlfcn.h>
#include <stddef.h>

struct box {
    int is_valid;
    struct rcu_head head;
};

static struct box *published;
static int is_over, freed, is_inside, leaves;
static bool on_leeward;
/* Of the library of ours that reads beside. */
static int (*read_as_ours)(struct box **from, int rounds);

static void *named(void *library, const char *name)
{
    void *found = dlsym(library, name);

    CHECK(found);
    return found;
}

static struct box *make(void)
{
    struct box *box = (struct box *)malloc(sizeof *box);

    CHECK(box);
    __atomic_store_n(&box->is_valid, 1, __ATOMIC_RELAXED);
    return box;
}

static void spoil(struct box *box)
{
    __atomic_store_n(&box->is_valid, 0, __ATOMIC_RELAXED);
    free(box);
    ADD(freed, 1);
}

/* Spoils the box of a callback. */
static void spoil_of(struct rcu_head *head)
{
    spoil((struct box *)(void *)((char *)head - offsetof(struct box, head)));
}

static void *ours(void *unused)
{
    while (!GET(is_over))
        CHECK(read_as_ours(&published, 1000));
    return unused;
}

static void *synchronizing(void *unused)
{
    synchronize_rcu();
    ADD(freed, 1);
    return unused;
}

#endif
