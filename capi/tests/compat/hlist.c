/* urcu/hlist.h. */
#include <urcu/hlist.h>

#include "check.h"

struct item {
    int value;
    struct cds_hlist_node link;
};

static struct item items[4];
static CDS_HLIST_HEAD(file_scope);

/* Every loop over a list that holds these values. */
static void expect(struct cds_hlist_head *head, int count, const int *values)
{
    struct cds_hlist_node *pos;
    struct item *item;
    int i = 0;

    cds_hlist_for_each(pos, head)
        CHECK(i < count && cds_hlist_entry(pos, struct item, link)->value == values[i++]);
    CHECK(i == count);
    i = 0;
    cds_hlist_for_each_entry(item, pos, head, link)
        CHECK(i < count && item->value == values[i++]);
    CHECK(i == count && pos == NULL);
    i = 0;
    cds_hlist_for_each_entry_2(item, head, link)
        CHECK(i < count && item->value == values[i++]);
    CHECK(i == count && item == NULL);
}

#define EXPECT(head, ...)                                                      \
    do {                                                                       \
        const int expected[] = { __VA_ARGS__ };                                \
        expect((head), (int)(sizeof(expected) / sizeof(expected[0])), expected); \
    } while (0)

static void fill(struct cds_hlist_head *head)
{
    int i;

    CDS_INIT_HLIST_HEAD(head);
    for (i = 3; i >= 0; i--) {
        items[i].value = i;
        cds_hlist_add_head(&items[i].link, head);
    }
}

static void add_and_remove(void)
{
    struct cds_hlist_head head = CDS_HLIST_HEAD_INIT(head);
    struct cds_hlist_node *nothing = NULL;

    expect(&head, 0, NULL);
    expect(&file_scope, 0, NULL);
    fill(&head);
    EXPECT(&head, 0, 1, 2, 3);
    CHECK((void *)items[0].link.prev == (void *)&head && items[1].link.prev == &items[0].link);
    cds_hlist_del(&items[1].link);
    EXPECT(&head, 0, 2, 3);
    CHECK(items[2].link.prev == &items[0].link);
    cds_hlist_del(&items[0].link);
    EXPECT(&head, 2, 3);
    CHECK((void *)items[2].link.prev == (void *)&head);
    cds_hlist_del(&items[3].link);
    EXPECT(&head, 2);
    cds_hlist_del(&items[2].link);
    CHECK(head.next == NULL);
    CHECK(cds_hlist_entry_safe(nothing, struct item, link) == NULL);
    CHECK(cds_hlist_entry_safe(&items[1].link, struct item, link) == &items[1]);
}

static void spoil(struct cds_hlist_node *link)
{
    cds_hlist_del(link);
    link->next = link->prev = NULL;
}

static void safe_loops(void)
{
    struct cds_hlist_head head;
    struct cds_hlist_node *pos, *p;
    struct item *item, *e;
    int i = 0;

    fill(&head);
    cds_hlist_for_each_safe(pos, p, &head) {
        CHECK(cds_hlist_entry(pos, struct item, link)->value == i++);
        spoil(pos);
    }
    CHECK(i == 4 && head.next == NULL);
    fill(&head);
    i = 0;
    cds_hlist_for_each_entry_safe(item, pos, p, &head, link) {
        CHECK(item->value == i++);
        spoil(&item->link);
    }
    CHECK(i == 4 && head.next == NULL);
    fill(&head);
    i = 0;
    cds_hlist_for_each_entry_safe_2(item, e, &head, link) {
        CHECK(item->value == i++);
        spoil(&item->link);
    }
    CHECK(i == 4 && head.next == NULL && item == NULL);
}

int main(void)
{
    errno = UNTOUCHED;
    add_and_remove();
    safe_loops();
    return done("hlist");
}
