/* Grace periods: the time of `synchronize`, called over and over; and what each costs a reader of qsbr. */
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "crew.h"
#include "face.h"
#include "figures.h"
#include "median.h"

/*
 * Prints the mean time of a call, in microseconds, of three calls at least. The clock is read after batches of calls: it
 * costs as much as a short one.
 */
static void synchronize_for(uint64_t ns)
{
	uint64_t began, took, calls = 0, batch = 1;

	face_synchronize();
	began = now_ns();
	do {
		for (uint64_t i = 0; i < batch; i++)
			face_synchronize();
		calls += batch;
		took = now_ns() - began;
		if (took < ns / 8)
			batch *= 2;
	} while (calls < 3 || took < ns);
	printf("%f\n", (double)took / 1e3 / (double)calls);
}

/* args: the number of readers, all asleep; milliseconds. */
void figure_synchronize_idle(const uint64_t *args)
{
	crew_start(IDLE, (unsigned)args[0]);
	synchronize_for(args[1] * 1000000u);
	crew_dismiss();
}

/* args: the number of readers, which read without pause; milliseconds. */
void figure_synchronize_busy(const uint64_t *args)
{
	crew_start(BUSY, (unsigned)args[0]);
	synchronize_for(args[1] * 1000000u);
	crew_dismiss();
}

/* The time after which a grace period has surely begun. */
#define BEGINS_NS 500

/* Even: the writer's turn, which then calls `synchronize`; odd: the reader's. ENDS: nobody's. */
static uint64_t turn __attribute__((aligned(128)));
#define ENDS UINT64_MAX

static uint64_t turn_now(void)
{
	/* Acquire: partner of the release in give_turn. */
	return __atomic_load_n(&turn, __ATOMIC_ACQUIRE);
}

static void give_turn(uint64_t number)
{
	/* Release: partner of the acquire in turn_now. */
	__atomic_store_n(&turn, number, __ATOMIC_RELEASE);
}

static void *synchronize_by_turns(void *arg)
{
	uint64_t now;

	(void)arg;
	while ((now = turn_now()) != ENDS) {
		if (now % 2 != 0)
			continue;
		/* Unless the turns have ended meanwhile. */
		if (__atomic_compare_exchange_n(&turn, &now, now + 1, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			face_synchronize();
	}
	return NULL;
}

static void spin_for(uint64_t ns)
{
	uint64_t began = now_ns();

	while (now_ns() - began < ns)
		;
}

/*
 * args: the most times; the most milliseconds. Prints the nanoseconds of a quiescent state that is announced when a grace
 * period has begun and the writer waits: the median, less that of reading the clock.
 */
void figure_begun(const uint64_t *args)
{
	uint64_t most = args[0], until = now_ns() + args[1] * 1000000u, times = 0, began;
	uint64_t *states = calloc(most, sizeof(*states)), *clocks = calloc(most, sizeof(*clocks));
	unsigned long writer;

	if (!states || !clocks) {
		fputs("out of memory\n", stderr);
		exit(1);
	}
	face_register();
	thread_start(&writer, synchronize_by_turns, NULL);
	do {
		/* The writer may have been late, and wait still. */
		while (turn_now() != 2 * times + 1)
			face_quiescent();
		spin_for(BEGINS_NS);
		began = now_ns();
		clocks[times] = now_ns() - began;
		began = now_ns();
		face_quiescent();
		states[times] = now_ns() - began;
		times++;
		give_turn(2 * times);
	} while (times < most && now_ns() < until);
	/* The writer takes this last turn, or sees that there is none. */
	give_turn(ENDS);
	face_offline();
	thread_join(writer);
	face_online();
	face_unregister();
	printf("%f\n", median(states, times) - median(clocks, times));
	free(states);
	free(clocks);
}
