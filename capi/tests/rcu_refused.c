/*
 * What the system refuses: membarrier, which domains with full fences never ask for, and without
 * which signals serve the others; both of them; threads, without which callers run what is queued;
 * and memory.
 */
#include "rcu_domains.h"
#include "seccomp.h"

static const struct kind *d;

static int ran, caller_id, ran_here;

static void count(struct lee_head *head)
{
	free(head);
	ran_here += thread_id() == caller_id;
	ADD(ran, 1);
}

static void defer_one(void)
{
	d->defer((struct lee_head *)malloc(sizeof(struct lee_head)), count);
}

/* All that a domain does, with readers beside it, that sleep, and that run. */
static bool is_over;

static void *reads(void *argument)
{
	(void)argument;
	if (d->readers == LEE_1_QSBR)
		CHECK_EQ(d->enroll(), 0);
	while (!GET(is_over)) {
		d->read_lock();
		compute(200);
		d->read_unlock();
		if (d->readers == LEE_1_QSBR)
			quiesce(d);
	}
	return NULL;
}

static bool works(void)
{
	struct inside inside;
	struct waiter waiter;
	struct lee_cookie cookie;
	pthread_t reader;
	int round;

	ran = 0;
	is_over = false;
	caller_id = thread_id();
	reader = check_start(reads, NULL);
	CHECK_EQ(d->enroll(), 0);
	for (round = 0; round < 20; round++) {
		defer_one();
		CHECK_EQ(d->synchronize(), 0);
		cookie = d->start_poll();
		EVENTUALLY((d->readers == LEE_1_QSBR ? quiesce(d) : (void)0, d->poll(cookie)));
	}
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(GET(ran), 20);
	d->unregister();
	inside_begin(&inside, d);
	waiter_asleep(&waiter, d);
	defer_one();
	NEVER(GET(waiter.done) || GET(ran) != 20);
	inside_end(&inside);
	waiter_end(&waiter);
	CHECK_EQ(d->barrier(), 0);
	SET(is_over, true);
	check_join(reader);
	return true;
}

static bool works_beside_a_fork(void)
{
	bool is_well = works();

	IN_CHILD(works);
	return is_well;
}

/* Domains with full fences, and of QSBR, never call membarrier: they would be killed for it. */
static bool never_calls_membarrier(void)
{
	refuse_one(SYS_membarrier, SECCOMP_RET_KILL_PROCESS);
	return works_beside_a_fork();
}

/* The same filter kills the others' callers, or they find out beforehand: it is in force. */
static bool is_told_of_the_filter(void)
{
	refuse_one(SYS_membarrier, FAILS_WITH(ENOSYS));
	errno = 0;
	return syscall(SYS_membarrier, 0, 0, 0) == -1 && errno == ENOSYS;
}

/* A kernel without membarrier: signals serve. */
static bool without_membarrier(void)
{
	refuse_one(SYS_membarrier, FAILS_WITH(ENOSYS));
	return works_beside_a_fork() && stats_of(d).heavy_fences > 0;
}

/* A sandbox that kills for membarrier, as a child that is sent ahead finds out. */
static bool killed_for_membarrier(void)
{
	refuse_one(SYS_membarrier, SECCOMP_RET_KILL_PROCESS);
	return works_beside_a_fork() && stats_of(d).heavy_fences > 0;
}

/* Neither membarrier nor signals: there is no heavy fence, and functions say so or do without. */
static bool without_heavy_fences(void)
{
	static const int calls[] = {SYS_membarrier, SYS_rt_tgsigqueueinfo, SYS_sched_setaffinity};
	const int MAGIC = 99;

	refuse(calls, sizeof calls / sizeof *calls, FAILS_WITH(EPERM));
	errno = MAGIC;
	CHECK_EQ(d->enroll(), 0);
	d->read_lock();
	CHECK(d->is_inside());
	d->read_unlock();
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(d->synchronize(), ENOSYS);
	CHECK_EQ(d->synchronize(), ENOSYS);
	CHECK_EQ(errno, MAGIC);
	/* Others need none. */
	CHECK_EQ(lee_mb_synchronize(), 0);
	CHECK_EQ(lee_qsbr_synchronize(), 0);
	return true;
}

