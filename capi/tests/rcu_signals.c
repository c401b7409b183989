/*
 * Signal handlers that read: at any moment of every function, as a thread's first section, and in
 * threads that end. A first section calls no allocator. (rcu_stepping.c tries each instruction.)
 */
#include "rcu_domains.h"
#if !IS_SANITIZED
#include "own_malloc.h"
#else
/* Sanitizers have allocators of their own, and call them. */
static __thread int must_not_allocate;
static int forbidden_allocations, allocations = 1;
#endif

#define MAGIC 12345

/* What is published, by domain: 1 while it is reachable. */
enum { DOMAINS = sizeof SECTIONS / sizeof *SECTIONS };
static int alive[DOMAINS][2], *published[DOMAINS];

static int handled;
static __thread int handled_here;

/* Reads in every domain, nested. */
static void reads(void)
{
	FOR_EACH(d, SECTIONS) {
		const bool was_inside = d->is_inside();
		int **place = &published[d - SECTIONS], *object;

		d->read_lock();
		object = lee_dereference(*place);
		d->read_lock();
		CHECK(d->is_inside());
		d->read_unlock();
		CHECK(__atomic_load_n(object, __ATOMIC_RELAXED) == 1);
		d->read_unlock();
		CHECK_EQ(d->is_inside(), was_inside);
	}
	FOR_EACH(d, QUIESCENT) {
		d->read_lock();
		d->read_unlock();
	}
}

static void handler(int number)
{
	const int before = errno;

	(void)number;
	must_not_allocate++;
	reads();
	must_not_allocate--;
	ADD(handled, 1);
	SET(handled_here, handled_here + 1);
	CHECK_EQ(errno, before);
}

/* Publishes other objects all the time, and marks the old ones as freed after a grace period. */
static bool is_over;

static void *publishes(void *argument)
{
	uint64_t round = 0;

	(void)argument;
	while (!GET(is_over)) {
		FOR_EACH(d, SECTIONS) {
			const size_t at = (size_t)(d - SECTIONS);
			int *next = &alive[at][++round / DOMAINS % 2], *old;

			__atomic_store_n(next, 1, __ATOMIC_RELAXED);
			old = lee_exchange(published[at], next);
			CHECK_EQ(d->synchronize(), 0);
			if (old != next)
				__atomic_store_n(old, 0, __ATOMIC_RELAXED);
		}
	}
	return NULL;
}

static void block(bool is_blocked)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	CHECK_EQ(pthread_sigmask(is_blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL), 0);
}

/* Sends SIGALRM to the calling thread, again and again, until the timer is deleted. */
static timer_t begin_storm(void)
{
	struct sigevent event;
	struct itimerspec time;
	timer_t timer;

	memset(&event, 0, sizeof event);
	event.sigev_notify = SIGEV_THREAD_ID;
	event.sigev_signo = SIGALRM;
#ifdef sigev_notify_thread_id
	event.sigev_notify_thread_id = thread_id();
#else
	event._sigev_un._tid = thread_id();
#endif
	CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	memset(&time, 0, sizeof time);
	time.it_value.tv_nsec = time.it_interval.tv_nsec = 67000;
	CHECK_EQ(timer_settime(timer, 0, &time, NULL), 0);
	return timer;
}

static int callbacks;

static void count_callback(struct lee_head *head)
{
	(void)head;
	ADD(callbacks, 1);
}

/* What is interrupted. */
static void does_registrations(const struct kind *d)
{
	if (d->readers == LEE_1_QSBR) {
		CHECK_EQ(d->enroll(), 0);
		quiesce(d);
		go_offline(d);
		go_online(d);
	} else {
		CHECK_EQ(d->enroll(), 0);
		d->read_lock();
	}
	d->unregister();
	CHECK(!d->is_inside());
}

static void does_sections(const struct kind *d)
{
	int times;

	for (times = 0; times < 100; times++) {
		d->read_lock();
		d->read_lock();
		d->read_unlock();
		d->read_unlock();
	}
}

static void does_synchronize(const struct kind *d)
{
	CHECK_EQ(d->synchronize(), 0);
}

static void does_poll(const struct kind *d)
{
	struct lee_cookie cookie = d->start_poll();

	while (!d->poll(cookie))
		sched_yield();
}

static void does_callbacks(const struct kind *d)
{
	struct lee_head head;
	int before = GET(callbacks);

	d->defer(&head, count_callback);
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(GET(callbacks), before + 1);
}

