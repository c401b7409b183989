/* urcu/wfstack.h, by one thread, and in the gap of a pusher; stacks_threads.c has many. */
#define _GNU_SOURCE 1
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <urcu/compiler.h>
#include <urcu/wfstack.h>

#include "check.h"
#include "gap.h"

struct item {
    int value;
    struct cds_wfs_node node;
};

static struct item items[8];

static struct cds_wfs_node *prepared(int value)
{
    items[value].value = value;
    cds_wfs_node_init(&items[value].node);
    return &items[value].node;
}

static int value(struct cds_wfs_node *node)
{
    return caa_container_of(node, struct item, node)->value;
}

static void with_mutex(void)
{
    struct cds_wfs_stack stack;
    struct cds_wfs_head *all;
    struct cds_wfs_node *node;
    int state = 77, i = 2;

    cds_wfs_init(&stack);
    CHECK(cds_wfs_empty(&stack));
    CHECK(cds_wfs_pop_blocking(&stack) == NULL && cds_wfs_pop_all_blocking(&stack) == NULL);
    CHECK(cds_wfs_pop_with_state_blocking(&stack, &state) == NULL && state == 0);
    CHECK(cds_wfs_push(&stack, prepared(0)) == 0);
    CHECK(cds_wfs_push(&stack, prepared(1)) != 0);
    CHECK(cds_wfs_push(&stack, prepared(2)) != 0);
    CHECK(!cds_wfs_empty(&stack));
    CHECK(value(cds_wfs_pop_blocking(&stack)) == 2);
    state = 77;
    CHECK(value(cds_wfs_pop_with_state_blocking(&stack, &state)) == 1 && state == 0);
    CHECK(value(cds_wfs_pop_with_state_blocking(&stack, &state)) == 0 && state == CDS_WFS_STATE_LAST);
    CHECK(cds_wfs_empty(&stack));
    for (i = 0; i < 3; i++)
        cds_wfs_push(&stack, prepared(i));
    all = cds_wfs_pop_all_blocking(&stack);
    CHECK(cds_wfs_empty(&stack));
    cds_wfs_for_each_blocking(all, node)
        CHECK(value(node) == --i);
    CHECK(i == 0);
    cds_wfs_pop_lock(&stack);
    CHECK(pthread_mutex_trylock(&stack.lock) == EBUSY);
    CHECK(__cds_wfs_pop_blocking(&stack) == NULL);
    cds_wfs_pop_unlock(&stack);
    cds_wfs_destroy(&stack);
}

static void without_mutex(void)
{
    struct __cds_wfs_stack stack;
    const struct __cds_wfs_stack *constant = &stack;
    struct cds_wfs_head *all;
    struct cds_wfs_node *node, *n;
    int state = 77, i;

    __cds_wfs_init(&stack);
    CHECK(cds_wfs_empty(&stack));
#ifdef LEEWARD
    CHECK(cds_wfs_empty(constant));
#endif
    (void)constant;
    CHECK(__cds_wfs_pop_blocking(&stack) == NULL && __cds_wfs_pop_nonblocking(&stack) == NULL);
    CHECK(__cds_wfs_pop_all(&stack) == NULL);
    for (i = 0; i < 4; i++)
        CHECK(!cds_wfs_push(&stack, prepared(i)) == (i == 0));
    CHECK(value(__cds_wfs_pop_blocking(&stack)) == 3 && value(__cds_wfs_pop_nonblocking(&stack)) == 2);
    CHECK(value(__cds_wfs_pop_with_state_blocking(&stack, &state)) == 1 && state == 0);
    CHECK(value(__cds_wfs_pop_with_state_nonblocking(&stack, &state)) == 0 && state == CDS_WFS_STATE_LAST);
    CHECK(cds_wfs_empty(&stack));
    for (i = 0; i < 4; i++)
        cds_wfs_push(&stack, prepared(i));
    all = __cds_wfs_pop_all(&stack);
    CHECK(__cds_wfs_pop_all(&stack) == NULL);
    node = cds_wfs_first(all);
    CHECK(value(node) == 3 && value(cds_wfs_next_blocking(node)) == 2 && value(cds_wfs_next_nonblocking(node)) == 2);
    CHECK(cds_wfs_next_blocking(&items[0].node) == NULL && cds_wfs_next_nonblocking(&items[0].node) == NULL);
    /* The body may overwrite what it is at. */
    cds_wfs_for_each_blocking_safe(all, node, n) {
        CHECK(value(node) == --i);
        memset(node, 0xff, sizeof(*node));
    }
    CHECK(i == 0);
    CHECK(cds_wfs_first(NULL) == NULL);
    cds_wfs_for_each_blocking(NULL, node)
        i++;
    cds_wfs_for_each_blocking_safe(NULL, node, n)
        i++;
    CHECK(i == 0);
}

