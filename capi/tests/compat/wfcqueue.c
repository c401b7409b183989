/* urcu/wfcqueue.h, by one thread, and in the gap of an enqueuer; wfcqueue_threads.c has many. */
#define _GNU_SOURCE 1
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <urcu/compiler.h>
#include <urcu/wfcqueue.h>

#include "check.h"
#include "gap.h"

struct item {
    int value;
    struct cds_wfcq_node node;
};

static struct item items[8];

static struct cds_wfcq_node *prepared(int value)
{
    items[value].value = value;
    cds_wfcq_node_init(&items[value].node);
    return &items[value].node;
}

static int value(struct cds_wfcq_node *node)
{
    return caa_container_of(node, struct item, node)->value;
}

static void with_mutex(void)
{
    struct cds_wfcq_head head, dest_head;
    struct cds_wfcq_tail tail, dest_tail;
    int state = 77;

    cds_wfcq_init(&head, &tail);
    cds_wfcq_init(&dest_head, &dest_tail);
    CHECK(cds_wfcq_empty(&head, &tail));
    CHECK(cds_wfcq_dequeue_blocking(&head, &tail) == NULL);
    CHECK(cds_wfcq_dequeue_with_state_blocking(&head, &tail, &state) == NULL && state == 0);
    CHECK(!cds_wfcq_enqueue(&head, &tail, prepared(0)));
    CHECK(cds_wfcq_enqueue(&head, &tail, prepared(1)));
    CHECK(cds_wfcq_enqueue(&head, &tail, prepared(2)));
    CHECK(!cds_wfcq_empty(&head, &tail));
    CHECK(value(cds_wfcq_dequeue_blocking(&head, &tail)) == 0);
    state = 77;
    CHECK(value(cds_wfcq_dequeue_with_state_blocking(&head, &tail, &state)) == 1 && state == 0);
    CHECK(value(cds_wfcq_dequeue_with_state_blocking(&head, &tail, &state)) == 2 && state == CDS_WFCQ_STATE_LAST);
    CHECK(cds_wfcq_splice_blocking(&dest_head, &dest_tail, &head, &tail) == CDS_WFCQ_RET_SRC_EMPTY);
    cds_wfcq_enqueue(&head, &tail, prepared(0));
    cds_wfcq_enqueue(&head, &tail, prepared(1));
    CHECK(cds_wfcq_splice_blocking(&dest_head, &dest_tail, &head, &tail) == CDS_WFCQ_RET_DEST_EMPTY);
    CHECK(cds_wfcq_empty(&head, &tail));
    cds_wfcq_enqueue(&head, &tail, prepared(2));
    CHECK(cds_wfcq_splice_blocking(&dest_head, &dest_tail, &head, &tail) == CDS_WFCQ_RET_DEST_NON_EMPTY);
    cds_wfcq_dequeue_lock(&dest_head, &dest_tail);
    CHECK(pthread_mutex_trylock(&dest_head.lock) == EBUSY);
    CHECK(value(__cds_wfcq_dequeue_blocking(&dest_head, &dest_tail)) == 0);
    CHECK(value(__cds_wfcq_dequeue_blocking(&dest_head, &dest_tail)) == 1);
    cds_wfcq_dequeue_unlock(&dest_head, &dest_tail);
    CHECK(value(cds_wfcq_dequeue_blocking(&dest_head, &dest_tail)) == 2);
    CHECK(cds_wfcq_empty(&dest_head, &dest_tail));
    cds_wfcq_destroy(&head, &tail);
    cds_wfcq_destroy(&dest_head, &dest_tail);
}

