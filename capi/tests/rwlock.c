/*
 * The readers-writer lock: readers share it and a writer is alone, with deadlines,
 * nested reads, too many readers, and beside a fork.
 */
#include "check.h"

#include <leeward/rwlock.h>

#define THREADS 4
#define TURNS 20000

static struct lee_rwlock lock = LEE_RWLOCK_INIT;
static unsigned long pair[2];

static struct timespec soon(void)
{
	struct timespec deadline;

	lee_deadline_after(&deadline, 5 * 1000 * 1000);
	return deadline;
}

static void alone(void)
{
	struct lee_rwlock one;

	memset(&one, 0xff, sizeof(one));
	lee_rwlock_init(&one);
	KEEPS_ERRNO(CHECK_EQ(lee_rwlock_rdlock(&one), 0));
	KEEPS_ERRNO(CHECK_EQ(lee_rwlock_tryrdlock(&one), 0));
	CHECK_EQ(lee_rwlock_rdlock_recursive(&one), 0);
	KEEPS_ERRNO(CHECK_EQ(lee_rwlock_trywrlock(&one), EBUSY));
	lee_rwlock_rdunlock(&one);
	lee_rwlock_rdunlock(&one);
	CHECK_EQ(lee_rwlock_trywrlock(&one), EBUSY);
	KEEPS_ERRNO(lee_rwlock_rdunlock(&one));
	KEEPS_ERRNO(lee_rwlock_wrlock(&one));
	KEEPS_ERRNO(CHECK_EQ(lee_rwlock_tryrdlock(&one), EBUSY));
	CHECK_EQ(lee_rwlock_trywrlock(&one), EBUSY);
	KEEPS_ERRNO(lee_rwlock_downgrade(&one));
	CHECK_EQ(lee_rwlock_tryrdlock(&one), 0);
	CHECK_EQ(lee_rwlock_trywrlock(&one), EBUSY);
	lee_rwlock_rdunlock(&one);
	lee_rwlock_rdunlock(&one);
	CHECK_EQ(lee_rwlock_trywrlock(&one), 0);
	KEEPS_ERRNO(lee_rwlock_wrunlock(&one));
}

static void deadlines(void)
{
	struct timespec deadline = soon(), wrong = soon();

	wrong.tv_nsec = 1000000000;
	lee_rwlock_wrlock(&lock);
	KEEPS_ERRNO(CHECK_EQ(lee_rwlock_timedrdlock(&lock, &deadline), ETIMEDOUT));
	KEEPS_ERRNO(CHECK_EQ(lee_rwlock_timedwrlock(&lock, &deadline), ETIMEDOUT));
	CHECK_EQ(lee_rwlock_timedrdlock(&lock, &wrong), EINVAL);
	CHECK_EQ(lee_rwlock_timedwrlock(&lock, NULL), EINVAL);
	lee_rwlock_wrunlock(&lock);
	CHECK_EQ(lee_rwlock_timedrdlock(&lock, &deadline), 0);
	deadline = soon();
	CHECK_EQ(lee_rwlock_timedwrlock(&lock, &deadline), ETIMEDOUT);
	lee_rwlock_rdunlock(&lock);
	CHECK_EQ(lee_rwlock_timedwrlock(&lock, &deadline), 0);
	lee_rwlock_wrunlock(&lock);
}

static void *read_and_write(void *seed)
{
	unsigned int number = (unsigned int)(uintptr_t)seed;
	struct timespec deadline;
	int i;

	for (i = 0; i < TURNS; i++) {
		number = number * 1103515245u + 12345u;
		lee_deadline_after(&deadline, UINT64_C(60) * 1000 * 1000 * 1000);
		if ((number >> 16) % 4 == 0) {
			if (number & 1)
				KEEPS_ERRNO(lee_rwlock_wrlock(&lock));
			else
				KEEPS_ERRNO(CHECK_EQ(lee_rwlock_timedwrlock(&lock, &deadline), 0));
			pair[0]++;
			if (i % 1000 == 0)
				sched_yield();
			pair[1]++;
			if (number & 2)
				KEEPS_ERRNO(lee_rwlock_wrunlock(&lock));
			else {
				KEEPS_ERRNO(lee_rwlock_downgrade(&lock));
				CHECK_EQ(pair[0], pair[1]);
				lee_rwlock_rdunlock(&lock);
			}
		} else {
			if (number & 1)
				KEEPS_ERRNO(CHECK_EQ(lee_rwlock_rdlock(&lock), 0));
			else
				KEEPS_ERRNO(CHECK_EQ(lee_rwlock_timedrdlock(&lock, &deadline), 0));
			CHECK_EQ(pair[0], pair[1]);
			if (i % 1000 == 0)
				sched_yield();
			CHECK_EQ(pair[0], pair[1]);
			KEEPS_ERRNO(lee_rwlock_rdunlock(&lock));
		}
	}
	return NULL;
}

