/*
 * Polling: a cookie stands for a grace period that begins after it was made; the answer is never
 * given too early, comes without being asked for twice, and stays.
 */
#include "rcu_domains.h"

static const struct kind *d;

static void not_too_early(void)
{
	struct inside inside;
	struct lee_cookie before, meanwhile;
	int times;

	inside_begin(&inside, d);
	before = d->start_poll();
	NEVER(d->poll(before));
	meanwhile = d->start_poll();
	NEVER(d->poll(meanwhile));
	inside_end(&inside);
	EVENTUALLY(d->poll(before));
	EVENTUALLY(d->poll(meanwhile));
	for (times = 0; times < 100; times++)
		CHECK(d->poll(before) && d->poll(meanwhile));
}

/* The grace period passes though nobody looks. */
static void without_being_asked(void)
{
	uint64_t before;
	struct lee_cookie cookie;

	CHECK_EQ(d->synchronize(), 0);
	before = stats_of(d).grace_periods;
	cookie = d->start_poll();
	EVENTUALLY(stats_of(d).grace_periods > before);
	EVENTUALLY(d->poll(cookie));
	/* Again, once the worker sleeps. */
	sleep_us(5000);
	before = stats_of(d).grace_periods;
	cookie = d->start_poll();
	EVENTUALLY(stats_of(d).grace_periods > before);
	CHECK(d->poll(cookie));
}

/* A grace period that was running is none that begins later. */
static void a_running_one_is_too_early(void)
{
	struct inside first, second;
	struct waiter waiter;
	struct lee_cookie cookie;

	inside_begin(&first, d);
	waiter_asleep(&waiter, d);
	/* This section began before the cookie was made, and the running grace period ignores it. */
	inside_begin(&second, d);
	cookie = d->start_poll();
	inside_end(&first);
	waiter_end(&waiter);
	NEVER(d->poll(cookie));
	inside_end(&second);
	EVENTUALLY(d->poll(cookie));
}

/* Both calls work in sections, in callbacks, and on a thread that was never registered. */
static struct lee_cookie made_there;
static int ran;

static void polls(struct lee_head *head)
{
	(void)head;
	made_there = d->start_poll();
	(void)d->poll(made_there);
	ADD(ran, 1);
}

static void anywhere(void)
{
	struct lee_head head;
	struct lee_cookie cookie;

	if (d->readers != LEE_1_QSBR) {
		d->read_lock();
		cookie = d->start_poll();
		NEVER(d->poll(cookie));
		d->read_unlock();
		EVENTUALLY(d->poll(cookie));
	} else {
		/* The poller itself has to announce quiescent states. */
		go_online(d);
		cookie = d->start_poll();
		NEVER(d->poll(cookie));
		quiesce(d);
		EVENTUALLY((quiesce(d), d->poll(cookie)));
		go_offline(d);
	}
	ran = 0;
	d->defer(&head, polls);
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(GET(ran), 1);
	EVENTUALLY(d->poll(made_there));
	d->unregister();
}

/* While a callback runs, which keeps the worker, the poller serves itself. */
static int is_held;

static void is_slow(struct lee_head *head)
{
	(void)head;
	SET(is_held, 2);
	while (GET(is_held) == 2)
		sleep_us(50);
}

static void beside_a_slow_callback(void)
{
	struct lee_head head;
	struct lee_cookie cookie;

	is_held = 1;
	d->defer(&head, is_slow);
	EVENTUALLY(GET(is_held) == 2);
	cookie = d->start_poll();
	EVENTUALLY(d->poll(cookie));
	SET(is_held, 3);
	CHECK_EQ(d->barrier(), 0);
}

int main(void)
{
	rcu_begin();
	FOR_EACH(one, SECTIONS) {
		d = one;
		not_too_early();
		without_being_asked();
		a_running_one_is_too_early();
		anywhere();
		beside_a_slow_callback();
	}
	FOR_EACH(one, QUIESCENT) {
		d = one;
		not_too_early();
		without_being_asked();
		a_running_one_is_too_early();
		anywhere();
	}
	return check_end("rcu_polling");
}
