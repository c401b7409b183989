/*
 * What a domain tells of itself and how it is bounded: statistics, limits on what is deferred, and
 * reports of grace periods that wait for long.
 */
#include "rcu_domains.h"

static const struct kind *d;

static int ran;

static void count(struct lee_head *head)
{
	free(head);
	ADD(ran, 1);
}

static void defer_one(void)
{
	d->defer((struct lee_head *)malloc(sizeof(struct lee_head)), count);
}

static void statistics(void)
{
	struct lee_stats before, after;
	struct inside inside;
	struct waiter waiter;
	size_t at;

	memset(&before, 0xff, sizeof before);
	d->stats(&before);
	for (at = 0; at < sizeof before.reserved / sizeof *before.reserved; at++)
		CHECK_EQ(before.reserved[at], 0);
	inside_begin(&inside, d);
	CHECK_EQ(stats_of(d).readers, before.readers + 1);
	waiter_asleep(&waiter, d);
	defer_one();
	CHECK_EQ(stats_of(d).callbacks_queued, 1);
	CHECK_EQ(stats_of(d).grace_periods, before.grace_periods);
	inside_end(&inside);
	waiter_end(&waiter);
	CHECK_EQ(d->barrier(), 0);
	after = stats_of(d);
	CHECK(after.grace_periods > before.grace_periods);
	CHECK(after.sleeps > before.sleeps);
	CHECK_EQ(after.stalls, before.stalls);
	CHECK_EQ(after.callbacks_run, before.callbacks_run + 1);
	CHECK_EQ(after.callbacks_queued, 0);
	CHECK_EQ(after.lost, 0);
	/* Heavy fences are those of readers without fences of their own. */
	if (d->readers == LEE_1_ASYMMETRIC)
		CHECK(after.heavy_fences > before.heavy_fences);
	else
		CHECK_EQ(after.heavy_fences, 0);
}

static int set_limit(uint64_t callbacks, uint64_t time, uint32_t policy)
{
	struct lee_limit limit;

	memset(&limit, 0, sizeof limit);
	limit.callbacks = callbacks;
	limit.time = time;
	limit.policy = policy;
	return d->set_limit(&limit);
}

/* A caller beyond the limit is held up for the time that was set, and goes on. */
static void waits_for_some_time(void)
{
	const uint64_t TIME = 20 * 1000000u;
	struct inside inside;
	uint64_t start, before = stats_of(d).over_limit;
	int at;

	ran = 0;
	CHECK_EQ(set_limit(3, TIME, LEE_WAIT), 0);
	inside_begin(&inside, d);
	start = now_ns();
	for (at = 0; at < 3; at++)
		defer_one();
	CHECK_EQ(stats_of(d).over_limit, before);
	CHECK(now_ns() - start < patience_ns() / 2);
	start = now_ns();
	defer_one();
	CHECK(now_ns() - start >= TIME);
	CHECK_EQ(stats_of(d).over_limit, before + 1);
	CHECK_EQ(stats_of(d).callbacks_queued, 4);
	CHECK_EQ(GET(ran), 0);
	inside_end(&inside);
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(GET(ran), 4);
}

/* A caller that waits without bound goes on when there is room, or when the limit is raised. */
static int deferred;

static void *defers_three(void *argument)
{
	int at;

	(void)argument;
	for (at = 0; at < 3; at++) {
		defer_one();
		ADD(deferred, 1);
	}
	return NULL;
}

static void waits_forever(bool is_raised)
{
	struct inside inside;
	pthread_t caller;

	ran = deferred = 0;
	CHECK_EQ(set_limit(2, 0, LEE_WAIT_FOREVER), 0);
	inside_begin(&inside, d);
	caller = check_start(defers_three, NULL);
	EVENTUALLY(GET(deferred) == 2);
	NEVER(GET(deferred) == 3);
	CHECK_EQ(GET(ran), 0);
	if (is_raised) {
		CHECK_EQ(d->set_limit(NULL), 0);
		check_join(caller);
		CHECK_EQ(GET(ran), 0);
		inside_end(&inside);
	} else {
		inside_end(&inside);
		check_join(caller);
	}
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(GET(ran), 3);
}

/* A caller that expedites is held up for no longer than its time. (rcu_refused.c sees it run them.) */
static void expedites(void)
{
	struct inside inside;
	uint64_t before = stats_of(d).over_limit;
	int at;

	ran = 0;
	CHECK_EQ(set_limit(1, 1000000, LEE_EXPEDITE), 0);
	for (at = 0; at < 100; at++)
		defer_one();
	CHECK(stats_of(d).over_limit - before <= 100);
	inside_begin(&inside, d);
	before = stats_of(d).over_limit;
	defer_one();
	defer_one();
	defer_one();
	CHECK(stats_of(d).over_limit > before);
	inside_end(&inside);
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(GET(ran), 103);
}

/* Where waiting would be waiting for oneself, the limit holds nobody up: in a section, in a callback. */
static void defers_beyond_the_limit(struct lee_head *head)
{
	int at;

	free(head);
	for (at = 0; at < 5; at++)
		defer_one();
}