static void without_mutex(void)
{
    struct __cds_wfcq_head head, dest_head;
    const struct __cds_wfcq_head *constant = &head;
    struct cds_wfcq_tail tail, dest_tail;
    struct cds_wfcq_node *node, *n;
    int state = 77, i;

    __cds_wfcq_init(&head, &tail);
    __cds_wfcq_init(&dest_head, &dest_tail);
    CHECK(cds_wfcq_empty(&head, &tail));
#ifdef LEEWARD
    CHECK(cds_wfcq_empty(constant, (const struct cds_wfcq_tail *)&tail));
#endif
    (void)constant;
    CHECK(__cds_wfcq_dequeue_blocking(&head, &tail) == NULL && __cds_wfcq_dequeue_nonblocking(&head, &tail) == NULL);
    CHECK(__cds_wfcq_first_blocking(&head, &tail) == NULL && __cds_wfcq_first_nonblocking(&head, &tail) == NULL);
    CHECK(!cds_wfcq_enqueue(&head, &tail, prepared(0)));
    for (i = 1; i < 6; i++)
        CHECK(cds_wfcq_enqueue(&head, &tail, prepared(i)));
    CHECK(tail.p == &items[5].node);
    i = 0;
    __cds_wfcq_for_each_blocking(&head, &tail, node)
        CHECK(value(node) == i++);
    CHECK(i == 6);
    node = __cds_wfcq_first_nonblocking(&head, &tail);
    CHECK(node == __cds_wfcq_first_blocking(&head, &tail) && value(node) == 0);
    node = __cds_wfcq_next_nonblocking(&head, &tail, node);
    CHECK(value(node) == 1 && value(__cds_wfcq_next_blocking(&head, &tail, node)) == 2);
    CHECK(__cds_wfcq_next_blocking(&head, &tail, &items[5].node) == NULL);
    CHECK(__cds_wfcq_next_nonblocking(&head, &tail, &items[5].node) == NULL);
    CHECK(value(__cds_wfcq_dequeue_blocking(&head, &tail)) == 0);
    CHECK(value(__cds_wfcq_dequeue_nonblocking(&head, &tail)) == 1);
    CHECK(value(__cds_wfcq_dequeue_with_state_blocking(&head, &tail, &state)) == 2 && state == 0);
    state = 77;
    CHECK(value(__cds_wfcq_dequeue_with_state_nonblocking(&head, &tail, &state)) == 3 && state == 0);
    CHECK(__cds_wfcq_splice_blocking(&dest_head, &dest_tail, &head, &tail) == CDS_WFCQ_RET_DEST_EMPTY);
    CHECK(__cds_wfcq_splice_blocking(&dest_head, &dest_tail, &head, &tail) == CDS_WFCQ_RET_SRC_EMPTY);
    cds_wfcq_enqueue(&head, &tail, prepared(6));
    CHECK(__cds_wfcq_splice_nonblocking(&dest_head, &dest_tail, &head, &tail) == CDS_WFCQ_RET_DEST_NON_EMPTY);
    CHECK(__cds_wfcq_splice_nonblocking(&dest_head, &dest_tail, &head, &tail) == CDS_WFCQ_RET_SRC_EMPTY);
    i = 4;
    /* The body may overwrite what it is at. */
    __cds_wfcq_for_each_blocking_safe(&dest_head, &dest_tail, node, n) {
        CHECK(value(node) == i++);
        memset(node, 0xff, sizeof(*node));
    }
    CHECK(i == 7);
}

/* A splice from one kind of head to the other, and the casts that C++ programs use. */
static void either_head(void)
{
    struct cds_wfcq_head locked;
    struct __cds_wfcq_head bare;
    struct cds_wfcq_tail locked_tail, bare_tail;
    cds_wfcq_head_ptr_t either;

    cds_wfcq_init(&locked, &locked_tail);
    __cds_wfcq_init(&bare, &bare_tail);
    cds_wfcq_enqueue(&locked, &locked_tail, prepared(0));
    CHECK(__cds_wfcq_splice_blocking(&bare, &bare_tail, &locked, &locked_tail) == CDS_WFCQ_RET_DEST_EMPTY);
    CHECK(__cds_wfcq_splice_blocking(&locked, &locked_tail, &bare, &bare_tail) == CDS_WFCQ_RET_DEST_EMPTY);
    either.h = &locked;
    CHECK(cds_wfcq_enqueue(either, &locked_tail, prepared(1)));
#ifdef LEEWARD
    CHECK(cds_wfcq_enqueue(cds_wfcq_head_cast(&locked), &locked_tail, prepared(2)));
    CHECK(!cds_wfcq_enqueue(__cds_wfcq_head_cast(&bare), &bare_tail, prepared(3)));
    CHECK(!cds_wfcq_empty(cds_wfcq_head_const_cast(&locked), &locked_tail));
    CHECK(!cds_wfcq_empty(__cds_wfcq_head_const_cast(&bare), &bare_tail));
#endif
    CHECK(value(__cds_wfcq_dequeue_blocking(either, &locked_tail)) == 0);
    CHECK(value(cds_wfcq_dequeue_blocking(&locked, &locked_tail)) == 1);
    either._h = &bare;
    (void)either;
}

