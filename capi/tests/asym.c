/*
 * The readers-writer lock that is biased towards its readers: readers share it and a
 * writer is alone, with nested reads, deadlines, misuse, exits and forks.
 */
#include "check.h"

#include <leeward/asym.h>

#define THREADS 4
#define TURNS 20000

static struct lee_asym_rwlock lock = LEE_ASYM_RWLOCK_INIT;
static unsigned long pair[2];

static struct timespec soon(void)
{
	struct timespec deadline;

	lee_deadline_after(&deadline, 5 * 1000 * 1000);
	return deadline;
}

static void alone(struct lee_asym_rwlock *one)
{
	int i;

	for (i = 0; i < 3; i++) {
		KEEPS_ERRNO(CHECK_EQ(lee_asym_rwlock_rdlock(one), 0));
		KEEPS_ERRNO(CHECK_EQ(lee_asym_rwlock_tryrdlock(one), 0));
		KEEPS_ERRNO(CHECK_EQ(lee_asym_rwlock_trywrlock(one), EBUSY));
		KEEPS_ERRNO(lee_asym_rwlock_rdunlock(one));
		CHECK_EQ(lee_asym_rwlock_trywrlock(one), EBUSY);
		lee_asym_rwlock_rdunlock(one);
		KEEPS_ERRNO(CHECK_EQ(lee_asym_rwlock_wrlock(one), 0));
		CHECK_EQ(lee_asym_rwlock_tryrdlock(one), EBUSY);
		CHECK_EQ(lee_asym_rwlock_trywrlock(one), EBUSY);
		KEEPS_ERRNO(lee_asym_rwlock_downgrade(one));
		CHECK_EQ(lee_asym_rwlock_tryrdlock(one), 0);
		CHECK_EQ(lee_asym_rwlock_trywrlock(one), EBUSY);
		lee_asym_rwlock_rdunlock(one);
		lee_asym_rwlock_rdunlock(one);
		CHECK_EQ(lee_asym_rwlock_trywrlock(one), 0);
		KEEPS_ERRNO(lee_asym_rwlock_wrunlock(one));
	}
}

