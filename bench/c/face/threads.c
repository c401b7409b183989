/* Threads that come and go. */
#include <stdio.h>

#include "clock.h"
#include "crew.h"
#include "face.h"
#include "figures.h"
#include "node.h"

/* src/c/instructions.rs counts the instructions of this function by its name. */
static __attribute__((noinline)) void register_pairs(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		face_register();
		face_unregister();
	}
}

/*
 * args: the number of pairs; of other threads, registered and asleep, without which the C library's locks need no locked
 * instruction. Prints the nanoseconds of registering and unregistering.
 */
void figure_register(const uint64_t *args)
{
	uint64_t began, took;

	crew_start(IDLE, (unsigned)args[1]);
	register_pairs(args[0] / 8 + 1);
	began = now_ns();
	register_pairs(args[0]);
	took = now_ns() - began;
	crew_dismiss();
	printf("%f\n", (double)took / (double)args[0]);
}

/* Whether the threads that come register, or leave that to their section, as bp's do. */
static int registers;

static void *read_once(void *arg)
{
	(void)arg;
	if (registers)
		face_register();
	one_section();
	if (registers)
		face_unregister();
	return NULL;
}

/*
 * args: the number of threads; 1 if they register and unregister. Prints the microseconds of a thread, one after the other:
 * start, one section, exit, join.
 */
void figure_churn(const uint64_t *args)
{
	uint64_t began = now_ns();

	registers = args[1] != 0;
	for (uint64_t i = 0; i < args[0]; i++) {
		unsigned long thread;

		thread_start(&thread, read_once, NULL);
		thread_join(thread);
	}
	printf("%f\n", (double)(now_ns() - began) / 1e3 / (double)args[0]);
}
