/* urcu/rcuhlist.h, by one thread; rculist_threads.c has readers. */
#include <urcu/rcuhlist.h>

#include "check.h"

struct item {
    int value;
    struct cds_hlist_node link;
};

static struct item items[3];

static void expect(struct cds_hlist_head *head, int count, const int *values)
{
    struct cds_hlist_node *pos;
    struct item *item;
    int i = 0;

    cds_hlist_for_each_rcu(pos, head)
        CHECK(i < count && cds_hlist_entry(pos, struct item, link)->value == values[i++]);
    CHECK(i == count);
    i = 0;
    cds_hlist_for_each_entry_rcu(item, pos, head, link)
        CHECK(i < count && item->value == values[i++]);
    CHECK(i == count);
    i = 0;
    cds_hlist_for_each_entry_rcu_2(item, head, link)
        CHECK(i < count && item->value == values[i++]);
    CHECK(i == count && item == NULL);
}

#define EXPECT(head, ...)                                                      \
    do {                                                                       \
        const int expected[] = { __VA_ARGS__ };                                \
        expect((head), (int)(sizeof(expected) / sizeof(expected[0])), expected); \
    } while (0)

int main(void)
{
    CDS_HLIST_HEAD(head);
    int i;

    errno = UNTOUCHED;
    for (i = 2; i >= 0; i--) {
        items[i].value = i;
        cds_hlist_add_head_rcu(&items[i].link, &head);
    }
    EXPECT(&head, 0, 1, 2);
    CHECK((void *)items[0].link.prev == (void *)&head && items[2].link.prev == &items[1].link);
    cds_hlist_del_rcu(&items[1].link);
    EXPECT(&head, 0, 2);
    CHECK(rcu_dereference(items[1].link.next) == &items[2].link);
    cds_hlist_del_rcu(&items[0].link);
    EXPECT(&head, 2);
    CHECK((void *)items[2].link.prev == (void *)&head);
    cds_hlist_del_rcu(&items[2].link);
    CHECK(head.next == NULL);
    return done("rcuhlist");
}
