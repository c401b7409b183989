/*
 * The robust mutex: what the next owner is told, whichever way the last one ended;
 * misuse; forks; and pthread's robust mutexes on the same list.
 */
#include "check.h"

#include <leeward/robust.h>
#include <sys/syscall.h>

struct account {
	struct lee_robust_mutex mutex;
	uint64_t half[2];
};

static struct account *account;

static uint32_t number(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

static struct timespec soon(void)
{
	struct timespec deadline;

	lee_deadline_after(&deadline, 5 * 1000 * 1000);
	return deadline;
}

/* Makes the account a new one. */
static void renew(void)
{
	memset(account, 0, sizeof(*account));
}

static void lock_and_end(void *expected)
{
	CHECK_EQ(lee_robust_mutex_lock(&account->mutex), *(int *)expected);
}

static void *lock_and_exit(void *expected)
{
	lock_and_end(expected);
	return NULL;
}

static void lock_and_be_killed(void *expected)
{
	lock_and_end(expected);
	account->half[0]++;
	kill(getpid(), SIGKILL);
}

static void alone(void)
{
	struct lee_robust_mutex one = LEE_ROBUST_MUTEX_INIT;
	struct timespec deadline = soon();
	int i;

	for (i = 0; i < 3; i++) {
		KEEPS_ERRNO(CHECK_EQ(lee_robust_mutex_lock(&one), 0));
		CHECK_EQ(lee_robust_mutex_owner(&one), number());
		KEEPS_ERRNO(CHECK_EQ(lee_robust_mutex_trylock(&one), EBUSY));
		KEEPS_ERRNO(CHECK_EQ(lee_robust_mutex_unlock(&one), 0));
		CHECK_EQ(lee_robust_mutex_owner(&one), 0);
		KEEPS_ERRNO(CHECK_EQ(lee_robust_mutex_trylock(&one), 0));
		CHECK_EQ(lee_robust_mutex_unlock(&one), 0);
		KEEPS_ERRNO(CHECK_EQ(lee_robust_mutex_timedlock(&one, &deadline), 0));
		CHECK_EQ(lee_robust_mutex_unlock(&one), 0);
		CHECK_EQ(lee_robust_mutex_timedlock(&one, NULL), EINVAL);
	}
	CHECK(!lee_robust_mutex_is_unrecoverable(&one));
}

static void owners_die(void)
{
	int i, free_lock = 0, died = EOWNERDEAD;

	renew();
	check_was_killed(check_fork(lock_and_be_killed, &free_lock));
	/* Each of these dies while it repairs. */
	check_was_killed(check_fork(lock_and_be_killed, &died));
	check_join(check_start(lock_and_exit, &died));
	KEEPS_ERRNO(CHECK_EQ(lee_robust_mutex_lock(&account->mutex), EOWNERDEAD));
	CHECK_EQ(account->half[0], 2);
	KEEPS_ERRNO(CHECK_EQ(lee_robust_mutex_consistent(&account->mutex), 0));
	CHECK_EQ(lee_robust_mutex_unlock(&account->mutex), 0);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(lee_robust_mutex_lock(&account->mutex), 0);
		CHECK_EQ(lee_robust_mutex_unlock(&account->mutex), 0);
	}
	/* By each of the other calls. */
	for (i = 0; i < 2; i++) {
		struct timespec deadline;

		check_was_killed(check_fork(lock_and_be_killed, &free_lock));
		lee_deadline_after(&deadline, UINT64_C(60) * 1000 * 1000 * 1000);
		CHECK_EQ(i == 0 ? lee_robust_mutex_trylock(&account->mutex)
				: lee_robust_mutex_timedlock(&account->mutex, &deadline),
			 EOWNERDEAD);
		CHECK_EQ(lee_robust_mutex_consistent(&account->mutex), 0);
		CHECK_EQ(lee_robust_mutex_unlock(&account->mutex), 0);
	}
}

