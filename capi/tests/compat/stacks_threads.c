/* urcu/wfstack.h, urcu/lfstack.h and urcu/rculfstack.h by several threads. */
#define CDS_LFS_RCU_DEPRECATED
#include <stdlib.h>
#include <string.h>
#include <urcu/lfstack.h>
#include <urcu/rculfstack.h>
#include <urcu/wfstack.h>

#include "threads.h"

struct item {
    int producer, number;
    struct cds_wfs_node wfs;
    struct cds_lfs_node lfs;
    struct cds_lfs_node_rcu rcu;
};

static struct cds_wfs_stack wfs;
static struct cds_lfs_stack lfs;
static struct cds_lfs_stack_rcu rcu;
static pthread_mutex_t rcu_lock = PTHREAD_MUTEX_INITIALIZER;
static int taken, shared_pops;

static struct item *new_item(int producer, int number)
{
    struct item *item = (struct item *)malloc(sizeof(*item));

    CHECK(item != NULL);
    item->producer = producer;
    item->number = number;
    cds_wfs_node_init(&item->wfs);
    cds_lfs_node_init(&item->lfs);
    cds_lfs_node_init_rcu(&item->rcu);
    return item;
}

static void take(struct item *item)
{
    came_out[item->producer][item->number]++;
    memset(item, 0xff, sizeof(*item));
    free(item);
    uatomic_inc(&taken);
}

/* Returns true if this round of a consumer pops one element, false if it pops all. */
static int pops_one(int round)
{
    return !shared_pops || round % 2;
}

static void wfs_round(int round)
{
    struct cds_wfs_head *all;
    struct cds_wfs_node *node, *n;

    if (pops_one(round)) {
        node = cds_wfs_pop_blocking(&wfs);
        if (node)
            take(caa_container_of(node, struct item, wfs));
    } else {
        all = cds_wfs_pop_all_blocking(&wfs);
        cds_wfs_for_each_blocking_safe(all, node, n)
            take(caa_container_of(node, struct item, wfs));
    }
}

static void *wfs_body(void *number)
{
    int i;

    if ((intptr_t)number < PRODUCERS)
        for (i = 0; i < MANY; i++)
            (void)cds_wfs_push(&wfs, &new_item((int)(intptr_t)number, i)->wfs);
    else
        for (i = 0; uatomic_read(&taken) < PRODUCERS * MANY; i++)
            wfs_round(i);
    return NULL;
}

/* Without the mutex pop_alls may race with each other and with pushes. */
static void *wfs_all_body(void *number)
{
    struct cds_wfs_head *all;
    struct cds_wfs_node *node, *n;

    if ((intptr_t)number < PRODUCERS)
        return wfs_body(number);
    while (uatomic_read(&taken) < PRODUCERS * MANY) {
        all = __cds_wfs_pop_all(&wfs);
        /* The first body sees its element before it looks for the next. */
        cds_wfs_for_each_blocking(all, node)
            CHECK(caa_container_of(node, struct item, wfs)->number < MANY);
        cds_wfs_for_each_blocking_safe(all, node, n)
            take(caa_container_of(node, struct item, wfs));
    }
    return NULL;
}

/* One consumer needs no mutex; the nonblocking pop may have to try again. */
static void *wfs_single_body(void *number)
{
    struct cds_wfs_node *node;

    if ((intptr_t)number < PRODUCERS)
        return wfs_body(number);
    while (uatomic_read(&taken) < PRODUCERS * MANY) {
        node = uatomic_read(&taken) % 2 ? __cds_wfs_pop_nonblocking(&wfs) : __cds_wfs_pop_blocking(&wfs);
        if (node && node != CDS_WFS_WOULDBLOCK)
            take(caa_container_of(node, struct item, wfs));
    }
    return NULL;
}

static void lfs_round(int round)
{
    struct cds_lfs_head *all;
    struct cds_lfs_node *node, *n;

    if (pops_one(round)) {
        node = cds_lfs_pop_blocking(&lfs);
        if (node)
            take(caa_container_of(node, struct item, lfs));
    } else {
        all = cds_lfs_pop_all_blocking(&lfs);
        cds_lfs_for_each_safe(all, node, n)
            take(caa_container_of(node, struct item, lfs));
    }
}

static void *lfs_body(void *number)
{
    int i;

    if ((intptr_t)number < PRODUCERS)
        for (i = 0; i < MANY; i++)
            (void)cds_lfs_push(&lfs, &new_item((int)(intptr_t)number, i)->lfs);
    else
        for (i = 0; uatomic_read(&taken) < PRODUCERS * MANY; i++)
            lfs_round(i);
    return NULL;
}

/* Lock-free pops race with each other where no node is freed or pushed again meanwhile. */
static struct item *kept[PRODUCERS][MANY];

static void *lfs_free_body(void *number)
{
    struct cds_lfs_node *node;
    int i;

    if ((intptr_t)number < PRODUCERS) {
        for (i = 0; i < MANY; i++) {
            kept[(intptr_t)number][i] = new_item((int)(intptr_t)number, i);
            (void)cds_lfs_push(&lfs, &kept[(intptr_t)number][i]->lfs);
        }
        return NULL;
    }
    while (uatomic_read(&taken) < PRODUCERS * MANY) {
        node = __cds_lfs_pop(&lfs);
        if (node) {
            struct item *item = caa_container_of(node, struct item, lfs);

            came_out[item->producer][item->number]++;
            uatomic_inc(&taken);
        }
    }
    return NULL;
}

static void *rcu_body(void *number)
{
    int i;

    if ((intptr_t)number < PRODUCERS) {
        for (i = 0; i < MANY; i++)
            (void)cds_lfs_push_rcu(&rcu, &new_item((int)(intptr_t)number, i)->rcu);
        return NULL;
    }
    while (uatomic_read(&taken) < PRODUCERS * MANY) {
        struct cds_lfs_node_rcu *node;

        pthread_mutex_lock(&rcu_lock);
        node = cds_lfs_pop_rcu(&rcu);
        pthread_mutex_unlock(&rcu_lock);
        if (node)
            take(caa_container_of(node, struct item, rcu));
    }
    return NULL;
}

static void run(int consumers, void *(*body)(void *))
{
    came_out_reset();
    taken = 0;
    together(PRODUCERS + consumers, body);
    came_out_all_once();
}

int main(void)
{
    int i, j;

    errno = UNTOUCHED;
    cds_wfs_init(&wfs);
    cds_lfs_init(&lfs);
    cds_lfs_init_rcu(&rcu);
    for (shared_pops = 0; shared_pops < 2; shared_pops++) {
        run(CONSUMERS, wfs_body);
        run(CONSUMERS, lfs_body);
    }
    run(CONSUMERS, wfs_all_body);
    run(1, wfs_single_body);
    run(CONSUMERS, rcu_body);
    run(CONSUMERS, lfs_free_body);
    for (i = 0; i < PRODUCERS; i++)
        for (j = 0; j < MANY; j++)
            free(kept[i][j]);
    CHECK(cds_wfs_empty(&wfs) && cds_lfs_empty(&lfs) && cds_lfs_pop_rcu(&rcu) == NULL);
    cds_wfs_destroy(&wfs);
    cds_lfs_destroy(&lfs);
    return done("stacks_threads");
}
