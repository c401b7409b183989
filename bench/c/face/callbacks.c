/* Deferred callbacks: what it costs to hand one over, what one costs in all, and how long it takes until all have run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "crew.h"
#include "face.h"
#include "figures.h"

#define MOST 16

/* As large as a cache line: producers do not share one. */
struct object {
	struct face_head head;
	char rest[64 - sizeof(struct face_head)];
} __attribute__((aligned(64)));

struct producer {
	unsigned long thread;
	struct object *objects;
	uint64_t count;
	uint64_t took;
};

static unsigned waiting __attribute__((aligned(128)));
static int go __attribute__((aligned(128)));
static uint64_t ran __attribute__((aligned(128)));

/* One thread at a time runs callbacks. */
static void count(struct face_head *head)
{
	(void)head;
	__atomic_store_n(&ran, __atomic_load_n(&ran, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

/* Waits until all that was handed over has run, and checks that it has. */
static void wait_for(uint64_t expected)
{
	face_barrier();
	if (__atomic_load_n(&ran, __ATOMIC_RELAXED) != expected) {
		fprintf(stderr, "of %lu callbacks %lu have run\n", (unsigned long)expected, (unsigned long)ran);
		exit(1);
	}
}

static struct object *objects_new(uint64_t count)
{
	struct object *objects = aligned_alloc(64, count * sizeof(*objects));

	if (!objects) {
		fputs("out of memory\n", stderr);
		exit(1);
	}
	/* The pages are there before anything is measured. */
	memset(objects, 0, count * sizeof(*objects));
	return objects;
}

/* src/c/instructions.rs counts the instructions of this function by its name. */
static __attribute__((noinline)) void hand_over(struct object *objects, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		face_defer(&objects[i].head, count);
}

static void *produce(void *arg)
{
	struct producer *producer = arg;
	uint64_t began;

	face_register();
	__atomic_fetch_add(&waiting, 1, __ATOMIC_RELAXED);
	/* Acquire: partner of the release in flood: the clocks were read before. */
	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		;
	began = now_ns();
	hand_over(producer->objects, producer->count);
	producer->took = now_ns() - began;
	face_unregister();
	return NULL;
}

/* Starts the worker, which is not to be measured, and returns the number of callbacks that were run. */
static uint64_t warm_up(void)
{
	struct object *object = objects_new(1);

	face_register();
	face_defer(&object->head, count);
	face_unregister();
	wait_for(1);
	free(object);
	return 1;
}

struct sums {
	double handed, cpu, all;
};

/* All producers hand their objects over, and all callbacks run. */
static void flood(struct producer *producers, unsigned number, uint64_t expected, struct sums *sums)
{
	uint64_t began, cpu;

	__atomic_store_n(&go, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&waiting, 0, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < number; i++)
		thread_start(&producers[i].thread, produce, &producers[i]);
	while (__atomic_load_n(&waiting, __ATOMIC_RELAXED) < number)
		;
	cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	began = now_ns();
	/* Release: partner of the acquire in produce. */
	__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < number; i++) {
		thread_join(producers[i].thread);
		sums->handed += (double)producers[i].took;
	}
	wait_for(expected);
	sums->all += (double)(now_ns() - began);
	sums->cpu += (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu);
}

/*
 * args: the number of producers; of objects, each; of times. Prints the nanoseconds that a producer takes to hand one over,
 * the processor time of a callback in all, and the callbacks that are run a second.
 */
void figure_defer(const uint64_t *args)
{
	unsigned number = args[0] < MOST ? (unsigned)args[0] : MOST;
	uint64_t each = args[1], times = args[2], expected = warm_up();
	double all = (double)(number * each * times);
	struct producer producers[MOST];
	struct sums sums = { 0, 0, 0 };

	for (unsigned i = 0; i < number; i++)
		producers[i] = (struct producer){ .objects = objects_new(each), .count = each };
	for (uint64_t i = 0; i < times; i++)
		flood(producers, number, expected += number * each, &sums);
	printf("%f %f %f\n", sums.handed / all, sums.cpu / all, all / sums.all * 1e9);
}

/*
 * args: the number of callbacks; microseconds between two of them. Prints the nanoseconds that it takes to hand one over,
 * the clock's included, and the processor time of a callback: of the call, and of all other threads.
 */
void figure_sparse(const uint64_t *args)
{
	uint64_t number = args[0], between = args[1] * 1000, expected = warm_up(), calls = 0, own, process, others;
	struct object *objects = objects_new(number);

	face_register();
	process = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	own = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (uint64_t i = 0; i < number; i++) {
		uint64_t began = now_ns(), ended;

		face_defer(&objects[i].head, count);
		ended = now_ns();
		calls += ended - began;
		while (now_ns() - ended < between)
			;
		face_quiescent();
	}
	face_offline();
	wait_for(expected + number);
	face_online();
	own = clock_ns(CLOCK_THREAD_CPUTIME_ID) - own;
	process = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - process;
	others = process > own ? process - own : 0;
	face_unregister();
	printf("%f %f\n", (double)calls / (double)number, (double)(calls + others) / (double)number);
}
