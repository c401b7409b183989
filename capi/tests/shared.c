/*
 * Locks that processes share: each kind between a parent and its children.
 */
#include "check.h"

#include <leeward/barrier.h>
#include <leeward/shared.h>

#define CHILDREN 3
#define TURNS 10000

struct board {
	struct lee_shared_mutex mutex;
	struct lee_shared_rwlock rwlock;
	struct lee_shared_cond cond;
	struct lee_shared_semaphore semaphore;
	struct lee_shared_barrier barrier;
	struct lee_shared_event event;
	uint64_t count, pair[2];
	int turn;
};

static struct board *board;

static struct timespec soon(void)
{
	struct timespec deadline;

	lee_deadline_after(&deadline, 5 * 1000 * 1000);
	return deadline;
}

static struct timespec late(void)
{
	struct timespec deadline;

	lee_deadline_after(&deadline, UINT64_C(60) * 1000 * 1000 * 1000);
	return deadline;
}

/* Runs `work` in some children at once. */
static void in_children(void (*work)(void *))
{
	pid_t children[CHILDREN];
	int i;

	for (i = 0; i < CHILDREN; i++)
		children[i] = check_fork(work, NULL);
	for (i = 0; i < CHILDREN; i++)
		check_ends_well(children[i]);
}

static void add(void *unused)
{
	struct timespec deadline = late();
	int i;

	(void)unused;
	for (i = 0; i < TURNS; i++) {
		if (i % 3 == 0)
			KEEPS_ERRNO(CHECK_EQ(lee_shared_mutex_timedlock(&board->mutex, &deadline), 0));
		else
			KEEPS_ERRNO(lee_shared_mutex_lock(&board->mutex));
		board->count++;
		if (i % 256 == 0)
			sched_yield();
		if (i % 16 == 0)
			KEEPS_ERRNO(lee_shared_mutex_unlock_fair(&board->mutex));
		else
			KEEPS_ERRNO(lee_shared_mutex_unlock(&board->mutex));
	}
}

static void find_it_held(void *unused)
{
	struct timespec deadline = soon();

	(void)unused;
	KEEPS_ERRNO(CHECK_EQ(lee_shared_mutex_trylock(&board->mutex), EBUSY));
	KEEPS_ERRNO(CHECK_EQ(lee_shared_mutex_timedlock(&board->mutex, &deadline), ETIMEDOUT));
	CHECK_EQ(lee_shared_mutex_timedlock(&board->mutex, NULL), EINVAL);
}

static void unlock(void *unused)
{
	(void)unused;
	lee_shared_mutex_unlock(&board->mutex);
}

static void mutex(void)
{
	in_children(add);
	CHECK_EQ(board->count, CHILDREN * TURNS);
	CHECK_EQ(lee_shared_mutex_trylock(&board->mutex), 0);
	in_children(find_it_held);
	lee_shared_mutex_unlock(&board->mutex);
	check_misuses("lee_shared_mutex_unlock", &board->mutex, "a mutex that is not locked", unlock, NULL);
}

static void read_and_write(void *unused)
{
	struct timespec deadline = late();
	int i;

	(void)unused;
	for (i = 0; i < TURNS; i++) {
		if (i % 8 == 0) {
			if (i % 16 == 0)
				KEEPS_ERRNO(lee_shared_rwlock_wrlock(&board->rwlock));
			else
				CHECK_EQ(lee_shared_rwlock_timedwrlock(&board->rwlock, &deadline), 0);
			board->pair[0]++;
			if (i % 256 == 0)
				sched_yield();
			board->pair[1]++;
			if (i % 32 == 0) {
				KEEPS_ERRNO(lee_shared_rwlock_downgrade(&board->rwlock));
				KEEPS_ERRNO(lee_shared_rwlock_rdunlock(&board->rwlock));
			} else {
				KEEPS_ERRNO(lee_shared_rwlock_wrunlock(&board->rwlock));
			}
		} else {
			if (i % 2 == 0)
				KEEPS_ERRNO(CHECK_EQ(lee_shared_rwlock_rdlock(&board->rwlock), 0));
			else
				CHECK_EQ(lee_shared_rwlock_timedrdlock(&board->rwlock, &deadline), 0);
			CHECK_EQ(board->pair[0], board->pair[1]);
			KEEPS_ERRNO(lee_shared_rwlock_rdunlock(&board->rwlock));
		}
	}
}

static void find_it_read(void *unused)
{
	struct timespec deadline = soon();

	(void)unused;
	KEEPS_ERRNO(CHECK_EQ(lee_shared_rwlock_trywrlock(&board->rwlock), EBUSY));
	CHECK_EQ(lee_shared_rwlock_rdlock_recursive(&board->rwlock), 0);
	lee_shared_rwlock_rdunlock(&board->rwlock);
	KEEPS_ERRNO(CHECK_EQ(lee_shared_rwlock_timedwrlock(&board->rwlock, &deadline), ETIMEDOUT));
}

static void find_it_written(void *unused)
{
	struct timespec deadline = soon();

	(void)unused;
	KEEPS_ERRNO(CHECK_EQ(lee_shared_rwlock_tryrdlock(&board->rwlock), EBUSY));
	KEEPS_ERRNO(CHECK_EQ(lee_shared_rwlock_timedrdlock(&board->rwlock, &deadline), ETIMEDOUT));
}

