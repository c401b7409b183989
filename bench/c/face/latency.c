/* The time until a grace period, a callback, a barrier or a cookie is done, beside a reader with sections of 100 us. */
#include <semaphore.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "crew.h"
#include "face.h"
#include "figures.h"
#include "median.h"

/*
 * Calls back to back would find the reader outside: the caller that it woke takes its processor. Pauses of one length would
 * end at one point of its sections, so each is longer than the one before by a part of them, modulo a section.
 */
#define PAUSE_US 200
#define SECTION_US 100
#define STEP_US 37
#define MOST 1000
/* Between two looks at a cookie. */
#define POLL_NS 20000

static struct face_head head;
static sem_t has_run;

static void post(struct face_head *of)
{
	(void)of;
	sem_post(&has_run);
}

static void synchronize(void)
{
	face_synchronize();
}

static void callback(void)
{
	face_defer(&head, post);
	face_offline();
	while (sem_wait(&has_run) != 0)
		;
	face_online();
}

static void barrier(void)
{
	face_defer(&head, post);
	face_barrier();
	while (sem_wait(&has_run) != 0)
		;
}

/* A thread that yields may lose its processor to the reader for milliseconds. */
static void pause_between(void)
{
	struct timespec pause = { 0, POLL_NS };

	face_quiescent();
	nanosleep(&pause, NULL);
}

/* Where there is nothing to poll, a callback that raises a flag is the nearest to it. */
static void poll_cookie(void)
{
#if FACE_POLLS
	struct face_cookie cookie = face_start_poll();

	while (!face_poll(cookie))
		pause_between();
#else
	face_defer(&head, post);
	while (sem_trywait(&has_run) != 0)
		pause_between();
#endif
}

/*
 * Returns the median time of `what`, in microseconds, called now and then. A mean would be that of the scheduler: where
 * there are no more processors than threads that run, a thread waits for one for milliseconds now and then.
 */
static double now_and_then(void (*what)(void), uint64_t times)
{
	uint64_t took[MOST];

	for (uint64_t i = 0; i < times; i++) {
		uint64_t began;

		face_offline();
		usleep(PAUSE_US + (unsigned)(i * STEP_US % SECTION_US));
		face_online();
		began = now_ns();
		what();
		took[i] = now_ns() - began;
	}
	return median(took, times) / 1e3;
}

/* args: how often. Prints the microseconds of synchronize, of a callback, of one and then a barrier, and of a cookie. */
void figure_latency(const uint64_t *args)
{
	uint64_t times = args[0] < MOST ? args[0] : MOST;
	double grace, one, all, cookie;

	sem_init(&has_run, 0, 0);
	/* A sleep ends when its time is up, and not 50 us later. */
	prctl(PR_SET_TIMERSLACK, 1L, 0L, 0L, 0L);
	crew_start(DWELL, 1);
	face_register();
	/* The worker starts with the first callback. */
	barrier();
	grace = now_and_then(synchronize, times);
	one = now_and_then(callback, times);
	all = now_and_then(barrier, times);
	cookie = now_and_then(poll_cookie, times);
	face_unregister();
	crew_dismiss();
	printf("%f %f %f %f\n", grace, one, all, cookie);
}
