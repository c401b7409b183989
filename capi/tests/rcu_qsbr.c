/*
 * Quiescent states: what they announce and what not, online and offline, beside functions that wait,
 * in callbacks, and on threads that end online.
 */
#include "rcu_domains.h"

static const struct kind *d;

/* A thread that stays online, and announces when it is told to. */
static int told, done;

static void *announces(void *argument)
{
	(void)argument;
	CHECK_EQ(d->enroll(), 0);
	CHECK(d->is_inside());
	SET(done, 1);
	for (;;) {
		int order = GET(told);

		if (order == GET(done)) {
			sleep_us(20);
			continue;
		}
		if (order < 0)
			break;
		quiesce(d);
		CHECK(d->is_inside());
		SET(done, order);
	}
	d->unregister();
	return NULL;
}

static void tell_to_announce(void)
{
	int next = GET(told) + 1;

	SET(told, next);
	EVENTUALLY(GET(done) == next);
}

static void quiescent_states(void)
{
	struct waiter waiter;
	struct lee_cookie cookie;
	pthread_t reader;
	int round;

	told = 1;
	done = 0;
	reader = check_start(announces, NULL);
	EVENTUALLY(GET(done) == 1);
	for (round = 0; round < 20; round++) {
		waiter_begin(&waiter, d);
		if (round < 3)
			NEVER(GET(waiter.done));
		else
			EVENTUALLY(GET(waiter.id) != 0);
		/* One for each grace period that has begun; one more does no harm. */
		while (!GET(waiter.done))
			tell_to_announce();
		waiter_end(&waiter);
		/* An announcement from before is none for a grace period that begins later. */
		cookie = d->start_poll();
		if (round < 3)
			NEVER(d->poll(cookie));
		while (!d->poll(cookie))
			tell_to_announce();
	}
	SET(told, -1);
	check_join(reader);
}

/* Empty sections keep nothing, and end nothing. */
static void sections_are_empty(void)
{
	struct waiter waiter;

	CHECK(!d->is_inside());
	d->read_lock();
	lee_domain_read_lock(d->domain);
	CHECK(!d->is_inside());
	waiter_begin(&waiter, d);
	waiter_end(&waiter);
	d->read_unlock();
	lee_domain_read_unlock(d->domain);
	go_online(d);
	d->read_lock();
	d->read_unlock();
	lee_domain_read_unlock(d->domain);
	CHECK(d->is_inside());
	go_offline(d);
	CHECK(!d->is_inside());
}

/* A thread that is offline announces nothing by its quiescent states, and is online by one call. */
static void offline(void)
{
	struct waiter waiter;
	int times;

	d->unregister();
	quiesce(d);
	lee_domain_quiescent(d->domain);
	CHECK(!d->is_inside());
	go_offline(d);
	CHECK(!d->is_inside());
	CHECK_EQ(d->enroll(), 0);
	CHECK(d->is_inside());
	for (times = 0; times < 3; times++)
		go_online(d);
	go_offline(d);
	CHECK(!d->is_inside());
	for (times = 0; times < 3; times++) {
		go_offline(d);
		quiesce(d);
		lee_domain_quiescent(d->domain);
		CHECK(!d->is_inside());
		waiter_begin(&waiter, d);
		waiter_end(&waiter);
	}
	lee_domain_online(d->domain);
	CHECK(d->is_inside());
	waiter_begin(&waiter, d);
	NEVER(GET(waiter.done));
	lee_domain_offline(d->domain);
	waiter_end(&waiter);
	/* Online again, without a registration; and the end of one that is online. */
	d->unregister();
	go_online(d);
	CHECK(d->is_inside());
	waiter_begin(&waiter, d);
	NEVER(GET(waiter.done));
	d->unregister();
	CHECK(!d->is_inside());
	waiter_end(&waiter);
}

/* Functions that wait take their caller offline meanwhile, and only that. */
static int ran;

static void count(struct lee_head *head)
{
	(void)head;
	CHECK(d->is_inside());
	ADD(ran, 1);
}

static void *waits_online(void *argument)
{
	struct lee_head head;
	int round;

	(void)argument;
	for (round = 0; round < 200; round++) {
		CHECK_EQ(d->enroll(), 0);
		CHECK_EQ(d->synchronize(), 0);
		CHECK(d->is_inside());
		if (round % 10 == 0) {
			d->defer(&head, count);
			CHECK_EQ(d->barrier(), 0);
			CHECK(d->is_inside());
		}
		go_offline(d);
		CHECK_EQ(d->synchronize(), 0);
		CHECK(!d->is_inside());
		CHECK_EQ(d->barrier(), 0);
		CHECK(!d->is_inside());
	}
	d->unregister();
	return NULL;
}

/* Two threads that are online and wait for each other's quiescent states. */
static void waiting_online(void)
{
	pthread_t first, second;

	ran = 0;
	first = check_start(waits_online, NULL);
	second = check_start(waits_online, NULL);
	check_join(first);
	check_join(second);
	CHECK_EQ(GET(ran), 40);
}

/* Callbacks rely on being online: what they reach is not freed. */
static int object, *published;
static int is_reading, may_go_on;

static void relies_on_being_online(struct lee_head *head)
{
	int *reached;

	(void)head;
	CHECK(d->is_inside());
	reached = lee_dereference(published);
	SET(is_reading, 1);
	while (!GET(may_go_on))
		sleep_us(50);
	CHECK_EQ(__atomic_load_n(reached, __ATOMIC_RELAXED), 1);
}

static void callbacks_are_online(void)
{
	struct lee_head head;
	struct waiter waiter;

	is_reading = may_go_on = 0;
	object = 1;
	lee_publish(published, &object);
	d->defer(&head, relies_on_being_online);
	EVENTUALLY(GET(is_reading));
	lee_publish(published, NULL);
	waiter_begin(&waiter, d);
	NEVER(GET(waiter.done));
	SET(may_go_on, 1);
	waiter_end(&waiter);
	__atomic_store_n(&object, 0, __ATOMIC_RELAXED);
	CHECK_EQ(d->barrier(), 0);
	/* The worker that has nothing to do is in nobody's way. */
	CHECK_EQ(d->synchronize(), 0);
}

/* A callback may go offline for a while, or announce quiescent states. */
static void goes_offline(struct lee_head *head)
{
	struct waiter waiter;

	(void)head;
	go_offline(d);
	CHECK(!d->is_inside());
	waiter_begin(&waiter, d);
	waiter_end(&waiter);
	go_online(d);
	quiesce(d);
	CHECK(d->is_inside());
	ADD(ran, 1);
}

static void callbacks_that_go_offline(void)
{
	struct lee_head heads[2];

	ran = 0;
	d->defer(&heads[0], goes_offline);
	d->defer(&heads[1], count);
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(GET(ran), 2);
}

static void *ends_online(void *argument)
{
	(void)argument;
	CHECK_EQ(d->enroll(), 0);
	return NULL;
}

static void threads_that_end_online(void)
{
	int round;

	for (round = 0; round < 50; round++) {
		check_join(check_start(ends_online, NULL));
		CHECK_EQ(d->synchronize(), 0);
	}
}

int main(void)
{
	rcu_begin();
	FOR_EACH(one, QUIESCENT) {
		d = one;
		quiescent_states();
		sections_are_empty();
		offline();
		waiting_online();
		callbacks_are_online();
		callbacks_that_go_offline();
		threads_that_end_online();
	}
	return check_end("rcu_qsbr");
}
