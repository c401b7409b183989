/*
 * Threads that come and go: registration, its end and its return; threads that end registered,
 * inside sections, or by cancellation; and what they read in the destructors of their keys.
 */
#include "rcu_domains.h"

static void enter(const struct kind *d)
{
	d->readers == LEE_1_QSBR ? go_online(d) : d->read_lock();
}

static void leave(const struct kind *d)
{
	d->readers == LEE_1_QSBR ? go_offline(d) : d->read_unlock();
}

static void *comes_and_goes(void *argument)
{
	const struct kind *d = (const struct kind *)argument;
	const bool is_online = d->readers == LEE_1_QSBR;
	const uint64_t readers = stats_of(d).readers;
	int round;

	d->unregister();
	CHECK_EQ(stats_of(d).readers, readers);
	for (round = 0; round < 100; round++) {
		CHECK_EQ(d->enroll(), 0);
		CHECK_EQ(d->enroll(), 0);
		CHECK_EQ(stats_of(d).readers, readers + 1);
		CHECK_EQ(d->is_inside(), is_online);
		enter(d);
		CHECK(d->is_inside());
		CHECK_EQ(stats_of(d).readers, readers + 1);
		if (round % 2)
			leave(d);
		d->unregister();
		CHECK(!d->is_inside());
		CHECK_EQ(stats_of(d).readers, readers);
		d->unregister();
		/* A section's end that comes too late does nothing. */
		if (!is_online)
			d->read_unlock();
		CHECK_EQ(stats_of(d).readers, readers);
		CHECK_EQ(d->synchronize(), 0);
	}
	return NULL;
}

/* More readers at once than a domain has room for without memory. */
enum { CROWD = 70 };

static void a_crowd(const struct kind *d)
{
	const uint64_t readers = stats_of(d).readers;
	static struct inside crowd[CROWD];
	struct waiter waiter;
	int at;

	for (at = 0; at < CROWD; at++)
		inside_begin(&crowd[at], d);
	CHECK_EQ(stats_of(d).readers, readers + CROWD);
	waiter_begin(&waiter, d);
	for (at = 0; at < CROWD; at++) {
		CHECK(!GET(waiter.done));
		/* From both ends: the writer waits for each. */
		inside_end(&crowd[at % 2 ? at / 2 : CROWD - 1 - at / 2]);
	}
	waiter_end(&waiter);
	CHECK_EQ(stats_of(d).readers, readers);
}

static void *enters_and_ends(void *argument)
{
	int depth;

	(void)argument;
	FOR_EACH(d, SECTIONS)
		for (depth = 0; depth < 3; depth++)
			d->read_lock();
	FOR_EACH(d, QUIESCENT)
		CHECK_EQ(d->enroll(), 0);
	return NULL;
}

/* A thread that ends is unregistered, and its sections end, in all domains. */
static void ends_inside(void)
{
	int round;

	for (round = 0; round < 50; round++) {
		check_join(check_start(enters_and_ends, NULL));
		FOR_EACH(d, SECTIONS) {
			CHECK_EQ(stats_of(d).readers, 0);
			CHECK_EQ(d->synchronize(), 0);
		}
		FOR_EACH(d, QUIESCENT) {
			CHECK_EQ(stats_of(d).readers, 0);
			CHECK_EQ(d->synchronize(), 0);
		}
	}
}

static int is_inside_now;

static void *is_cancelled(void *argument)
{
	const struct kind *d = (const struct kind *)argument;

	enter(d);
	SET(is_inside_now, 1);
	for (;;)
		pause();
	return NULL;
}

static void a_thread_that_is_cancelled(const struct kind *d)
{
	pthread_t thread;

	is_inside_now = 0;
	thread = check_start(is_cancelled, (void *)(uintptr_t)d);
	EVENTUALLY(GET(is_inside_now));
	CHECK_EQ(pthread_cancel(thread), 0);
	check_join(thread);
	CHECK_EQ(stats_of(d).readers, 0);
	CHECK_EQ(d->synchronize(), 0);
}

/* A key of the test's, whose destructor reads, in each of the rounds that the C library runs. */
static pthread_key_t key;
static int destroyed, deferred_there;

static void count_deferred(struct lee_head *head)
{
	free(head);
	ADD(deferred_there, 1);
}

