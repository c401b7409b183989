/* Intrusive queues and stacks: one thread alone, and producers beside a consumer that yields where there is nothing. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "crew.h"
#include "face.h"
#include "figures.h"

#ifdef FACE_HEADER

#include <urcu/lfstack.h>
#include <urcu/wfcqueue.h>

/* Their consumers may be one thread, as ours are: the calls without a lock of their own. */
typedef struct cds_wfcq_node queue_node;
typedef struct cds_lfs_node stack_node;

static struct cds_wfcq_tail tail __attribute__((aligned(128)));
static struct cds_wfcq_head head __attribute__((aligned(128)));
static struct cds_lfs_stack stack __attribute__((aligned(128)));

static void containers_init(void)
{
	cds_wfcq_init(&head, &tail);
	cds_lfs_init(&stack);
}

static inline void queue_push(queue_node *node)
{
	cds_wfcq_node_init(node);
	cds_wfcq_enqueue(&head, &tail, node);
}

/* Returns 1 if it has taken a node. */
static inline int queue_pop(void)
{
	return __cds_wfcq_dequeue_blocking(&head, &tail) != NULL;
}

static inline void stack_push(stack_node *node)
{
	cds_lfs_node_init(node);
	cds_lfs_push(&stack, node);
}

static inline int stack_pop(void)
{
	return __cds_lfs_pop(&stack) != NULL;
}

/* Returns how many nodes it has taken at once, and walked along. */
static inline uint64_t stack_take(void)
{
	struct cds_lfs_head *all = __cds_lfs_pop_all(&stack);
	struct cds_lfs_node *node;
	uint64_t taken = 0;

	if (all) {
		cds_lfs_for_each(all, node)
			taken++;
	}
	return taken;
}

#else

#include <leeward/queue.h>
#include <leeward/stack.h>

typedef struct lee_node queue_node;
typedef struct lee_node stack_node;

static struct lee_queue queue __attribute__((aligned(128))) = LEE_QUEUE_INIT;
static struct lee_stack stack __attribute__((aligned(128))) = LEE_STACK_INIT;

static void containers_init(void)
{
	lee_queue_init(&queue);
	lee_stack_init(&stack);
}

static inline void queue_push(queue_node *node)
{
	lee_queue_push(&queue, node);
}

static inline int queue_pop(void)
{
	struct lee_node *node;

	return lee_queue_trypop(&queue, &node) == 0;
}

static inline void stack_push(stack_node *node)
{
	lee_stack_push(&stack, node);
}

static inline int stack_pop(void)
{
	return lee_stack_pop(&stack) != NULL;
}

static inline uint64_t stack_take(void)
{
	uint64_t taken = 0;

	for (struct lee_node *node = lee_stack_pop_all(&stack); node != NULL; node = lee_stack_next(node))
		taken++;
	return taken;
}

#endif

#define MOST 16
/* The nodes that one thread alone uses in turn. */
#define FEW 1024

/* An object with a value, as programs have them. */
struct object {
	union {
		queue_node queue;
		stack_node stack;
	} node;
	uint64_t value;
};

struct producer {
	unsigned long thread;
	struct object *objects;
	uint64_t count;
	int to_stack;
};

static unsigned waiting __attribute__((aligned(128)));
static int go __attribute__((aligned(128)));

static struct object *objects_new(uint64_t count)
{
	struct object *objects = malloc(count * sizeof(*objects));

	if (!objects) {
		fputs("out of memory\n", stderr);
		exit(1);
	}
	/* The pages are there before anything is measured. */
	memset(objects, 0, count * sizeof(*objects));
	return objects;
}

static __attribute__((noinline)) void queue_pairs(struct object *objects, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		queue_push(&objects[i % FEW].node.queue);
		queue_pop();
	}
}

static __attribute__((noinline)) void stack_pairs(struct object *objects, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		stack_push(&objects[i % FEW].node.stack);
		stack_pop();
	}
}

/*
 * args: the number of pairs; 1 for the stack. Prints the nanoseconds of a push and a pop by one thread, in a process with
 * another one.
 */
void figure_alone(const uint64_t *args)
{
	struct object *objects = objects_new(FEW);
	void (*pairs)(struct object *, uint64_t) = args[1] ? stack_pairs : queue_pairs;
	uint64_t began, took;

	containers_init();
	crew_start(IDLE, 1);
	pairs(objects, args[0] / 8 + 1);
	began = now_ns();
	pairs(objects, args[0]);
	took = now_ns() - began;
	crew_dismiss();
	printf("%f\n", (double)took / (double)args[0]);
}

static void *produce(void *arg)
{
	struct producer *producer = arg;

	__atomic_fetch_add(&waiting, 1, __ATOMIC_RELAXED);
	/* Acquire: partner of the release in pass. */
	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		sched_yield();
	for (uint64_t i = 0; i < producer->count; i++) {
		if (producer->to_stack)
			stack_push(&producer->objects[i].node.stack);
		else
			queue_push(&producer->objects[i].node.queue);
	}
	return NULL;
}

/* The producers push all their objects, and this thread takes them; returns the nanoseconds. */
static uint64_t pass(struct producer *producers, unsigned number, uint64_t left)
{
	uint64_t began;

	__atomic_store_n(&go, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&waiting, 0, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < number; i++)
		thread_start(&producers[i].thread, produce, &producers[i]);
	while (__atomic_load_n(&waiting, __ATOMIC_RELAXED) < number)
		sched_yield();
	began = now_ns();
	/* Release: partner of the acquire in produce. */
	__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
	while (left > 0) {
		uint64_t taken = producers->to_stack ? stack_take() : (uint64_t)queue_pop();

		if (taken == 0)
			sched_yield();
		left -= taken;
	}
	began = now_ns() - began;
	for (unsigned i = 0; i < number; i++)
		thread_join(producers[i].thread);
	return began;
}

/*
 * args: the number of producers; of objects, each; 1 for the stack, whose nodes are taken all at once. Prints the nodes that
 * go through it in a second, over eight times.
 */
void figure_pass(const uint64_t *args)
{
	unsigned number = args[0] < MOST ? (unsigned)args[0] : MOST;
	uint64_t each = args[1], took = 0;
	struct producer producers[MOST];

	containers_init();
	for (unsigned i = 0; i < number; i++)
		producers[i] = (struct producer){ .objects = objects_new(each), .count = each, .to_stack = args[2] != 0 };
	for (int i = 0; i < 8; i++)
		took += pass(producers, number, number * each);
	printf("%f\n", (double)(number * each * 8) / (double)took * 1e9);
}
