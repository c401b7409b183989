/*
 * urcu/rculist.h and urcu/rcuhlist.h: readers beside a writer. Nothing is freed before the end,
 * which stands for grace periods; what is tried is that a reader finds whole elements in an
 * unbroken order.
 */
#include <stdlib.h>
#include <urcu/rculist.h>
#include <urcu/rcuhlist.h>

#include "threads.h"

#define LENGTH 16

/* `twice` is twice the key, once the element is whole. Keys rise along a list. */
struct item {
    int key, twice;
    struct cds_list_head link;
    struct cds_hlist_node hlink;
};

static CDS_LIST_HEAD(list);
static CDS_HLIST_HEAD(hlist);
static struct item *all[2 * MANY + 4 * LENGTH];
static int allocated, writing = 1;

static struct item *new_item(int key)
{
    struct item *item = (struct item *)malloc(sizeof(*item));

    CHECK(item != NULL);
    all[allocated++] = item;
    item->key = key;
    item->twice = 2 * key;
    return item;
}

static void check_whole(const struct item *item, int *last)
{
    CHECK(item->twice == 2 * item->key);
    CHECK(item->key > *last);
    *last = item->key;
}

static void read_once(void)
{
    struct cds_list_head *pos;
    struct cds_hlist_node *hpos;
    struct item *item;
    int last = -1;

    cds_list_for_each_entry_rcu(item, &list, link)
        check_whole(item, &last);
    last = -1;
    cds_list_for_each_rcu(pos, &list)
        check_whole(cds_list_entry(pos, struct item, link), &last);
    (void)cds_list_empty(&list);
    last = -1;
    cds_hlist_for_each_entry_rcu_2(item, &hlist, hlink)
        check_whole(item, &last);
    last = -1;
    cds_hlist_for_each_entry_rcu(item, hpos, &hlist, hlink)
        check_whole(item, &last);
    last = -1;
    cds_hlist_for_each_rcu(hpos, &hlist)
        check_whole(cds_hlist_entry(hpos, struct item, hlink), &last);
}

/* Replaces elements in the middle, and moves the window of keys at both ends. */
static void write_all(void)
{
    struct item *item, *fresh;
    int i, low = 2 * MANY, high = 2 * MANY;

    for (i = 0; i < MANY; i++) {
        switch (i % 4) {
        case 0:
            cds_list_add_rcu(&new_item(--low)->link, &list);
            break;
        case 1:
            cds_list_add_tail_rcu(&new_item(++high)->link, &list);
            break;
        case 2:
            item = cds_list_first_entry(&list, struct item, link);
            fresh = new_item(item->key);
            cds_list_replace_rcu(&item->link, &fresh->link);
            break;
        default:
            if (high - low > LENGTH)
                cds_list_del_rcu(list.next);
        }
        if (i % 4 == 3 && high - low > LENGTH)
            low = cds_list_first_entry(&list, struct item, link)->key;
        /* The second of the other list goes, so that readers at it are led on. */
        fresh = new_item(4 * MANY - i);
        cds_hlist_add_head_rcu(&fresh->hlink, &hlist);
        if (i >= LENGTH)
            cds_hlist_del_rcu(fresh->hlink.next);
    }
}

static void *body(void *number)
{
    if ((intptr_t)number == 0) {
        write_all();
        uatomic_set(&writing, 0);
        return NULL;
    }
    do
        read_once();
    while (uatomic_read(&writing));
    return NULL;
}

int main(void)
{
    errno = UNTOUCHED;
    together(3, body);
    while (allocated > 0)
        free(all[--allocated]);
    return done("rculist_threads");
}
