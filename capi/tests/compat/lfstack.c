/* urcu/lfstack.h, by one thread; stacks_threads.c has many. */
#include <string.h>
#include <urcu/compiler.h>
#include <urcu/lfstack.h>

#include "check.h"

struct item {
    int value;
    struct cds_lfs_node node;
};

static struct item items[4];

static struct cds_lfs_node *prepared(int value)
{
    items[value].value = value;
    cds_lfs_node_init(&items[value].node);
    return &items[value].node;
}

static int value(struct cds_lfs_node *node)
{
    return caa_container_of(node, struct item, node)->value;
}

static void with_mutex(void)
{
    struct cds_lfs_stack stack;
    struct cds_lfs_head *all;
    struct cds_lfs_node *node;
    int i;

    cds_lfs_init(&stack);
    CHECK(cds_lfs_empty(&stack));
    CHECK(cds_lfs_pop_blocking(&stack) == NULL && cds_lfs_pop_all_blocking(&stack) == NULL);
    for (i = 0; i < 3; i++)
        CHECK(cds_lfs_push(&stack, prepared(i)) == (i != 0));
    CHECK(!cds_lfs_empty(&stack));
    CHECK(value(cds_lfs_pop_blocking(&stack)) == 2);
    all = cds_lfs_pop_all_blocking(&stack);
    i = 2;
    cds_lfs_for_each(all, node)
        CHECK(value(node) == --i);
    CHECK(i == 0 && cds_lfs_empty(&stack));
    cds_lfs_pop_lock(&stack);
    CHECK(pthread_mutex_trylock(&stack.lock) == EBUSY);
    CHECK(__cds_lfs_pop(&stack) == NULL);
    cds_lfs_pop_unlock(&stack);
    cds_lfs_destroy(&stack);
}

static void without_mutex(void)
{
    struct __cds_lfs_stack stack;
    const struct __cds_lfs_stack *constant = &stack;
    struct cds_lfs_head *all;
    struct cds_lfs_node *node, *n;
    int i;

    __cds_lfs_init(&stack);
    CHECK(cds_lfs_empty(&stack));
#ifdef LEEWARD
    CHECK(cds_lfs_empty(constant));
#endif
    (void)constant;
    CHECK(__cds_lfs_pop(&stack) == NULL && __cds_lfs_pop_all(&stack) == NULL);
    for (i = 0; i < 4; i++)
        CHECK(cds_lfs_push(&stack, prepared(i)) == (i != 0));
    CHECK(value(__cds_lfs_pop(&stack)) == 3);
    i = 3;
    /* The body may overwrite what it is at. */
    all = __cds_lfs_pop_all(&stack);
    cds_lfs_for_each_safe(all, node, n) {
        CHECK(value(node) == --i);
        memset(node, 0xff, sizeof(*node));
    }
    CHECK(i == 0 && cds_lfs_empty(&stack));
    all = NULL;
    cds_lfs_for_each(all, node)
        i++;
    cds_lfs_for_each_safe(all, node, n)
        i++;
    CHECK(i == 0);
}

static void either_stack(void)
{
    struct cds_lfs_stack locked;
    struct __cds_lfs_stack bare;
    cds_lfs_stack_ptr_t either;

    cds_lfs_init(&locked);
    __cds_lfs_init(&bare);
    either.s = &locked;
    CHECK(!cds_lfs_push(either, prepared(0)));
#ifdef LEEWARD
    CHECK(cds_lfs_push(cds_lfs_stack_cast(&locked), prepared(1)));
    CHECK(!cds_lfs_push(__cds_lfs_stack_cast(&bare), prepared(2)));
    CHECK(!cds_lfs_empty(cds_lfs_stack_const_cast(&locked)) && !cds_lfs_empty(__cds_lfs_stack_const_cast(&bare)));
    CHECK(value(__cds_lfs_pop(either)) == 1);
#endif
    CHECK(value(__cds_lfs_pop(&locked)) == 0);
    either._s = &bare;
    (void)either;
}

int main(void)
{
    errno = UNTOUCHED;
    with_mutex();
    without_mutex();
    either_stack();
    return done("lfstack");
}