static void *read_and_write(void *seed)
{
	unsigned int number = (unsigned int)(uintptr_t)seed;
	struct timespec deadline;
	int i;

	for (i = 0; i < TURNS; i++) {
		number = number * 1103515245u + 12345u;
		lee_deadline_after(&deadline, UINT64_C(60) * 1000 * 1000 * 1000);
		if ((number >> 16) % 64 == 0) {
			if (number & 1)
				KEEPS_ERRNO(CHECK_EQ(lee_asym_rwlock_wrlock(&lock), 0));
			else
				KEEPS_ERRNO(CHECK_EQ(lee_asym_rwlock_timedwrlock(&lock, &deadline), 0));
			pair[0]++;
			if (number & 2)
				sched_yield();
			pair[1]++;
			KEEPS_ERRNO(lee_asym_rwlock_wrunlock(&lock));
		} else {
			if (number & 1)
				KEEPS_ERRNO(CHECK_EQ(lee_asym_rwlock_rdlock(&lock), 0));
			else
				KEEPS_ERRNO(CHECK_EQ(lee_asym_rwlock_timedrdlock(&lock, &deadline), 0));
			CHECK_EQ(pair[0], pair[1]);
			if (i % 1000 == 0)
				sched_yield();
			CHECK_EQ(pair[0], pair[1]);
			KEEPS_ERRNO(lee_asym_rwlock_rdunlock(&lock));
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
	CHECK_EQ(lee_asym_rwlock_trywrlock(&lock), 0);
	lee_asym_rwlock_wrunlock(&lock);
}

static void write_what_is_read(void *which)
{
	KEEPS_ERRNO(CHECK_EQ(lee_asym_rwlock_wrlock((struct lee_asym_rwlock *)which), EDEADLK));
}

static void write_what_is_read_until(void *which)
{
	struct timespec deadline = soon();

	CHECK_EQ(lee_asym_rwlock_timedwrlock((struct lee_asym_rwlock *)which, &deadline), EDEADLK);
}

static void unlock(void *which)
{
	lee_asym_rwlock_wrunlock((struct lee_asym_rwlock *)which);
}

static void unlock_reading(void *which)
{
	KEEPS_ERRNO(lee_asym_rwlock_rdunlock((struct lee_asym_rwlock *)which));
}

static void misuse(void)
{
	static const char reads[] = "a lock that the thread reads: it would wait for itself";

	check_misuses("lee_asym_rwlock_rdunlock", &lock, "a lock that no reader holds", unlock_reading, &lock);
	CHECK_EQ(lee_asym_rwlock_rdlock(&lock), 0);
	check_misuses("lee_asym_rwlock_wrlock", &lock, reads, write_what_is_read, &lock);
	check_misuses("lee_asym_rwlock_timedwrlock", &lock, reads, write_what_is_read_until, &lock);
	check_misuses("lee_asym_rwlock_wrunlock", &lock, "a lock that no writer holds", unlock, &lock);
	lee_asym_rwlock_rdunlock(&lock);
	CHECK_EQ(lee_asym_rwlock_trywrlock(&lock), 0);
	lee_asym_rwlock_wrunlock(&lock);
}

static int step;

static void *reads(void *unused)
{
	(void)unused;
	CHECK_EQ(lee_asym_rwlock_rdlock(&lock), 0);
	__atomic_store_n(&step, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) != 2)
		check_nap(1);
	lee_asym_rwlock_rdunlock(&lock);
	return NULL;
}

/* In the child the other reader is not there, and does not keep writers out. */
static void child(void *unused)
{
	(void)unused;
	CHECK_EQ(lee_asym_rwlock_trywrlock(&lock), 0);
	lee_asym_rwlock_wrunlock(&lock);
	contended();
}

static void deadlines_and_forks(void)
{
	struct timespec deadline = soon(), wrong = soon();
	pthread_t thread;
	int i;

	/* The lock opens to slots when the reads since the last writer are worth some fences. */
	for (i = 0; i < 4000000; i++) {
		CHECK_EQ(lee_asym_rwlock_rdlock(&lock), 0);
		lee_asym_rwlock_rdunlock(&lock);
	}
	thread = check_start(reads, NULL);
	while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) != 1)
		check_nap(1);
	KEEPS_ERRNO(CHECK_EQ(lee_asym_rwlock_timedwrlock(&lock, &deadline), ETIMEDOUT));
	wrong.tv_nsec = -1;
	CHECK_EQ(lee_asym_rwlock_timedwrlock(&lock, &wrong), EINVAL);
	CHECK_EQ(lee_asym_rwlock_timedrdlock(&lock, NULL), EINVAL);
	CHECK_EQ(lee_asym_rwlock_trywrlock(&lock), EBUSY);
	for (i = 0; i < 64; i++) {
		CHECK_EQ(lee_asym_rwlock_rdlock(&lock), 0);
		lee_asym_rwlock_rdunlock(&lock);
	}
	check_ends_well(check_fork(child, NULL));
	__atomic_store_n(&step, 2, __ATOMIC_RELEASE);
	check_join(thread);
	CHECK_EQ(lee_asym_rwlock_trywrlock(&lock), 0);
	deadline = soon();
	CHECK_EQ(lee_asym_rwlock_timedrdlock(&lock, &deadline), ETIMEDOUT);
	lee_asym_rwlock_wrunlock(&lock);
}

static void *exits_inside(void *which)
{
	CHECK_EQ(lee_asym_rwlock_rdlock((struct lee_asym_rwlock *)which), 0);
	return NULL;
}

/* A thread that exits inside leaves this lock locked, and no other that lies there later. */
static void exits(void)
{
	struct lee_asym_rwlock left = LEE_ASYM_RWLOCK_INIT;

	check_join(check_start(exits_inside, &left));
	CHECK_EQ(lee_asym_rwlock_trywrlock(&left), EBUSY);
	CHECK_EQ(lee_asym_rwlock_tryrdlock(&left), 0);
	lee_asym_rwlock_rdunlock(&left);
	lee_asym_rwlock_init(&left);
	CHECK_EQ(lee_asym_rwlock_trywrlock(&left), 0);
	lee_asym_rwlock_wrunlock(&left);
}

int main(void)
{
	struct lee_asym_rwlock zeroed, made;

	check_begin();
	memset(&zeroed, 0, sizeof(zeroed));
	memset(&made, 0xff, sizeof(made));
	lee_asym_rwlock_init(&made);
	alone(&zeroed);
	alone(&made);
	alone(&lock);
	contended();
	misuse();
	deadlines_and_forks();
	exits();
	return check_end("asym");
}
