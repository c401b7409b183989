/*
 * The queue of nodes: order, waiting, splicing, many producers.
 */
#include "check.h"

#include <leeward/queue.h>

#include <stdlib.h>

#define PRODUCERS 3
#define TURNS 20000

struct object {
	int number;
	struct lee_node node;
	int producer;
};

static struct object *object_of(struct lee_node *node)
{
	return LEE_OBJECT(node, struct object, node);
}

static struct timespec soon(void)
{
	struct timespec deadline;

	lee_deadline_after(&deadline, 2 * 1000 * 1000);
	return deadline;
}

static void alone(void)
{
	struct lee_queue queue = LEE_QUEUE_INIT, other;
	struct timespec deadline = soon();
	struct object objects[4];
	struct lee_node *node;
	int i;

	lee_queue_init(&other);
	CHECK(lee_queue_is_empty(&queue));
	KEEPS_ERRNO(CHECK_EQ(lee_queue_trypop(&queue, &node), EAGAIN));
	KEEPS_ERRNO(CHECK_EQ(lee_queue_timedpop(&queue, &node, &deadline), ETIMEDOUT));
	CHECK_EQ(lee_queue_timedpop(&queue, &node, NULL), EINVAL);
	CHECK_EQ(lee_queue_splice(&other, &queue), EAGAIN);
	for (i = 0; i < 4; i++) {
		objects[i].number = i;
		CHECK_EQ(lee_queue_push(i < 2 ? &queue : &other, &objects[i].node), i % 2 == 0);
	}
	CHECK_EQ(lee_queue_splice(&queue, &other), 0);
	CHECK(lee_queue_is_empty(&other));
	for (i = 0; i < 4; i++) {
		node = NULL;
		if (i == 1)
			CHECK_EQ(lee_queue_timedpop(&queue, &node, &deadline), 0);
		else if (i == 2)
			CHECK_EQ(lee_queue_trypop(&queue, &node), 0);
		else
			node = lee_queue_pop(&queue);
		CHECK_EQ(object_of(node)->number, i);
		/* A popped node may be pushed again at once. */
		CHECK(lee_queue_push(&other, node));
		CHECK(lee_queue_pop(&other) == node);
	}
	CHECK(lee_queue_is_empty(&queue));
}

static struct lee_queue queue = LEE_QUEUE_INIT;

static void *produce(void *which)
{
	struct object *object;
	int i;

	for (i = 0; i < TURNS; i++) {
		object = (struct object *)malloc(sizeof(*object));
		CHECK(object != NULL);
		object->number = i;
		object->producer = *(int *)which;
		KEEPS_ERRNO(lee_queue_push(&queue, &object->node));
		if (i % 1000 == 0)
			sched_yield();
	}
	return NULL;
}

static void beside_one_another(void)
{
	pthread_t threads[PRODUCERS];
	int next[PRODUCERS] = { 0 };
	int names[PRODUCERS];
	struct timespec deadline;
	struct lee_node *node;
	struct object *object;
	int i;

	for (i = 0; i < PRODUCERS; i++) {
		names[i] = i;
		threads[i] = check_start(produce, &names[i]);
	}
	for (i = 0; i < PRODUCERS * TURNS; i++) {
		if (i % 2 == 0) {
			KEEPS_ERRNO(node = lee_queue_pop(&queue));
		} else {
			lee_deadline_after(&deadline, UINT64_C(60) * 1000 * 1000 * 1000);
			KEEPS_ERRNO(CHECK_EQ(lee_queue_timedpop(&queue, &node, &deadline), 0));
		}
		CHECK(node != NULL);
		object = object_of(node);
		CHECK_EQ(object->number, next[object->producer]);
		next[object->producer]++;
		free(object);
	}
	for (i = 0; i < PRODUCERS; i++)
		check_join(threads[i]);
	CHECK(lee_queue_is_empty(&queue));
}

int main(void)
{
	alone();
	beside_one_another();
	return check_end("queue");
}
