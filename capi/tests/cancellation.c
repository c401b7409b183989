/* No function is a cancellation point, also where it writes a line to standard error. */
#include "check.h"

#include <fcntl.h>
#include <leeward/rcu.h>

static int is_inside, may_leave;

static void *read_for_long(void *unused)
{
	lee_memb_read_lock();
	__atomic_store_n(&is_inside, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&may_leave, __ATOMIC_ACQUIRE))
		check_nap(1);
	lee_memb_read_unlock();
	return unused;
}

/* Leads a grace period that waits, and reports that. */
static void *wait_cancelled(void *unused)
{
	CHECK_EQ(pthread_cancel(pthread_self()), 0);
	return lee_memb_synchronize() == 0 ? (void *)&may_leave : unused;
}

/* Calls what is refused, with a report. */
static void *misuse_cancelled(void *unused)
{
	CHECK_EQ(pthread_cancel(pthread_self()), 0);
	lee_memb_read_lock();
	if (lee_memb_synchronize() != EDEADLK)
		return unused;
	lee_memb_read_unlock();
	return (void *)&may_leave;
}

int main(void)
{
	pthread_t reader, writer;
	int stderr_before = dup(2), nowhere = open("/dev/null", O_WRONLY);

	check_begin();
	CHECK(stderr_before >= 0 && nowhere >= 0);
	lee_memb_set_stall_limit(1000000, NULL);
	reader = check_start(read_for_long, NULL);
	while (!__atomic_load_n(&is_inside, __ATOMIC_ACQUIRE))
		check_nap(1);
	CHECK_EQ(dup2(nowhere, 2), 2);
	writer = check_start(wait_cancelled, NULL);
	check_nap(50);
	__atomic_store_n(&may_leave, 1, __ATOMIC_RELEASE);
	CHECK(check_join(writer) == &may_leave);
	CHECK(check_join(check_start(misuse_cancelled, NULL)) == &may_leave);
	CHECK_EQ(dup2(stderr_before, 2), 2);
	check_join(reader);
	/* The domain has a leader's place that is free. */
	CHECK_EQ(lee_memb_synchronize(), 0);
	return check_end("cancellation");
}