static void not_repaired(void)
{
	struct timespec deadline = soon();
	int free_lock = 0, lost = ENOTRECOVERABLE;

	renew();
	check_was_killed(check_fork(lock_and_be_killed, &free_lock));
	CHECK_EQ(lee_robust_mutex_lock(&account->mutex), EOWNERDEAD);
	CHECK(!lee_robust_mutex_is_unrecoverable(&account->mutex));
	CHECK_EQ(lee_robust_mutex_unlock(&account->mutex), 0);
	CHECK(lee_robust_mutex_is_unrecoverable(&account->mutex));
	KEEPS_ERRNO(CHECK_EQ(lee_robust_mutex_lock(&account->mutex), ENOTRECOVERABLE));
	CHECK_EQ(lee_robust_mutex_trylock(&account->mutex), ENOTRECOVERABLE);
	CHECK_EQ(lee_robust_mutex_timedlock(&account->mutex, &deadline), ENOTRECOVERABLE);
	check_ends_well(check_fork(lock_and_end, &lost));
}

static void lock_again(void *unused)
{
	(void)unused;
	KEEPS_ERRNO(CHECK_EQ(lee_robust_mutex_lock(&account->mutex), EDEADLK));
}

static void lock_again_until(void *unused)
{
	struct timespec deadline = soon();

	(void)unused;
	CHECK_EQ(lee_robust_mutex_timedlock(&account->mutex, &deadline), EDEADLK);
}

static void unlock_refused(void *unused)
{
	(void)unused;
	KEEPS_ERRNO(CHECK_EQ(lee_robust_mutex_unlock(&account->mutex), EPERM));
}

static void consistent_refused(void *unused)
{
	(void)unused;
	KEEPS_ERRNO(CHECK_EQ(lee_robust_mutex_consistent(&account->mutex), EINVAL));
}

static void does_not_hold(void)
{
	check_misuses("lee_robust_mutex_unlock", &account->mutex, "a mutex that the thread does not hold",
		      unlock_refused, NULL);
}

static void was_not_given(void)
{
	check_misuses("lee_robust_mutex_consistent", &account->mutex,
		      "a mutex that the thread was not given with EOWNERDEAD", consistent_refused, NULL);
}

/* A thread or process that does not hold the lock. */
static void bystander(void *unused)
{
	struct timespec deadline = soon();

	(void)unused;
	KEEPS_ERRNO(CHECK_EQ(lee_robust_mutex_trylock(&account->mutex), EBUSY));
	KEEPS_ERRNO(CHECK_EQ(lee_robust_mutex_timedlock(&account->mutex, &deadline), ETIMEDOUT));
	does_not_hold();
	was_not_given();
}

static void *bystanding_thread(void *unused)
{
	bystander(unused);
	return NULL;
}

static void misuse(void)
{
	static const char holds[] = "a mutex that the thread holds: it would wait for itself";

	renew();
	does_not_hold();
	was_not_given();
	CHECK_EQ(lee_robust_mutex_lock(&account->mutex), 0);
	check_misuses("lee_robust_mutex_lock", &account->mutex, holds, lock_again, NULL);
	check_misuses("lee_robust_mutex_timedlock", &account->mutex, holds, lock_again_until, NULL);
	was_not_given();
	check_join(check_start(bystanding_thread, NULL));
	/* Neither does a child hold what its parent holds. */
	check_ends_well(check_fork(bystander, NULL));
	CHECK_EQ(lee_robust_mutex_unlock(&account->mutex), 0);
	does_not_hold();
}

