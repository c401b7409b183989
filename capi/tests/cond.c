/*
 * The condition variable: no notification is lost, deadlines, misuse, and waits
 * beside forks, signals and cancellation.
 */
#include "check.h"

#include <leeward/cond.h>

#define TOKENS 20000
#define CONSUMERS 3

static struct lee_mutex mutex = LEE_MUTEX_INIT;
static struct lee_cond changed = LEE_COND_INIT;
static int tokens, taken, waiting;

static struct timespec soon(void)
{
	struct timespec deadline;

	lee_deadline_after(&deadline, 5 * 1000 * 1000);
	return deadline;
}

static void *consume(void *unused)
{
	struct timespec deadline;
	int mine = 0;

	(void)unused;
	lee_mutex_lock(&mutex);
	for (;;) {
		while (tokens == 0) {
			if (mine % 2 == 0) {
				KEEPS_ERRNO(CHECK_EQ(lee_cond_wait(&changed, &mutex), 0));
			} else {
				lee_deadline_after(&deadline, UINT64_C(60) * 1000 * 1000 * 1000);
				KEEPS_ERRNO(CHECK_EQ(lee_cond_timedwait(&changed, &mutex, &deadline), 0));
			}
			CHECK(lee_mutex_is_locked(&mutex));
		}
		if (tokens < 0)
			break;
		tokens--;
		taken++;
		mine++;
	}
	lee_mutex_unlock(&mutex);
	return NULL;
}

static void tokens_are_taken(void)
{
	pthread_t threads[CONSUMERS];
	int i, last = 0;

	tokens = taken = 0;
	for (i = 0; i < CONSUMERS; i++)
		threads[i] = check_start(consume, NULL);
	for (i = 0; i < TOKENS; i++) {
		lee_mutex_lock(&mutex);
		tokens++;
		if (i % 2 == 0)
			KEEPS_ERRNO(lee_cond_signal(&changed));
		lee_mutex_unlock(&mutex);
		if (i % 2 == 1)
			KEEPS_ERRNO(lee_cond_signal(&changed));
		if (i % 500 == 0)
			sched_yield();
	}
	while (last != TOKENS) {
		lee_mutex_lock(&mutex);
		last = taken;
		lee_mutex_unlock(&mutex);
		sched_yield();
	}
	lee_mutex_lock(&mutex);
	tokens = -1;
	lee_mutex_unlock(&mutex);
	KEEPS_ERRNO(lee_cond_broadcast(&changed));
	for (i = 0; i < CONSUMERS; i++)
		check_join(threads[i]);
	CHECK_EQ(lee_cond_broadcast(&changed), 0);
	CHECK_EQ(lee_cond_signal(&changed), 0);
}

static void deadlines(void)
{
	struct timespec deadline = soon();

	lee_mutex_lock(&mutex);
	KEEPS_ERRNO(CHECK_EQ(lee_cond_timedwait(&changed, &mutex, &deadline), ETIMEDOUT));
	CHECK_EQ(lee_mutex_trylock(&mutex), EBUSY);
	deadline.tv_nsec = -1;
	CHECK_EQ(lee_cond_timedwait(&changed, &mutex, &deadline), EINVAL);
	CHECK_EQ(lee_cond_timedwait(&changed, &mutex, NULL), EINVAL);
	CHECK_EQ(lee_mutex_trylock(&mutex), EBUSY);
	lee_mutex_unlock(&mutex);
}

static void *wait_once(void *unused)
{
	(void)unused;
	lee_mutex_lock(&mutex);
	waiting++;
	while (tokens == 0)
		CHECK_EQ(lee_cond_wait(&changed, &mutex), 0);
	waiting--;
	lee_mutex_unlock(&mutex);
	pthread_testcancel();
	return NULL;
}

/*
 * Returns when so many threads wait: they count themselves under the mutex, which they
 * give up within the wait.
 */
static void until_waiting(int count)
{
	int now = -1;

	while (now != count) {
		lee_mutex_lock(&mutex);
		now = waiting;
		lee_mutex_unlock(&mutex);
	}
}

static void let_go(void)
{
	lee_mutex_lock(&mutex);
	tokens = 1;
	lee_mutex_unlock(&mutex);
	lee_cond_broadcast(&changed);
}

static void broadcast_counts(void)
{
	pthread_t threads[3];
	int i;

	tokens = 0;
	for (i = 0; i < 3; i++)
		threads[i] = check_start(wait_once, NULL);
	until_waiting(3);
	lee_mutex_lock(&mutex);
	tokens = 1;
	/* The mutex is held: they are moved to it, and its unlocks wake them. */
	CHECK_EQ(lee_cond_broadcast(&changed), 3);
	lee_mutex_unlock(&mutex);
	for (i = 0; i < 3; i++)
		check_join(threads[i]);
}

static void wait_with_another(void *unused)
{
	struct lee_mutex other = LEE_MUTEX_INIT;

	(void)unused;
	lee_mutex_lock(&other);
	KEEPS_ERRNO(CHECK_EQ(lee_cond_wait(&changed, &other), EINVAL));
	CHECK_EQ(lee_mutex_trylock(&other), EBUSY);
}

static void wait_unlocked(void *unused)
{
	struct lee_mutex other = LEE_MUTEX_INIT;

	(void)unused;
	KEEPS_ERRNO(CHECK_EQ(lee_cond_wait(&changed, &other), EPERM));
}

static void misuse(void)
{
	pthread_t thread;

	tokens = 0;
	thread = check_start(wait_once, NULL);
	until_waiting(1);
	check_misuses("lee_cond_wait", NULL, "another mutex than that with which threads wait", wait_with_another,
		      NULL);
	check_misuses("lee_cond_wait", NULL, "a mutex that is not locked", wait_unlocked, NULL);
	let_go();
	check_join(thread);
}

static void handler(int number)
{
	(void)number;
}

static void interrupted(bool is_cancelled)
{
	struct sigaction action;
	pthread_t thread;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	tokens = 0;
	thread = check_start(wait_once, NULL);
	until_waiting(1);
	check_nap(5);
	CHECK_EQ(is_cancelled ? pthread_cancel(thread) : pthread_kill(thread, SIGUSR1), 0);
	check_nap(10);
	until_waiting(1);
	let_go();
	CHECK((check_join(thread) == PTHREAD_CANCELED) == is_cancelled);
}

/* The waiters of the parent are not there; the child has its own. */
static void child(void *unused)
{
	struct timespec deadline = soon();
	pthread_t thread;

	(void)unused;
	lee_mutex_lock(&mutex);
	CHECK_EQ(lee_cond_timedwait(&changed, &mutex, &deadline), ETIMEDOUT);
	lee_mutex_unlock(&mutex);
	waiting = 0;
	tokens = 0;
	thread = check_start(wait_once, NULL);
	until_waiting(1);
	let_go();
	check_join(thread);
}

static void forks(void)
{
	pthread_t thread;

	tokens = 0;
	thread = check_start(wait_once, NULL);
	until_waiting(1);
	check_ends_well(check_fork(child, NULL));
	let_go();
	check_join(thread);
}

int main(void)
{
	check_begin();
	tokens_are_taken();
	deadlines();
	broadcast_counts();
	misuse();
	interrupted(false);
	if (CHECK_THREADS_UNWIND)
		interrupted(true);
	forks();
	return check_end("cond");
}