static void either_stack(void)
{
    struct cds_wfs_stack locked;
    struct __cds_wfs_stack bare;
    cds_wfs_stack_ptr_t either;

    cds_wfs_init(&locked);
    __cds_wfs_init(&bare);
    either.s = &locked;
    CHECK(cds_wfs_push(either, prepared(0)) == 0);
#ifdef LEEWARD
    CHECK(cds_wfs_push(cds_wfs_stack_cast(&locked), prepared(1)) != 0);
    CHECK(cds_wfs_push(__cds_wfs_stack_cast(&bare), prepared(2)) == 0);
    CHECK(!cds_wfs_empty(cds_wfs_stack_const_cast(&locked)) && !cds_wfs_empty(__cds_wfs_stack_const_cast(&bare)));
    CHECK(value(__cds_wfs_pop_blocking(either)) == 1);
#endif
    CHECK(value(__cds_wfs_pop_blocking(&locked)) == 0);
    either._s = &bare;
    (void)either;
}

/* Pushes by hand, and stops in the gap. Returns what the node's link shall be. */
static struct cds_wfs_head *half_push(struct __cds_wfs_stack *stack, struct cds_wfs_node *node)
{
    return __atomic_exchange_n(&stack->head, (struct cds_wfs_head *)(void *)node, __ATOMIC_SEQ_CST);
}

static void gap_nonblocking(void)
{
    struct __cds_wfs_stack stack;
    struct cds_wfs_head *below;
    int state;

    __cds_wfs_init(&stack);
    below = half_push(&stack, prepared(0));
    CHECK(!cds_wfs_empty(&stack));
    CHECK(__cds_wfs_pop_nonblocking(&stack) == CDS_WFS_WOULDBLOCK);
    CHECK(__cds_wfs_pop_with_state_nonblocking(&stack, &state) == CDS_WFS_WOULDBLOCK);
    CHECK(cds_wfs_push(&stack, prepared(1)) != 0);
    CHECK(cds_wfs_first(__cds_wfs_pop_all(&stack)) == &items[1].node);
    CHECK(cds_wfs_next_nonblocking(&items[1].node) == &items[0].node);
    CHECK(cds_wfs_next_nonblocking(&items[0].node) == CDS_WFS_WOULDBLOCK);
    items[0].node.next = (struct cds_wfs_node *)(void *)below;
    CHECK(cds_wfs_next_nonblocking(&items[0].node) == NULL);
}

static void gap_blocking(int milliseconds)
{
    struct __cds_wfs_stack stack;
    struct cds_wfs_head *all;
    struct gap gap;

    __cds_wfs_init(&stack);
    cds_wfs_push(&stack, prepared(0));
    gap_close_later(&gap, &items[1].node.next, half_push(&stack, prepared(1)), milliseconds);
    CHECK(value(__cds_wfs_pop_blocking(&stack)) == 1);
    gap_end(&gap);
    gap_close_later(&gap, &items[2].node.next, half_push(&stack, prepared(2)), milliseconds);
    all = __cds_wfs_pop_all(&stack);
    CHECK(value(cds_wfs_first(all)) == 2);
    CHECK(value(cds_wfs_next_blocking(cds_wfs_first(all))) == 0);
    gap_end(&gap);
}

/* A push asserts that its node was prepared. */
static void unprepared(void)
{
    struct __cds_wfs_stack stack;
    int status;
    pid_t child;

    __cds_wfs_init(&stack);
    cds_wfs_push(&stack, prepared(0));
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(2);
        cds_wfs_push(&stack, &items[0].node);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
#ifdef NDEBUG
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
#else
    CHECK(WIFSIGNALED(status));
#endif
}

/* What some programs compare a stack's end with. */
static void end(void)
{
#ifdef _LGPL_SOURCE
    struct cds_wfs_stack stack;

    cds_wfs_init(&stack);
    CHECK(stack.head == CDS_WFS_END);
    cds_wfs_push(&stack, prepared(0));
    CHECK(items[0].node.next == CDS_WFS_END);
    cds_wfs_destroy(&stack);
#endif
}

int main(void)
{
    errno = UNTOUCHED;
    end();
    with_mutex();
    without_mutex();
    either_stack();
    gap_nonblocking();
    gap_blocking(0);
    gap_blocking(20);
    unprepared();
    return done("wfstack");
}
