/*
 * Callers that share a grace period: all of them are served and woken, whenever they come; and those
 * that wait at a barrier. What happens between two instructions of theirs is tried at each.
 */
#include "rcu_domains.h"
#include "stepping.h"

static const struct kind *d;

/* All callers that come while a grace period runs are served by the next one, and wake up. */
enum { CROWD = 16 };

static void many_callers(void)
{
	static struct waiter others[CROWD];
	struct inside inside;
	struct waiter first;
	uint64_t before;
	int at;

	inside_begin(&inside, d);
	waiter_asleep(&first, d);
	before = stats_of(d).grace_periods;
	for (at = 0; at < CROWD; at++)
		waiter_begin(&others[at], d);
	for (at = 0; at < CROWD; at++)
		EVENTUALLY(GET(others[at].id) != 0 && is_asleep(GET(others[at].id)));
	for (at = 0; at < CROWD; at++)
		CHECK(!GET(others[at].done));
	inside_end(&inside);
	waiter_end(&first);
	for (at = 0; at < CROWD; at++)
		waiter_end(&others[at]);
	/* One for the first, one for all others; and one more if a caller slept on its way. */
	CHECK(stats_of(d).grace_periods - before <= 4);
}

/* A caller that comes while one runs is served by the next one, also if another caller is first. */
static void two_at_a_time(void)
{
	struct inside inside;
	struct waiter first, second, third;
	int round;

	for (round = 0; round < 20; round++) {
		inside_begin(&inside, d);
		waiter_asleep(&first, d);
		waiter_begin(&second, d);
		waiter_begin(&third, d);
		if (round % 2)
			EVENTUALLY(GET(third.id) != 0 && is_asleep(GET(third.id)));
		inside_end(&inside);
		waiter_end(&first);
		waiter_end(&second);
		waiter_end(&third);
	}
}

/* Asks again and again: a poll that answered yes never says no, though other threads lead. */
static bool is_over;

static void *synchronizes(void *argument)
{
	(void)argument;
	while (!GET(is_over))
		CHECK_EQ(d->synchronize(), 0);
	return NULL;
}

static void true_once_is_true_for_ever(void)
{
	pthread_t threads[3];
	uint64_t end = now_ns() + stress_ns(0.1);
	int at, rounds = 0;

	is_over = false;
	for (at = 0; at < 3; at++)
		threads[at] = check_start(synchronizes, NULL);
	do {
		struct lee_cookie cookie = d->start_poll();

		while (!d->poll(cookie))
			continue;
		for (at = 0; at < 200; at++)
			CHECK(d->poll(cookie));
		rounds++;
	} while (now_ns() < end || rounds < 2);
	SET(is_over, true);
	for (at = 0; at < 3; at++)
		check_join(threads[at]);
}

#if CAN_STEP
/* What happens when the stepped thread has come to the instruction, or sleeps. */
static void (*event)(void);
static bool has_happened, is_there;
static int stepped_id;

static void handler(void)
{
	SET(is_there, true);
	while (!GET(has_happened))
		sched_yield();
}

static void *makes_it_happen(void *argument)
{
	(void)argument;
	while (!GET(is_there) && !is_asleep(stepped_id))
		sched_yield();
	event();
	SET(has_happened, true);
	return NULL;
}

/* A grace period runs, whose leader sleeps for the reader. */
static struct inside inside;
static struct waiter leader;

static void the_grace_period_ends(void)
{
	inside_end(&inside);
	waiter_end(&leader);
}

static void body_synchronize(void)
{
	CHECK_EQ(d->synchronize(), 0);
}

static void begin_grace_period(void)
{
	inside_begin(&inside, d);
	waiter_asleep(&leader, d);
}

/* A callback runs, and stays. */
static struct lee_head head;
static int state;

static void stays(struct lee_head *one)
{
	(void)one;
	SET(state, 1);
	while (GET(state) == 1)
		sched_yield();
}

static void the_callback_returns(void)
{
	const uint64_t before = stats_of(d).callbacks_run;

	SET(state, 2);
	EVENTUALLY(stats_of(d).callbacks_run > before);
	/* And the worker has said so. */
	sleep_us(300);
}

static void body_barrier(void)
{
	CHECK_EQ(d->barrier(), 0);
}

static void begin_callback(void)
{
	state = 0;
	d->defer(&head, stays);
	EVENTUALLY(GET(state) == 1);
}

/* At each instruction of a caller that would sleep, what it waits for happens. */
static void at_each_instruction(void (*begin)(void), void (*body)(void), void (*then)(void))
{
	uint64_t at, steps_made;

	event = then;
	stepped_id = thread_id();
	for (at = 1;; at++) {
		pthread_t other;

		begin();
		has_happened = is_there = false;
		other = check_start(makes_it_happen, NULL);
		steps_made = stepped(at, handler, body);
		check_join(other);
		if (steps_made < at)
			break;
	}
	CHECK(at > 50);
}
#endif

int main(void)
{
	rcu_begin();
	FOR_EACH(one, SECTIONS) {
		d = one;
		many_callers();
		two_at_a_time();
		true_once_is_true_for_ever();
	}
	FOR_EACH(one, QUIESCENT) {
		d = one;
		many_callers();
		two_at_a_time();
		true_once_is_true_for_ever();
	}
#if CAN_STEP
	d = &SECTIONS[4];
	install_stepping();
	at_each_instruction(begin_grace_period, body_synchronize, the_grace_period_ends);
	at_each_instruction(begin_callback, body_barrier, the_callback_returns);
#else
	printf("rcu_sharing: no instruction is stepped here\n");
#endif
	return check_end("rcu_sharing");
}