static void lost_owner(void)
{
	struct timespec deadline = soon();
	/* A number that no thread has. */
	const uint32_t nobody = (UINT32_C(1) << 22) + 1;

	renew();
	account->mutex.lee_1_words[0] = nobody;
	KEEPS_ERRNO(CHECK_EQ(lee_robust_mutex_timedlock(&account->mutex, &deadline), ESRCH));
	CHECK_EQ(lee_robust_mutex_owner(&account->mutex), nobody);
	KEEPS_ERRNO(CHECK_EQ(lee_robust_mutex_declare_owner_dead(&account->mutex, 7), EINVAL));
	KEEPS_ERRNO(CHECK_EQ(lee_robust_mutex_declare_owner_dead(&account->mutex, nobody), 0));
	CHECK_EQ(lee_robust_mutex_lock(&account->mutex), EOWNERDEAD);
	CHECK_EQ(lee_robust_mutex_consistent(&account->mutex), 0);
	CHECK_EQ(lee_robust_mutex_unlock(&account->mutex), 0);
}

struct mixed {
	struct lee_robust_mutex ours[3];
	pthread_mutex_t theirs[3];
};

static void lock_both_kinds(void *memory)
{
	struct mixed *mixed = (struct mixed *)memory;
	int i;

	for (i = 0; i < 3; i++) {
		CHECK_EQ(pthread_mutex_lock(&mixed->theirs[i]), 0);
		CHECK_EQ(lee_robust_mutex_lock(&mixed->ours[i]), 0);
	}
	/* From the middle of the list. */
	CHECK_EQ(lee_robust_mutex_unlock(&mixed->ours[1]), 0);
	CHECK_EQ(pthread_mutex_unlock(&mixed->theirs[0]), 0);
	kill(getpid(), SIGKILL);
}

static void beside_pthread(void)
{
	struct mixed *mixed = (struct mixed *)check_shared(sizeof(*mixed));
	pthread_mutexattr_t attributes;
	int i;

	CHECK_EQ(pthread_mutexattr_init(&attributes), 0);
	CHECK_EQ(pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED), 0);
	CHECK_EQ(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST), 0);
	for (i = 0; i < 3; i++)
		CHECK_EQ(pthread_mutex_init(&mixed->theirs[i], &attributes), 0);
	check_was_killed(check_fork(lock_both_kinds, mixed));
	for (i = 0; i < 3; i++) {
		CHECK_EQ(lee_robust_mutex_lock(&mixed->ours[i]), i == 1 ? 0 : EOWNERDEAD);
		CHECK_EQ(pthread_mutex_lock(&mixed->theirs[i]), i == 0 ? 0 : EOWNERDEAD);
	}
	for (i = 0; i < 3; i++) {
		CHECK_EQ(pthread_mutex_unlock(&mixed->theirs[i]), 0);
		CHECK_EQ(lee_robust_mutex_unlock(&mixed->ours[i]), 0);
	}
}

static void add(void *turns)
{
	int i, error;

	for (i = 0; i < *(int *)turns; i++) {
		KEEPS_ERRNO(error = lee_robust_mutex_lock(&account->mutex));
		CHECK_EQ(error, 0);
		account->half[0]++;
		if (i % 256 == 0)
			sched_yield();
		account->half[1]++;
		KEEPS_ERRNO(error = lee_robust_mutex_unlock(&account->mutex));
		CHECK_EQ(error, 0);
	}
}

static void contended(void)
{
	int i, turns = 20000;
	pid_t children[3];

	renew();
	for (i = 0; i < 3; i++)
		children[i] = check_fork(add, &turns);
	for (i = 0; i < 3; i++)
		check_ends_well(children[i]);
	CHECK_EQ(account->half[0], 3 * turns);
	CHECK_EQ(account->half[1], 3 * turns);
}

int main(void)
{
	check_begin();
	account = (struct account *)check_shared(sizeof(*account));
#ifndef __GLIBC__
	/* Another C library may replace the list of a thread that has locks on it. */
	CHECK_EQ(lee_robust_mutex_lock(&account->mutex), ENOTSUP);
	return check_end("robust");
#endif
	alone();
	owners_die();
	not_repaired();
	misuse();
	lost_owner();
	contended();
	beside_pthread();
	return check_end("robust");
}
