/* The threads of crew.h. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "crew.h"
#include "face.h"
#include "node.h"

#define BATCH 1024
#define DWELL_NS 100000u
#define STACK (128 * 1024)
#define MOST 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t dismissal = PTHREAD_COND_INITIALIZER;
static unsigned at_work __attribute__((aligned(128)));
static int dismissed __attribute__((aligned(128)));
static pthread_t threads[MOST];
static unsigned size;

static int is_dismissed(void)
{
	return __atomic_load_n(&dismissed, __ATOMIC_RELAXED);
}

static void say_at_work(void)
{
	/* Release: partner of the acquire in crew_start: the thread is registered. */
	__atomic_fetch_add(&at_work, 1, __ATOMIC_RELEASE);
}

static void *idle(void *arg)
{
	(void)arg;
	face_register();
	one_section();
	face_offline();
	say_at_work();
	pthread_mutex_lock(&lock);
	while (!is_dismissed())
		pthread_cond_wait(&dismissal, &lock);
	pthread_mutex_unlock(&lock);
	face_online();
	face_unregister();
	return NULL;
}

static void *busy(void *arg)
{
	(void)arg;
	face_register();
	one_section();
	say_at_work();
	while (!is_dismissed()) {
		for (int i = 0; i < BATCH && !is_dismissed(); i++)
			one_section();
		face_quiescent();
	}
	face_unregister();
	return NULL;
}

static void *dwell(void *arg)
{
	(void)arg;
	face_register();
	one_section();
	say_at_work();
	while (!is_dismissed()) {
		uint64_t until = now_ns() + DWELL_NS;

		face_lock();
		while (now_ns() < until)
			;
		face_unlock();
		face_quiescent();
	}
	face_unregister();
	return NULL;
}

void crew_start(enum job job, unsigned count)
{
	static void *(*const run[])(void *) = { [IDLE] = idle, [BUSY] = busy, [DWELL] = dwell };

	if (count > MOST) {
		fprintf(stderr, "the crew has at most %d threads\n", MOST);
		exit(2);
	}
	for (size = 0; size < count; size++)
		thread_start(&threads[size], run[job], NULL);
	/* Acquire: partner of the release in say_at_work. */
	while (__atomic_load_n(&at_work, __ATOMIC_ACQUIRE) < count)
		usleep(200);
	/* The last of them goes to sleep. */
	usleep(2000);
}

void crew_dismiss(void)
{
	pthread_mutex_lock(&lock);
	__atomic_store_n(&dismissed, 1, __ATOMIC_RELAXED);
	pthread_cond_broadcast(&dismissal);
	pthread_mutex_unlock(&lock);
	while (size > 0)
		thread_join(threads[--size]);
}

void thread_start(unsigned long *thread, void *(*run)(void *arg), void *arg)
{
	pthread_attr_t attr;
	int error;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	error = pthread_create(thread, &attr, run, arg);
	pthread_attr_destroy(&attr);
	if (error != 0) {
		fprintf(stderr, "a thread could not be started: error %d\n", error);
		exit(1);
	}
}

void thread_join(unsigned long thread)
{
	pthread_join(thread, NULL);
}