/* A dequeued node may be overwritten at once, and enqueued again. */
static void reuse(void)
{
    struct __cds_wfcq_head head;
    struct cds_wfcq_tail tail;
    int i;

    __cds_wfcq_init(&head, &tail);
    for (i = 0; i < 10; i++) {
        CHECK(!cds_wfcq_enqueue(&head, &tail, prepared(0)));
        CHECK(cds_wfcq_enqueue(&head, &tail, prepared(1)));
        CHECK(value(__cds_wfcq_dequeue_blocking(&head, &tail)) == 0);
        memset(&items[0].node, 0xff, sizeof(items[0].node));
        CHECK(value(__cds_wfcq_dequeue_blocking(&head, &tail)) == 1);
        memset(&items[1].node, 0xff, sizeof(items[1].node));
    }
    CHECK(cds_wfcq_empty(&head, &tail));
}

/* Enqueues by hand, and stops in the gap. Returns the link to store. */
static struct cds_wfcq_node **half_enqueue(struct cds_wfcq_tail *tail, struct cds_wfcq_node *node)
{
    return &__atomic_exchange_n(&tail->p, node, __ATOMIC_SEQ_CST)->next;
}

/* What the nonblocking functions answer in a gap after the head's node, and after an element. */
static void gap_nonblocking(void)
{
    struct __cds_wfcq_head head, dest_head;
    struct cds_wfcq_tail tail, dest_tail;
    struct cds_wfcq_node **link;
    int state;

    __cds_wfcq_init(&head, &tail);
    __cds_wfcq_init(&dest_head, &dest_tail);
    link = half_enqueue(&tail, prepared(0));
    CHECK(!cds_wfcq_empty(&head, &tail));
    CHECK(__cds_wfcq_first_nonblocking(&head, &tail) == CDS_WFCQ_WOULDBLOCK);
    CHECK(__cds_wfcq_dequeue_nonblocking(&head, &tail) == CDS_WFCQ_WOULDBLOCK);
    CHECK(__cds_wfcq_dequeue_with_state_nonblocking(&head, &tail, &state) == CDS_WFCQ_WOULDBLOCK);
    CHECK(__cds_wfcq_splice_nonblocking(&dest_head, &dest_tail, &head, &tail) == CDS_WFCQ_RET_WOULDBLOCK);
    CHECK(cds_wfcq_empty(&dest_head, &dest_tail));
    *link = &items[0].node;
    link = half_enqueue(&tail, prepared(1));
    CHECK(__cds_wfcq_first_nonblocking(&head, &tail) == &items[0].node);
    CHECK(__cds_wfcq_next_nonblocking(&head, &tail, &items[0].node) == CDS_WFCQ_WOULDBLOCK);
    /* Without the gap's closing the first node cannot go; it stays where it is. */
    CHECK(__cds_wfcq_dequeue_nonblocking(&head, &tail) == CDS_WFCQ_WOULDBLOCK);
    CHECK(__cds_wfcq_first_nonblocking(&head, &tail) == &items[0].node);
    /* A splice moves the gap along. */
    CHECK(__cds_wfcq_splice_nonblocking(&dest_head, &dest_tail, &head, &tail) == CDS_WFCQ_RET_DEST_EMPTY);
    CHECK(cds_wfcq_empty(&head, &tail));
    CHECK(__cds_wfcq_dequeue_nonblocking(&dest_head, &dest_tail) == CDS_WFCQ_WOULDBLOCK);
    *link = &items[1].node;
    CHECK(value(__cds_wfcq_dequeue_nonblocking(&dest_head, &dest_tail)) == 0);
    CHECK(value(__cds_wfcq_dequeue_nonblocking(&dest_head, &dest_tail)) == 1);
}