static void reads_late(const struct kind *d)
{
	int value = 7, *shared = &value;

	CHECK(!d->is_inside());
	d->read_lock();
	CHECK(d->is_inside());
	CHECK_EQ(*lee_dereference(shared), 7);
	d->read_lock();
	CHECK(d->is_inside());
	d->read_unlock();
	CHECK(d->is_inside());
	CHECK_EQ(d->synchronize(), EDEADLK);
	d->read_unlock();
	CHECK(!d->is_inside());
	CHECK_EQ(d->synchronize(), 0);
}

static void destroy(void *rounds)
{
	intptr_t left = (intptr_t)rounds - 1;

	ADD(destroyed, 1);
	FOR_EACH(d, SECTIONS) {
		reads_late(d);
		/* A registration now would outlive the thread; it is refused, or ends with it. */
		CHECK_EQ(d->enroll(), 0);
		reads_late(d);
		d->defer((struct lee_head *)malloc(sizeof(struct lee_head)), count_deferred);
	}
	FOR_EACH(d, QUIESCENT) {
		go_online(d);
		CHECK(d->is_inside());
		quiesce(d);
		CHECK_EQ(d->synchronize(), 0);
		CHECK(d->is_inside());
		go_offline(d);
		CHECK(!d->is_inside());
		d->unregister();
	}
	if (left != 0)
		pthread_setspecific(key, (void *)left);
}

/* Registers with all domains first if asked to, so that their exits are due before the key's. */
static void *ends_late(void *argument)
{
	if (argument != NULL) {
		FOR_EACH(d, SECTIONS)
			CHECK_EQ(d->enroll(), 0);
		FOR_EACH(d, QUIESCENT)
			CHECK_EQ(d->enroll(), 0);
	}
	CHECK_EQ(pthread_setspecific(key, (void *)(intptr_t)4), 0);
	return NULL;
}

static void reading_in_destructors(void)
{
	char text[20000];
	int round;

	CHECK_EQ(pthread_key_create(&key, destroy), 0);
	capture_begin();
	for (round = 0; round < 20; round++) {
		check_join(check_start(ends_late, round % 2 ? &round : NULL));
		FOR_EACH(d, SECTIONS) {
			CHECK_EQ(stats_of(d).readers, 0);
			CHECK_EQ(d->synchronize(), 0);
		}
		FOR_EACH(d, QUIESCENT) {
			CHECK_EQ(stats_of(d).readers, 0);
			CHECK_EQ(d->synchronize(), 0);
		}
	}
	capture_end(text, sizeof text);
	CHECK_EQ(GET(destroyed), 80);
	FOR_EACH(d, SECTIONS)
		CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(GET(deferred_there), 80 * (int)(sizeof SECTIONS / sizeof *SECTIONS));
	CHECK_EQ(pthread_key_delete(key), 0);
}

static void *waits_for_main(void *argument)
{
	(void)argument;
	FOR_EACH(d, SECTIONS)
		CHECK_EQ(d->synchronize(), 0);
	FOR_EACH(d, QUIESCENT)
		CHECK_EQ(d->synchronize(), 0);
	_exit(0);
}

/* The main thread ends inside sections; the process lives on. */
static bool main_ends_inside(void)
{
	enters_and_ends(NULL);
	check_start(waits_for_main, NULL);
	pthread_exit(NULL);
}

static void *does_nothing(void *argument)
{
	return argument;
}

/* Threads that read come and go all the time, beside threads that do not read. */
static void churn(const struct kind *d)
{
	int round;

	for (round = 0; round < 300; round++) {
		struct inside inside;

		inside_begin(&inside, d);
		check_join(check_start(does_nothing, NULL));
		inside_end(&inside);
	}
	CHECK_EQ(stats_of(d).readers, 0);
}

int main(void)
{
	rcu_begin();
	FOR_EACH(d, SECTIONS) {
		check_join(check_start(comes_and_goes, (void *)(uintptr_t)d));
		comes_and_goes((void *)(uintptr_t)d);
		a_thread_that_is_cancelled(d);
	}
	FOR_EACH(d, QUIESCENT) {
		check_join(check_start(comes_and_goes, (void *)(uintptr_t)d));
		a_thread_that_is_cancelled(d);
		a_crowd(d);
		churn(d);
	}
	a_crowd(&SECTIONS[0]);
	a_crowd(&SECTIONS[3]);
	a_crowd(&SECTIONS[4]);
	churn(&SECTIONS[0]);
	ends_inside();
	reading_in_destructors();
	IN_CHILD(main_ends_inside);
	return check_end("rcu_registration");
}