static void does_not_wait_for_itself(void)
{
	uint64_t before = stats_of(d).over_limit;
	int at;

	ran = 0;
	CHECK_EQ(set_limit(2, 0, LEE_WAIT_FOREVER), 0);
	d->readers == LEE_1_QSBR ? go_online(d) : d->read_lock();
	for (at = 0; at < 5; at++)
		defer_one();
	CHECK_EQ(stats_of(d).over_limit, before + 3);
	d->readers == LEE_1_QSBR ? go_offline(d) : d->read_unlock();
	CHECK_EQ(d->barrier(), 0);
	d->defer((struct lee_head *)malloc(sizeof(struct lee_head)), defers_beyond_the_limit);
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(GET(ran), 10);
}

static void wrong_limits(void)
{
	CHECK_EQ(set_limit(2, 0, 3), EINVAL);
	CHECK_EQ(set_limit(2, 0, UINT32_MAX), EINVAL);
	/* Nothing was changed: no limit. */
	CHECK_EQ(d->set_limit(NULL), 0);
	CHECK_EQ(set_limit(2, 0, 77), EINVAL);
	does_not_wait_for_itself();
	CHECK_EQ(d->set_limit(NULL), 0);
}

/* Reports of a reader that stays. */
static int reports, reported_thread, is_beyond;
static uint64_t reported_ns;

static void told(const struct lee_stall *stall)
{
	SET(reported_thread, (int)stall->thread);
	SET(reported_ns, stall->waited);
	SET(is_beyond, (int)stall->is_beyond_limit);
	ADD(reports, 1);
}

static void stalls_are_told(void)
{
	const uint64_t AFTER = 5 * 1000000u;
	struct inside inside;
	struct waiter waiter;
	uint64_t before = stats_of(d).stalls;

	SET(reports, 0);
	d->set_stall_limit(AFTER, told);
	inside_begin(&inside, d);
	waiter_begin(&waiter, d);
	EVENTUALLY(GET(reports) >= 1);
	if (GET(reported_thread) != inside.id)
		fprintf(stderr, "%s: first %d was reported; this thread is %d, the reader %d, the waiter %d\n", d->name,
			GET(reported_thread), thread_id(), inside.id, GET(waiter.id));
	EVENTUALLY(GET(reported_thread) == inside.id);
	CHECK(GET(reported_ns) >= AFTER);
	CHECK_EQ(GET(is_beyond), 0);
	/* And again after each further such time. */
	EVENTUALLY(GET(reports) >= 3);
	CHECK(GET(reported_ns) >= 3 * AFTER);
	inside_end(&inside);
	waiter_end(&waiter);
	CHECK_EQ(stats_of(d).stalls, before + (uint64_t)GET(reports));
	/* A caller of defer beyond the limit reports as well. */
	SET(reports, 0);
	CHECK_EQ(set_limit(1, 1000000, LEE_WAIT), 0);
	inside_begin(&inside, d);
	while (GET(is_beyond) == 0) {
		defer_one();
		CHECK(stats_of(d).callbacks_queued < 100000);
	}
	CHECK_EQ(GET(reported_thread), inside.id);
	inside_end(&inside);
	CHECK_EQ(d->barrier(), 0);
	SET(is_beyond, 0);
	CHECK_EQ(d->set_limit(NULL), 0);
}

/* The default says it in a line on standard error; a limit of 0 says nothing. */
static void stalls_are_said(void)
{
	char text[4000], number[32];
	struct inside inside;
	struct waiter waiter;
	uint64_t before = stats_of(d).stalls;
	int lines;

	capture_begin();
	d->set_stall_limit(5000000, NULL);
	inside_begin(&inside, d);
	waiter_begin(&waiter, d);
	EVENTUALLY(stats_of(d).stalls > before);
	inside_end(&inside);
	waiter_end(&waiter);
	lines = capture_end(text, sizeof text);
	CHECK_EQ(stats_of(d).stalls - before, lines);
	snprintf(number, sizeof number, "%d", inside.id);
	CHECK(strncmp(text, "leeward: ", strlen("leeward: ")) == 0 && strstr(text, number) != NULL);
	before = stats_of(d).stalls;
	d->set_stall_limit(0, told);
	reports = 0;
	inside_begin(&inside, d);
	waiter_begin(&waiter, d);
	NEVER(GET(reports) || stats_of(d).stalls != before);
	inside_end(&inside);
	waiter_end(&waiter);
}

int main(void)
{
	const struct kind *const all[] = {
		&SECTIONS[0], &SECTIONS[1], &SECTIONS[2], &SECTIONS[3], &SECTIONS[4], &QUIESCENT[0], &QUIESCENT[1],
	};
	size_t at;

	rcu_begin();
	/* Callers beyond a limit report stalls, too; here they are what is tested. */
	for (at = 0; at < sizeof all / sizeof *all; at++)
		all[at]->set_stall_limit(0, NULL);
	for (at = 0; at < sizeof all / sizeof *all; at++) {
		d = all[at];
		statistics();
		waits_for_some_time();
		waits_forever(false);
		waits_forever(true);
		expedites();
		does_not_wait_for_itself();
		wrong_limits();
		stalls_are_told();
		stalls_are_said();
	}
	return check_end("rcu_limits");
}