/* The blocking functions wait until the gap is closed, however long it takes. */
static void gap_blocking(int milliseconds)
{
    struct cds_wfcq_head head, dest_head;
    struct cds_wfcq_tail tail, dest_tail;
    struct gap gap;

    cds_wfcq_init(&head, &tail);
    cds_wfcq_init(&dest_head, &dest_tail);
    gap_close_later(&gap, half_enqueue(&tail, prepared(0)), &items[0].node, milliseconds);
    CHECK(value(__cds_wfcq_first_blocking(&head, &tail)) == 0);
    gap_end(&gap);
    gap_close_later(&gap, half_enqueue(&tail, prepared(1)), &items[1].node, milliseconds);
    CHECK(value(__cds_wfcq_next_blocking(&head, &tail, &items[0].node)) == 1);
    gap_end(&gap);
    gap_close_later(&gap, half_enqueue(&tail, prepared(2)), &items[2].node, milliseconds);
    CHECK(value(cds_wfcq_dequeue_blocking(&head, &tail)) == 0);
    CHECK(value(cds_wfcq_dequeue_blocking(&head, &tail)) == 1);
    gap_end(&gap);
    CHECK(value(cds_wfcq_dequeue_blocking(&head, &tail)) == 2);
    gap_close_later(&gap, half_enqueue(&tail, prepared(3)), &items[3].node, milliseconds);
    CHECK(cds_wfcq_splice_blocking(&dest_head, &dest_tail, &head, &tail) == CDS_WFCQ_RET_DEST_EMPTY);
    gap_end(&gap);
    CHECK(value(cds_wfcq_dequeue_blocking(&dest_head, &dest_tail)) == 3);
}

#ifdef LEEWARD
struct cancelled {
    struct cds_wfcq_head head;
    struct cds_wfcq_tail tail;
    struct cds_wfcq_node *got;
};

static void *cancels_itself(void *of)
{
    struct cancelled *cancelled = (struct cancelled *)of;

    CHECK(pthread_cancel(pthread_self()) == 0);
    cancelled->got = cds_wfcq_dequeue_blocking(&cancelled->head, &cancelled->tail);
    pthread_testcancel();
    return NULL;
}

/* A wait is no cancellation point: else the mutex would stay locked, and a node be lost. */
static void gap_cancellation(void)
{
    struct cancelled cancelled;
    struct gap gap;
    pthread_t id;
    void *result;

    memset(&cancelled, 0, sizeof(cancelled));
    cds_wfcq_init(&cancelled.head, &cancelled.tail);
    gap_close_later(&gap, half_enqueue(&cancelled.tail, prepared(0)), &items[0].node, 10);
    CHECK(pthread_create(&id, NULL, cancels_itself, &cancelled) == 0);
    CHECK(pthread_join(id, &result) == 0);
    gap_end(&gap);
    CHECK(result == PTHREAD_CANCELED);
    CHECK(cancelled.got == &items[0].node);
    CHECK(pthread_mutex_trylock(&cancelled.head.lock) == 0);
}
#endif

/* A child has the queue as it was. */
static void forked(void)
{
    struct cds_wfcq_head head;
    struct cds_wfcq_tail tail;
    int status;
    pid_t child;

    cds_wfcq_init(&head, &tail);
    cds_wfcq_enqueue(&head, &tail, prepared(0));
    cds_wfcq_enqueue(&head, &tail, prepared(1));
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        cds_wfcq_enqueue(&head, &tail, prepared(2));
        CHECK(value(cds_wfcq_dequeue_blocking(&head, &tail)) == 0);
        CHECK(value(cds_wfcq_dequeue_blocking(&head, &tail)) == 1);
        CHECK(value(cds_wfcq_dequeue_blocking(&head, &tail)) == 2);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(value(cds_wfcq_dequeue_blocking(&head, &tail)) == 0);
}

int main(void)
{
    errno = UNTOUCHED;
    with_mutex();
    without_mutex();
    either_head();
    reuse();
    gap_nonblocking();
    gap_blocking(0);
    gap_blocking(20);
#ifdef LEEWARD
    gap_cancellation();
#endif
    forked();
    return done("wfcqueue");
}