static void (*const DEEDS[])(const struct kind *) = {
	does_registrations, does_sections, does_synchronize, does_poll, does_callbacks,
};
enum { ALL = sizeof DEEDS / sizeof *DEEDS };

static void *in_a_storm(void *argument)
{
	timer_t storm = begin_storm();
	int deed;

	(void)argument;
	for (deed = 0; deed < ALL; deed++) {
		uint64_t end = now_ns() + stress_ns(0.1);
		int before = handled_here;

		errno = MAGIC;
		while (now_ns() < end || handled_here == before) {
			FOR_EACH(d, SECTIONS)
				DEEDS[deed](d);
			if (DEEDS[deed] != does_sections)
				FOR_EACH(d, QUIESCENT)
					DEEDS[deed](d);
		}
		/* (The machinery of the test leaves errno alone, too: no call of it fails.) */
		CHECK_EQ(errno, MAGIC);
	}
	CHECK_EQ(timer_delete(storm), 0);
	return NULL;
}

/* Threads whose first section is a handler's; more of them than a domain has room for. */
enum { CROWD = 40 };
static int arrived, may_go;

static void *reads_in_a_handler_first(void *argument)
{
	(void)argument;
	block(false);
	errno = MAGIC;
	CHECK_EQ(pthread_kill(pthread_self(), SIGALRM), 0);
	while (GET(handled_here) == 0)
		sched_yield();
	CHECK_EQ(errno, MAGIC);
	ADD(arrived, 1);
	while (!GET(may_go))
		sleep_us(100);
	return NULL;
}

static void first_sections(void)
{
	pthread_t threads[CROWD];
	int at;

	arrived = may_go = 0;
	for (at = 0; at < CROWD; at++)
		threads[at] = check_start(reads_in_a_handler_first, NULL);
	EVENTUALLY(GET(arrived) == CROWD);
	FOR_EACH(d, SECTIONS)
		CHECK(stats_of(d).readers >= CROWD);
	SET(may_go, 1);
	for (at = 0; at < CROWD; at++)
		check_join(threads[at]);
}

/* Threads that begin and end under signals, which are sent to whichever thread takes them. */
static void *is_short_lived(void *argument)
{
	(void)argument;
	block(false);
	reads();
	FOR_EACH(d, SECTIONS)
		d->read_lock();
	FOR_EACH(d, QUIESCENT)
		CHECK_EQ(d->enroll(), 0);
	return NULL;
}

static void short_lives(void)
{
	struct itimerspec time;
	uint64_t end = now_ns() + stress_ns(0.5);
	timer_t timer;
	struct sigevent event;

	memset(&event, 0, sizeof event);
	event.sigev_notify = SIGEV_SIGNAL;
	event.sigev_signo = SIGALRM;
	CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	memset(&time, 0, sizeof time);
	time.it_value.tv_nsec = time.it_interval.tv_nsec = 31000;
	CHECK_EQ(timer_settime(timer, 0, &time, NULL), 0);
	while (now_ns() < end) {
		pthread_t first = check_start(is_short_lived, NULL), second = check_start(is_short_lived, NULL);

		check_join(first);
		check_join(second);
	}
	CHECK_EQ(timer_delete(timer), 0);
	FOR_EACH(d, SECTIONS)
		CHECK_EQ(d->synchronize(), 0);
	FOR_EACH(d, QUIESCENT)
		CHECK_EQ(d->synchronize(), 0);
}

int main(void)
{
	struct sigaction action;
	pthread_t publisher, storm;
	int at;

	rcu_begin();
	block(true);
	memset(&action, 0, sizeof action);
	action.sa_handler = handler;
	action.sa_flags = SA_RESTART;
	CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
	for (at = 0; at < DOMAINS; at++) {
		alive[at][0] = 1;
		published[at] = &alive[at][0];
	}
	publisher = check_start(publishes, NULL);
	first_sections();
	block(false);
	storm = check_start(in_a_storm, NULL);
	block(true);
	check_join(storm);
	short_lives();
	SET(is_over, true);
	check_join(publisher);
	FOR_EACH(d, SECTIONS)
		CHECK_EQ(stats_of(d).readers, 0);
	CHECK(GET(handled) > CROWD && GET(allocations) > 0);
	CHECK_EQ(GET(forbidden_allocations), 0);
	return check_end("rcu_signals");
}
