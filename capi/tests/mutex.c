/*
 * The mutex: alone, contended, with deadlines, beside forks, signals and
 * cancellation, and freed by the thread that has it.
 */
#include "check.h"

#include <leeward/mutex.h>

#define THREADS 4
#define TURNS 20000

static struct lee_mutex mutex = LEE_MUTEX_INIT;
static unsigned long counter;

static struct timespec soon(void)
{
	struct timespec deadline;

	lee_deadline_after(&deadline, 5 * 1000 * 1000);
	return deadline;
}

static void alone(void)
{
	struct lee_mutex zeroed, made;

	memset(&zeroed, 0, sizeof(zeroed));
	memset(&made, 0xff, sizeof(made));
	lee_mutex_init(&made);
	KEEPS_ERRNO(lee_mutex_lock(&zeroed));
	KEEPS_ERRNO(CHECK_EQ(lee_mutex_trylock(&made), 0));
	CHECK(lee_mutex_is_locked(&zeroed) && lee_mutex_is_locked(&made));
	KEEPS_ERRNO(CHECK_EQ(lee_mutex_trylock(&zeroed), EBUSY));
	KEEPS_ERRNO(lee_mutex_unlock(&zeroed));
	KEEPS_ERRNO(lee_mutex_unlock_fair(&made));
	CHECK(!lee_mutex_is_locked(&zeroed) && !lee_mutex_is_locked(&made));
	CHECK_EQ(lee_mutex_trylock(&zeroed), 0);
}

static void *count(void *unused)
{
	struct timespec deadline;
	int i;

	(void)unused;
	for (i = 0; i < TURNS; i++) {
		switch (i % 4) {
		case 0:
			while (lee_mutex_trylock(&mutex) != 0)
				sched_yield();
			break;
		case 1:
			lee_deadline_after(&deadline, UINT64_C(60) * 1000 * 1000 * 1000);
			KEEPS_ERRNO(CHECK_EQ(lee_mutex_timedlock(&mutex, &deadline), 0));
			break;
		default:
			KEEPS_ERRNO(lee_mutex_lock(&mutex));
		}
		counter++;
		if (i % 1000 == 0)
			sched_yield();
		if (i % 64 == 0)
			KEEPS_ERRNO(lee_mutex_unlock_fair(&mutex));
		else
			KEEPS_ERRNO(lee_mutex_unlock(&mutex));
	}
	return NULL;
}

static void contended(void)
{
	pthread_t threads[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		threads[i] = check_start(count, NULL);
	for (i = 0; i < THREADS; i++)
		check_join(threads[i]);
	CHECK_EQ(counter, THREADS * TURNS);
}

static void deadlines(void)
{
	struct timespec deadline = soon(), wrong;

	lee_mutex_lock(&mutex);
	KEEPS_ERRNO(CHECK_EQ(lee_mutex_timedlock(&mutex, &deadline), ETIMEDOUT));
	deadline.tv_sec = -5;
	CHECK_EQ(lee_mutex_timedlock(&mutex, &deadline), ETIMEDOUT);
	wrong = soon();
	wrong.tv_nsec = 1000000000;
	CHECK_EQ(lee_mutex_timedlock(&mutex, &wrong), EINVAL);
	wrong.tv_nsec = -1;
	CHECK_EQ(lee_mutex_timedlock(&mutex, &wrong), EINVAL);
	CHECK_EQ(lee_mutex_timedlock(&mutex, NULL), EINVAL);
	lee_mutex_unlock(&mutex);
	/* It need not wait, so that the deadline is not looked at. */
	CHECK_EQ(lee_mutex_timedlock(&mutex, &wrong), 0);
	lee_mutex_unlock(&mutex);
	deadline.tv_nsec = 0;
	CHECK_EQ(lee_mutex_timedlock(&mutex, &deadline), 0);
	lee_mutex_unlock(&mutex);
	KEEPS_ERRNO(lee_deadline_after(&deadline, UINT64_MAX));
	CHECK(deadline.tv_sec > 0 && deadline.tv_nsec >= 0 && deadline.tv_nsec < 1000000000);
}

static void unlock(void *which)
{
	KEEPS_ERRNO(lee_mutex_unlock((struct lee_mutex *)which));
}

static void unlock_fair(void *which)
{
	lee_mutex_unlock_fair((struct lee_mutex *)which);
}

static void misuse(void)
{
	struct lee_mutex never = LEE_MUTEX_INIT;

	check_misuses("lee_mutex_unlock", &never, "a mutex that is not locked", unlock, &never);
	check_misuses("lee_mutex_unlock_fair", &never, "a mutex that is not locked", unlock_fair, &never);
	CHECK_EQ(lee_mutex_trylock(&never), 0);
	check_says(NULL, unlock, &never);
}

/* The child holds what the forking thread held. */
static void child_of_holder(void *unused)
{
	(void)unused;
	CHECK_EQ(lee_mutex_trylock(&mutex), EBUSY);
	lee_mutex_unlock(&mutex);
	counter = 0;
	contended();
}

static void child_of_bystander(void *unused)
{
	struct timespec deadline = soon();

	(void)unused;
	CHECK_EQ(lee_mutex_trylock(&mutex), EBUSY);
	CHECK_EQ(lee_mutex_timedlock(&mutex, &deadline), ETIMEDOUT);
}

static int step;

static void *holder(void *unused)
{
	(void)unused;
	lee_mutex_lock(&mutex);
	__atomic_store_n(&step, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) != 2)
		check_nap(1);
	lee_mutex_unlock(&mutex);
	return NULL;
}