static void rwlock(void)
{
	in_children(read_and_write);
	CHECK_EQ(board->pair[0], CHILDREN * TURNS / 8);
	CHECK_EQ(lee_shared_rwlock_tryrdlock(&board->rwlock), 0);
	check_ends_well(check_fork(find_it_read, NULL));
	lee_shared_rwlock_rdunlock(&board->rwlock);
	CHECK_EQ(lee_shared_rwlock_trywrlock(&board->rwlock), 0);
	in_children(find_it_written);
	lee_shared_rwlock_wrunlock(&board->rwlock);
}

/* Waits for its turn, and gives it on. `mine` is 0 or 1. */
static void take_turns(int mine)
{
	struct timespec deadline = late();
	int i;

	for (i = 0; i < 2000; i++) {
		lee_shared_mutex_lock(&board->mutex);
		while (board->turn != mine) {
			if (i % 2 == 0)
				KEEPS_ERRNO(CHECK_EQ(lee_shared_cond_wait(&board->cond, &board->mutex), 0));
			else
				CHECK_EQ(lee_shared_cond_timedwait(&board->cond, &board->mutex, &deadline), 0);
		}
		board->turn = !mine;
		/* Plainly, or moved to the mutex. */
		if (i % 4 == 0)
			KEEPS_ERRNO(lee_shared_cond_signal(&board->cond, NULL));
		else if (i % 4 == 1)
			KEEPS_ERRNO(lee_shared_cond_signal(&board->cond, &board->mutex));
		else if (i % 4 == 2)
			KEEPS_ERRNO(lee_shared_cond_broadcast(&board->cond, NULL));
		else
			KEEPS_ERRNO(lee_shared_cond_broadcast(&board->cond, &board->mutex));
		lee_shared_mutex_unlock(&board->mutex);
	}
}

static void other_side(void *unused)
{
	(void)unused;
	take_turns(1);
}

static void wait_unlocked(void *unused)
{
	(void)unused;
	CHECK_EQ(lee_shared_cond_wait(&board->cond, &board->mutex), EPERM);
}

static void cond(void)
{
	struct timespec deadline = soon();
	pid_t child = check_fork(other_side, NULL);

	take_turns(0);
	check_ends_well(child);
	lee_shared_mutex_lock(&board->mutex);
	KEEPS_ERRNO(CHECK_EQ(lee_shared_cond_timedwait(&board->cond, &board->mutex, &deadline), ETIMEDOUT));
	lee_shared_mutex_unlock(&board->mutex);
	CHECK_EQ(lee_shared_cond_broadcast(&board->cond, &board->mutex), 0);
	check_misuses("lee_shared_cond_wait", &board->mutex, "a mutex that is not locked", wait_unlocked, NULL);
}

static void consume(void *unused)
{
	struct timespec deadline = late();
	int i;

	(void)unused;
	for (i = 0; i < 1000; i++) {
		if (i % 2 == 0)
			KEEPS_ERRNO(lee_shared_semaphore_wait(&board->semaphore));
		else
			CHECK_EQ(lee_shared_semaphore_timedwait(&board->semaphore, &deadline), 0);
	}
}

static void semaphore(void)
{
	struct timespec deadline = soon();
	pid_t children[CHILDREN];
	int i;

	KEEPS_ERRNO(CHECK_EQ(lee_shared_semaphore_trywait(&board->semaphore), EAGAIN));
	CHECK_EQ(lee_shared_semaphore_timedwait(&board->semaphore, &deadline), ETIMEDOUT);
	for (i = 0; i < CHILDREN; i++)
		children[i] = check_fork(consume, NULL);
	for (i = 0; i < CHILDREN * 500; i++) {
		KEEPS_ERRNO(CHECK_EQ(lee_shared_semaphore_post(&board->semaphore), 0));
		if (i % 64 == 0)
			check_nap(1);
	}
	CHECK_EQ(lee_shared_semaphore_post_many(&board->semaphore, CHILDREN * 500), 0);
	for (i = 0; i < CHILDREN; i++)
		check_ends_well(children[i]);
	CHECK_EQ(lee_shared_semaphore_trywait(&board->semaphore), EAGAIN);
}

static void go_rounds(void *unused)
{
	struct timespec deadline = late();
	int i, told;

	(void)unused;
	for (i = 0; i < 300; i++) {
		KEEPS_ERRNO(told = i % 2 == 0 ? lee_shared_barrier_wait(&board->barrier)
					      : lee_shared_barrier_timedwait(&board->barrier, &deadline));
		CHECK(told == 0 || told == LEE_BARRIER_LEADER);
	}
}

static void wait_for_event(void *unused)
{
	(void)unused;
	KEEPS_ERRNO(lee_shared_event_wait(&board->event));
	CHECK_EQ(board->turn, 77);
}

static void barrier_and_event(void)
{
	struct lee_shared_barrier all = LEE_SHARED_BARRIER_INIT(CHILDREN);
	struct timespec deadline = soon();
	pid_t child;

	board->barrier = all;
	in_children(go_rounds);
	CHECK_EQ(lee_shared_barrier_timedwait(&board->barrier, &deadline), ETIMEDOUT);

	CHECK_EQ(lee_shared_event_timedwait(&board->event, &deadline), ETIMEDOUT);
	child = check_fork(wait_for_event, NULL);
	check_nap(5);
	board->turn = 77;
	KEEPS_ERRNO(lee_shared_event_set(&board->event));
	check_ends_well(child);
	CHECK(lee_shared_event_is_set(&board->event) && lee_shared_event_clear(&board->event));
	CHECK(!lee_shared_event_is_set(&board->event));
}

int main(void)
{
	check_begin();
	board = (struct board *)check_shared(sizeof(*board));
	mutex();
	rwlock();
	cond();
	semaphore();
	barrier_and_event();
	return check_end("shared");
}
