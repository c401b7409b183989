/*
 * The stack of nodes: order, both pushes, pops of one and of all.
 */
#include "check.h"

#include <leeward/mutex.h>
#include <leeward/stack.h>

#include <stdlib.h>

#define THREADS 2
#define TURNS 20000

struct object {
	int number;
	struct lee_node node;
};

static struct object *object_of(struct lee_node *node)
{
	return LEE_OBJECT(node, struct object, node);
}

static void alone(void)
{
	struct lee_stack stack = LEE_STACK_INIT;
	struct object objects[4];
	struct lee_node *node;
	int i;

	CHECK(lee_stack_is_empty(&stack));
	CHECK(lee_stack_pop(&stack) == NULL);
	CHECK(lee_stack_pop_all(&stack) == NULL);
	lee_stack_init(&stack);
	for (i = 0; i < 4; i++) {
		objects[i].number = i;
		if (i % 2 == 0)
			CHECK_EQ(lee_stack_push(&stack, &objects[i].node), i == 0);
		else
			CHECK(!lee_stack_push_wait_free(&stack, &objects[i].node));
	}
	CHECK_EQ(object_of(lee_stack_pop(&stack))->number, 3);
	CHECK(!lee_stack_is_empty(&stack));
	i = 2;
	for (node = lee_stack_pop_all(&stack); node != NULL; node = lee_stack_next(node), i--)
		CHECK_EQ(object_of(node)->number, i);
	CHECK_EQ(i, -1);
	CHECK(lee_stack_is_empty(&stack));
	CHECK(lee_stack_push_wait_free(&stack, &objects[0].node));
	CHECK(lee_stack_pop(&stack) == &objects[0].node);
}

static struct lee_stack stack = LEE_STACK_INIT;
static struct lee_mutex mutex = LEE_MUTEX_INIT;
static int seen[THREADS * TURNS];

static void *produce(void *first)
{
	struct object *object;
	int i;

	for (i = 0; i < TURNS; i++) {
		object = (struct object *)malloc(sizeof(*object));
		CHECK(object != NULL);
		object->number = *(int *)first + i;
		if (i % 2 == 0)
			KEEPS_ERRNO(lee_stack_push(&stack, &object->node));
		else
			KEEPS_ERRNO(lee_stack_push_wait_free(&stack, &object->node));
	}
	return NULL;
}

static int see(struct lee_node *node)
{
	struct object *object = object_of(node);

	CHECK_EQ(__atomic_add_fetch(&seen[object->number], 1, __ATOMIC_RELAXED), 1);
	free(object);
	return 1;
}

static int left = THREADS * TURNS;

static void *consume(void *which)
{
	struct lee_node *node, *next;
	int count;

	while (__atomic_load_n(&left, __ATOMIC_RELAXED) != 0) {
		count = 0;
		/* The pops of one, and those of all, under one lock. */
		lee_mutex_lock(&mutex);
		KEEPS_ERRNO(node = *(int *)which ? lee_stack_pop_all(&stack) : lee_stack_pop(&stack));
		lee_mutex_unlock(&mutex);
		for (; node != NULL; node = next) {
			next = *(int *)which ? lee_stack_next(node) : NULL;
			count += see(node);
		}
		__atomic_sub_fetch(&left, count, __ATOMIC_RELAXED);
		sched_yield();
	}
	return NULL;
}

static void beside_one_another(void)
{
	pthread_t threads[2 * THREADS];
	int numbers[2 * THREADS];
	int i;

	for (i = 0; i < THREADS; i++) {
		numbers[i] = i * TURNS;
		numbers[THREADS + i] = i;
		threads[i] = check_start(produce, &numbers[i]);
		threads[THREADS + i] = check_start(consume, &numbers[THREADS + i]);
	}
	for (i = 0; i < 2 * THREADS; i++)
		check_join(threads[i]);
	CHECK(lee_stack_is_empty(&stack));
}

static struct lee_stack half = LEE_STACK_INIT;

/* lee_stack_push_wait_free(), in which the second exchange comes when a pop sleeps for it. */
static void *link_late(void *argument)
{
	struct object *object = (struct object *)malloc(sizeof(*object));

	(void)argument;
	CHECK(object != NULL);
	object->number = 7;
	__atomic_store_n(&object->node.lee_1_next, (struct lee_node *)NULL, __ATOMIC_RELAXED);
	LEE_1_RELEASING(&object->node);
	CHECK(__atomic_exchange_n(&half.lee_1_top, &object->node, __ATOMIC_RELEASE) == NULL);
	while (__atomic_load_n(&object->node.lee_1_next, __ATOMIC_RELAXED) == NULL)
		sched_yield();
	lee_1_node_link(&object->node.lee_1_next, LEE_1_END_NODE);
	return NULL;
}

/* A node whose link was waited for is the consumer's, and may be freed. */
static void waits_for_a_link(void)
{
	pthread_t thread = check_start(link_late, NULL);
	struct lee_node *node;

	while ((node = lee_stack_pop_all(&half)) == NULL)
		sched_yield();
	CHECK(lee_stack_next(node) == NULL);
	CHECK_EQ(object_of(node)->number, 7);
	free(object_of(node));
	check_join(thread);
}

int main(void)
{
	alone();
	waits_for_a_link();
	beside_one_another();
	return check_end("stack");
}