static void forks(void)
{
	pthread_t thread;

	__atomic_store_n(&step, 0, __ATOMIC_RELEASE);
	thread = check_start(holder, NULL);
	while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) != 1)
		check_nap(1);
	check_ends_well(check_fork(child_of_bystander, NULL));
	__atomic_store_n(&step, 2, __ATOMIC_RELEASE);
	check_join(thread);
	lee_mutex_lock(&mutex);
	check_ends_well(check_fork(child_of_holder, NULL));
	CHECK(lee_mutex_is_locked(&mutex));
	lee_mutex_unlock(&mutex);
}

static int handled, got;

static void handler(int number)
{
	(void)number;
	__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

static void *waits(void *unused)
{
	(void)unused;
	KEEPS_ERRNO(lee_mutex_lock(&mutex));
	__atomic_store_n(&got, 1, __ATOMIC_RELEASE);
	lee_mutex_unlock(&mutex);
	pthread_testcancel();
	return NULL;
}

/* Neither a signal nor a cancellation ends a wait. */
static void interrupted(bool is_cancelled)
{
	struct sigaction action;
	pthread_t thread;
	void *result;
	int i;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	handled = got = 0;
	lee_mutex_lock(&mutex);
	thread = check_start(waits, NULL);
	if (is_cancelled) {
		check_nap(5);
		CHECK_EQ(pthread_cancel(thread), 0);
		check_nap(10);
	} else {
		for (i = 0; i < 20; i++) {
			check_nap(1);
			CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
		}
		while (__atomic_load_n(&handled, __ATOMIC_RELAXED) == 0)
			check_nap(1);
	}
	CHECK_EQ(__atomic_load_n(&got, __ATOMIC_ACQUIRE), 0);
	lee_mutex_unlock(&mutex);
	result = check_join(thread);
	CHECK_EQ(__atomic_load_n(&got, __ATOMIC_ACQUIRE), 1);
	CHECK((result == PTHREAD_CANCELED) == is_cancelled);
}

struct counted {
	struct lee_mutex mutex;
	int references;
};

static void *drop_reference(void *object)
{
	struct counted *counted = (struct counted *)object;
	int left;

	lee_mutex_lock(&counted->mutex);
	left = --counted->references;
	lee_mutex_unlock(&counted->mutex);
	if (left == 0)
		free(counted);
	return NULL;
}

/* The last to have the lock frees it, perhaps inside of the other's unlock. */
static void freed_by_the_last(void)
{
	int i;

	for (i = 0; i < 500; i++) {
		struct counted *counted = (struct counted *)calloc(1, sizeof(*counted));
		pthread_t thread;

		CHECK(counted != NULL);
		counted->references = 2;
		thread = check_start(drop_reference, counted);
		drop_reference(counted);
		check_join(thread);
	}
}

int main(void)
{
	check_begin();
	alone();
	contended();
	deadlines();
	misuse();
	forks();
	if (CHECK_HANDLERS_RUN)
		interrupted(false);
	if (CHECK_THREADS_UNWIND)
		interrupted(true);
	freed_by_the_last();
	return check_end("mutex");
}