static void contended(void)
{
	pthread_t threads[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		threads[i] = check_start(read_and_write, (void *)(uintptr_t)(i + 1));
	for (i = 0; i < THREADS; i++)
		check_join(threads[i]);
	CHECK_EQ(lee_rwlock_trywrlock(&lock), 0);
	lee_rwlock_wrunlock(&lock);
}

static void *writes_once(void *unused)
{
	(void)unused;
	lee_rwlock_wrlock(&lock);
	lee_rwlock_wrunlock(&lock);
	return NULL;
}

/* A reader that asks again while a writer waits for it goes on by the recursive call. */
static void nested_past_a_writer(void)
{
	struct timespec deadline;
	pthread_t thread;

	CHECK_EQ(lee_rwlock_rdlock(&lock), 0);
	thread = check_start(writes_once, NULL);
	/* The writer's mark keeps newcomers out. */
	while (lee_rwlock_tryrdlock(&lock) == 0) {
		lee_rwlock_rdunlock(&lock);
		check_nap(1);
	}
	deadline = soon();
	CHECK_EQ(lee_rwlock_timedrdlock(&lock, &deadline), ETIMEDOUT);
	CHECK_EQ(lee_rwlock_rdlock_recursive(&lock), 0);
	lee_rwlock_rdunlock(&lock);
	lee_rwlock_rdunlock(&lock);
	check_join(thread);
}

static void read_a_full_lock(void *full)
{
	struct lee_rwlock *one = (struct lee_rwlock *)full;

	KEEPS_ERRNO(CHECK_EQ(lee_rwlock_rdlock(one), EAGAIN));
}

static void read_a_full_lock_until(void *full)
{
	struct timespec deadline = soon();

	CHECK_EQ(lee_rwlock_timedrdlock((struct lee_rwlock *)full, &deadline), EAGAIN);
}

/* A program that never unlocked: it is told so, and goes on. */
static void too_many_readers(void)
{
	static const char many[] = "a lock with as many readers as it can count";
	struct lee_rwlock full = LEE_RWLOCK_INIT;
	int i;

	for (i = 0; i < 1048574; i++)
		CHECK_EQ(lee_rwlock_rdlock(&full), 0);
	CHECK_EQ(lee_rwlock_tryrdlock(&full), EBUSY);
	check_misuses("lee_rwlock_rdlock", &full, many, read_a_full_lock, &full);
	check_misuses("lee_rwlock_timedrdlock", &full, many, read_a_full_lock_until, &full);
	CHECK_EQ(lee_rwlock_trywrlock(&full), EBUSY);
	lee_rwlock_rdunlock(&full);
	CHECK_EQ(lee_rwlock_rdlock(&full), 0);
	for (i = 0; i < 1048574; i++)
		lee_rwlock_rdunlock(&full);
	CHECK_EQ(lee_rwlock_trywrlock(&full), 0);
}

static void unlock(void *which)
{
	lee_rwlock_wrunlock((struct lee_rwlock *)which);
}

static void downgrade(void *which)
{
	lee_rwlock_downgrade((struct lee_rwlock *)which);
}

static void unlock_reading(void *which)
{
	KEEPS_ERRNO(lee_rwlock_rdunlock((struct lee_rwlock *)which));
}

static void misuse(void)
{
	struct lee_rwlock one = LEE_RWLOCK_INIT;

	check_misuses("lee_rwlock_rdunlock", &one, "a lock that no reader holds", unlock_reading, &one);
	CHECK_EQ(lee_rwlock_trywrlock(&one), 0);
	check_misuses("lee_rwlock_rdunlock", &one, "a lock that no reader holds", unlock_reading, &one);
	CHECK_EQ(lee_rwlock_tryrdlock(&one), EBUSY);
	lee_rwlock_wrunlock(&one);

	check_misuses("lee_rwlock_wrunlock", &one, "a lock that no writer holds", unlock, &one);
	check_misuses("lee_rwlock_downgrade", &one, "a lock that no writer holds", downgrade, &one);
	CHECK_EQ(lee_rwlock_rdlock(&one), 0);
	check_misuses("lee_rwlock_wrunlock", &one, "a lock that no writer holds", unlock, &one);
	lee_rwlock_rdunlock(&one);
	CHECK_EQ(lee_rwlock_trywrlock(&one), 0);
}

static void child_of_reader(void *unused)
{
	struct timespec deadline = soon();

	(void)unused;
	CHECK_EQ(lee_rwlock_trywrlock(&lock), EBUSY);
	CHECK_EQ(lee_rwlock_timedwrlock(&lock, &deadline), ETIMEDOUT);
	CHECK_EQ(lee_rwlock_tryrdlock(&lock), 0);
	lee_rwlock_rdunlock(&lock);
	lee_rwlock_rdunlock(&lock);
	contended();
}

int main(void)
{
	check_begin();
	alone();
	deadlines();
	contended();
	nested_past_a_writer();
	too_many_readers();
	misuse();
	CHECK_EQ(lee_rwlock_rdlock(&lock), 0);
	check_ends_well(check_fork(child_of_reader, NULL));
	lee_rwlock_rdunlock(&lock);
	return check_end("rwlock");
}