/* No thread can be started: those who wait for callbacks run them, online if need be. */
static bool without_threads(void)
{
	static const int calls[] = {SYS_clone, SYS_clone3};
	struct lee_limit limit;
	struct lee_cookie cookie;
	int at;

	refuse(calls, sizeof calls / sizeof *calls, FAILS_WITH(EAGAIN));
	caller_id = thread_id();
	for (at = 0; at < 100; at++)
		defer_one();
	CHECK_EQ(GET(ran), 0);
	CHECK_EQ(stats_of(d).callbacks_queued, 100);
	CHECK_EQ(d->barrier(), 0);
	CHECK(ran == 100 && ran_here == 100);
	CHECK(!d->is_inside());
	cookie = d->start_poll();
	CHECK(d->poll(cookie));
	/* So do those beyond the limit, by every policy. */
	memset(&limit, 0, sizeof limit);
	limit.callbacks = 2;
	limit.time = 1000000000;
	for (limit.policy = LEE_WAIT; limit.policy <= LEE_EXPEDITE; limit.policy++) {
		const int before = ran;

		CHECK_EQ(d->set_limit(&limit), 0);
		for (at = 0; at < 10; at++) {
			defer_one();
			CHECK(stats_of(d).callbacks_queued <= 2);
		}
		CHECK_EQ(d->barrier(), 0);
		CHECK_EQ(ran, before + 10);
	}
	CHECK_EQ(ran, ran_here);
	return true;
}

/* No memory for more readers than a domain has room for: registering says so, and the rest works. */
enum { CROWD = 40, ROOM = 16 };
static int enrolled, without, may_enroll, may_go;

static void *enrolls(void *argument)
{
	const int MAGIC = 88;
	int answer;

	(void)argument;
	while (!GET(may_enroll))
		sleep_us(50);
	/* The filter is the calling thread's. Its stack is mapped. */
	refuse_one(SYS_mmap, FAILS_WITH(ENOMEM));
	errno = MAGIC;
	answer = d->enroll();
	CHECK_EQ(errno, MAGIC);
	CHECK(answer == 0 || answer == ENOMEM);
	CHECK(answer != 0 || d->is_inside() == (d->readers == LEE_1_QSBR));
	ADD(*(answer == 0 ? &enrolled : &without), 1);
	while (!GET(may_go))
		sleep_us(50);
	return NULL;
}

static bool without_memory(void)
{
	pthread_t threads[CROWD];
	int at;

	for (at = 0; at < CROWD; at++)
		threads[at] = check_start(enrolls, NULL);
	SET(may_enroll, 1);
	EVENTUALLY(GET(enrolled) + GET(without) == CROWD);
	CHECK_EQ(enrolled, ROOM);
	CHECK_EQ(stats_of(d).readers, ROOM);
	SET(may_go, 1);
	for (at = 0; at < CROWD; at++)
		check_join(threads[at]);
	CHECK_EQ(stats_of(d).readers, 0);
	return works();
}

/* A thread that is to be cancelled is not cancelled in the midst of the first heavy fence. */
static void *waits_and_is_cancelled(void *argument)
{
	(void)argument;
	CHECK_EQ(pthread_cancel(pthread_self()), 0);
	CHECK_EQ(d->synchronize(), 0);
	ADD(ran, 1);
	pthread_testcancel();
	FAIL("it was not cancelled");
}

static bool cancelled_in_a_sandbox(void)
{
	void *result;

	refuse_one(SYS_membarrier, FAILS_WITH(ENOSYS));
	CHECK_EQ(pthread_join(check_start(waits_and_is_cancelled, NULL), &result), 0);
	CHECK(result == PTHREAD_CANCELED && ran == 1);
	return works();
}

int main(void)
{
	rcu_begin();
	IN_CHILD(is_told_of_the_filter);
	FOR_EACH(one, SECTIONS) {
		d = one;
		if (one->readers == LEE_1_FULL) {
			IN_CHILD(never_calls_membarrier);
		} else {
			IN_CHILD(without_membarrier);
			IN_CHILD(killed_for_membarrier);
			IN_CHILD(without_heavy_fences);
			IN_CHILD(cancelled_in_a_sandbox);
		}
		IN_CHILD(without_threads);
		IN_CHILD(without_memory);
	}
	FOR_EACH(one, QUIESCENT) {
		d = one;
		IN_CHILD(never_calls_membarrier);
		IN_CHILD(without_threads);
		IN_CHILD(without_memory);
	}
	return check_end("rcu_refused");
}
