/* urcu/list.h. */
#include <stdlib.h>
#include <urcu/list.h>

#include "check.h"

struct item {
    int value;
    struct cds_list_head link;
};

static struct item items[6];

/* CHECKs that the list holds these values, forwards and backwards, as elements and as links. */
static void expect(struct cds_list_head *head, int count, const int *values)
{
    struct cds_list_head *pos;
    struct item *item;
    int i = 0;

    cds_list_for_each(pos, head)
        CHECK(i < count && cds_list_entry(pos, struct item, link)->value == values[i++]);
    CHECK(i == count);
    cds_list_for_each_prev(pos, head)
        CHECK(i > 0 && cds_list_entry(pos, struct item, link)->value == values[--i]);
    CHECK(i == 0);
    cds_list_for_each_entry(item, head, link)
        CHECK(i < count && item->value == values[i++]);
    CHECK(i == count);
    cds_list_for_each_entry_reverse(item, head, link)
        CHECK(i > 0 && item->value == values[--i]);
    CHECK(i == 0);
    CHECK(!cds_list_empty(head) == (count > 0));
}

#define EXPECT(head, ...)                                                      \
    do {                                                                       \
        const int expected[] = { __VA_ARGS__ };                                \
        expect((head), (int)(sizeof(expected) / sizeof(expected[0])), expected); \
    } while (0)

static void fill(struct cds_list_head *head, int from, int to)
{
    int i;

    CDS_INIT_LIST_HEAD(head);
    for (i = from; i < to; i++) {
        items[i].value = i;
        cds_list_add_tail(&items[i].link, head);
    }
}

static void add_and_remove(void)
{
    CDS_LIST_HEAD(head);
    struct cds_list_head other = CDS_LIST_HEAD_INIT(other), *before;
    const struct cds_list_head *constant = &other;

    CHECK(cds_list_empty(&head) && cds_list_empty(constant) == 1);
    cds_list_add(&items[1].link, &head);
    cds_list_add(&items[0].link, &head);
    cds_list_add_tail(&items[2].link, &head);
    EXPECT(&head, 0, 1, 2);
    CHECK(cds_list_first_entry(&head, struct item, link) == &items[0]);
    before = items[1].link.next;
    cds_list_del(&items[1].link);
    CHECK(items[1].link.next == before);
    EXPECT(&head, 0, 2);
    cds_list_del_init(&items[0].link);
    CHECK(cds_list_empty(&items[0].link));
    EXPECT(&head, 2);
    cds_list_add_tail(&items[0].link, &head);
    cds_list_add_tail(&items[1].link, &head);
    EXPECT(&head, 2, 0, 1);
    cds_list_move(&items[1].link, &head);
    EXPECT(&head, 1, 2, 0);
    cds_list_move(&items[2].link, &other);
    EXPECT(&head, 1, 0);
    EXPECT(&other, 2);
    cds_list_move(&items[1].link, &head);
    EXPECT(&head, 1, 0);
}

static void replace(void)
{
    struct cds_list_head head, moved, empty;

    fill(&head, 0, 3);
    cds_list_replace(&items[1].link, &items[4].link);
    EXPECT(&head, 0, 4, 2);
    cds_list_replace(&head, &moved);
    EXPECT(&moved, 0, 4, 2);
    CDS_INIT_LIST_HEAD(&head);
    cds_list_replace_init(&moved, &head);
    EXPECT(&head, 0, 4, 2);
    CHECK(cds_list_empty(&moved));
    CDS_INIT_LIST_HEAD(&empty);
    cds_list_replace_init(&empty, &moved);
    CHECK(cds_list_empty(&empty));
#ifdef LEEWARD
    /* liburcu's leaves it linked to the other one. */
    CHECK(cds_list_empty(&moved));
#endif
}

static void splice(void)
{
    struct cds_list_head head, add;

    fill(&head, 0, 2);
    CDS_INIT_LIST_HEAD(&add);
    cds_list_splice(&add, &head);
    EXPECT(&head, 0, 1);
    fill(&add, 2, 5);
    cds_list_splice(&add, &head);
    EXPECT(&head, 2, 3, 4, 0, 1);
    CHECK(add.next == &items[2].link);
    CDS_INIT_LIST_HEAD(&head);
    fill(&add, 0, 1);
    cds_list_splice(&add, &head);
    EXPECT(&head, 0);
}

/* The body of a safe loop unlinks, and overwrites, what it is at. */
static void spoil(struct cds_list_head *link)
{
    cds_list_del(link);
    link->next = link->prev = NULL;
}

static void safe_loops(void)
{
    struct cds_list_head head, *pos, *p;
    struct item *item, *n;
    int i;

    fill(&head, 0, 4);
    i = 0;
    cds_list_for_each_safe(pos, p, &head) {
        CHECK(cds_list_entry(pos, struct item, link)->value == i++);
        spoil(pos);
    }
    CHECK(i == 4 && cds_list_empty(&head));
    fill(&head, 0, 4);
    cds_list_for_each_prev_safe(pos, p, &head) {
        CHECK(cds_list_entry(pos, struct item, link)->value == --i);
        spoil(pos);
    }
    CHECK(i == 0 && cds_list_empty(&head));
    fill(&head, 0, 4);
    cds_list_for_each_entry_safe(item, n, &head, link) {
        CHECK(item->value == i++);
        spoil(&item->link);
    }
    CHECK(i == 4 && cds_list_empty(&head));
    /* After the last element: at the head, and never NULL. */
    CHECK(&item->link == &head);
    fill(&head, 0, 4);
    item = &items[2];
    i = 2;
    cds_list_for_each_entry_safe_from(item, n, &head, link) {
        CHECK(item->value == i++);
        spoil(&item->link);
    }
    CHECK(i == 4);
    EXPECT(&head, 0, 1);
}

/* Heads and positions that are expressions, and a loop as the only statement of a branch. */
static void expressions(void)
{
    struct {
        struct cds_list_head heads[2];
        struct item *item;
    } s, *to = &s;
    const struct item *constant;
    int found = 0, i = 0;

    fill(to->heads + 1, 0, 3);
    if (to)
        cds_list_for_each_entry(to->item, i ? to->heads : to->heads + 1, link)
            found += to->item->value;
    else
        found = -1;
    CHECK(found == 3);
    cds_list_for_each_entry(constant, &s.heads[1], link)
        found += constant->value;
    CHECK(found == 6);
}

/* Links of a program's own, which glusterfs makes empty by this macro. */
struct own {
    struct own *next, *prev;
};

static void other_types(void)
{
    struct own heads[2], *head = heads;
    struct cds_list_head list;

    CDS_INIT_LIST_HEAD(heads);
    CHECK(heads[0].next == &heads[0] && heads[0].prev == &heads[0]);
#ifdef LEEWARD
    CDS_INIT_LIST_HEAD(head++);
    CHECK(heads[0].next == &heads[0] && heads[0].prev == &heads[0]);
#else
    head++;
#endif
    CHECK(head == &heads[1]);
    (void)(CDS_INIT_LIST_HEAD(&list), 0);
    CHECK(cds_list_empty(&list));
    cds_list_add(&items[0].link, &list);
    cds_list_add_tail(&items[1].link, &list);
    __cds_list_del(&list, &items[1].link);
    EXPECT(&list, 1);
}

int main(void)
{
    int i;

    errno = UNTOUCHED;
    for (i = 0; i < 6; i++)
        items[i].value = i;
    add_and_remove();
    replace();
    splice();
    safe_loops();
    expressions();
    other_types();
    return done("list");
}
