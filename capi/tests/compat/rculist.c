/* urcu/rculist.h, by one thread; rculist_threads.c has readers. */
#include <urcu/rculist.h>

#include "check.h"

struct item {
    int value;
    struct cds_list_head link;
};

static struct item items[5];

static void expect(struct cds_list_head *head, int count, const int *values)
{
    struct cds_list_head *pos;
    struct item *item;
    int i = 0;

    cds_list_for_each_rcu(pos, head)
        CHECK(i < count && cds_list_entry(pos, struct item, link)->value == values[i++]);
    CHECK(i == count);
    i = 0;
    cds_list_for_each_entry_rcu(item, head, link)
        CHECK(i < count && item->value == values[i++]);
    CHECK(i == count);
    /* The writer's links are whole too. */
    cds_list_for_each_entry_reverse(item, head, link)
        CHECK(item->value == values[--i]);
    CHECK(i == 0);
}

#define EXPECT(head, ...)                                                      \
    do {                                                                       \
        const int expected[] = { __VA_ARGS__ };                                \
        expect((head), (int)(sizeof(expected) / sizeof(expected[0])), expected); \
    } while (0)

int main(void)
{
    CDS_LIST_HEAD(head);
    struct item *item;
    int i;

    errno = UNTOUCHED;
    for (i = 0; i < 5; i++)
        items[i].value = i;
    cds_list_add_rcu(&items[1].link, &head);
    cds_list_add_rcu(&items[0].link, &head);
    cds_list_add_tail_rcu(&items[2].link, &head);
    EXPECT(&head, 0, 1, 2);
    cds_list_replace_rcu(&items[1].link, &items[4].link);
    EXPECT(&head, 0, 4, 2);
    /* Who is at the old one goes on. */
    CHECK(rcu_dereference(items[1].link.next) == &items[2].link);
    cds_list_del_rcu(&items[0].link);
    EXPECT(&head, 4, 2);
    CHECK(rcu_dereference(items[0].link.next) == &items[4].link);
    /* The body may unlink what it is at. */
    cds_list_for_each_entry_rcu(item, &head, link)
        cds_list_del_rcu(&item->link);
    CHECK(cds_list_empty(&head));
    return done("rculist");
}
