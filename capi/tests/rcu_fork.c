/*
 * Forks: the child uses everything; what was queued runs in both processes; a section of the forking
 * thread goes on, and those of other threads are over; daemons; forks inside callbacks, beside
 * grace periods, and beside threads that end.
 */
#include "rcu_domains.h"

/* What the tests of one domain use. */
static const struct kind *d;

static int ran;

struct item {
	struct lee_head head;
	int *count;
};

static void count_item(struct lee_head *head)
{
	struct item *item = (struct item *)(void *)head;

	ADD(*item->count, 1);
	free(item);
}

static void defer_item(int *count)
{
	struct item *item = (struct item *)malloc(sizeof *item);

	item->count = count;
	d->defer(&item->head, count_item);
}

/* Grace periods wait for readers, callbacks run, and nothing is left behind. */
static bool works(void)
{
	const uint64_t readers = stats_of(d).readers;
	struct inside inside;
	struct waiter waiter;
	struct lee_cookie cookie;
	int count = 0;

	CHECK(!d->is_inside());
	CHECK_EQ(d->synchronize(), 0);
	inside_begin(&inside, d);
	waiter_begin(&waiter, d);
	cookie = d->start_poll();
	defer_item(&count);
	NEVER(GET(waiter.done) || d->poll(cookie) || GET(count) != 0);
	CHECK_EQ(stats_of(d).callbacks_queued, 1);
	inside_end(&inside);
	waiter_end(&waiter);
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(GET(count), 1);
	EVENTUALLY(d->poll(cookie));
	CHECK_EQ(stats_of(d).callbacks_queued, 0);
	/* (A worker that runs callbacks of QSBR is a reader.) */
	if (d->readers != LEE_1_QSBR)
		CHECK_EQ(stats_of(d).readers, readers);
	return true;
}

/* The forking thread is registered, and other threads read, wait and defer. */
static void beside_a_running_grace_period(void)
{
	const bool is_qsbr = d->readers == LEE_1_QSBR;
	struct inside first, second;
	struct waiter waiter, follower;
	pid_t child;

	CHECK_EQ(d->enroll(), 0);
	if (is_qsbr)
		go_offline(d);
	inside_begin(&first, d);
	inside_begin(&second, d);
	waiter_asleep(&waiter, d);
	waiter_begin(&follower, d);
	EVENTUALLY(GET(follower.id) != 0 && is_asleep(follower.id));
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		watchdog(2 * patience_ns());
		CHECK_EQ(stats_of(d).readers, 1);
		_exit(!works());
	}
	CHECK_EQ(check_reap(child), 0);
	CHECK(!GET(waiter.done) && !GET(follower.done));
	inside_end(&first);
	inside_end(&second);
	waiter_end(&waiter);
	waiter_end(&follower);
	IN_CHILD(works);
	works();
	d->unregister();
}

/* The child is inside where its parent was, as deep. */
static bool goes_on_inside(void)
{
	char text[1000];
	int times;

	CHECK(d->is_inside());
	capture_begin();
	CHECK_EQ(d->synchronize(), EDEADLK);
	CHECK_EQ(capture_end(text, sizeof text), 1);
	for (times = 0; times < 3; times++) {
		CHECK(d->is_inside());
		d->read_unlock();
	}
	return works();
}

static void in_a_section(void)
{
	int times;

	for (times = 0; times < 3; times++)
		d->read_lock();
	IN_CHILD(goes_on_inside);
	for (times = 0; times < 3; times++) {
		CHECK(d->is_inside());
		d->read_unlock();
	}
	works();
}

static bool goes_on_online(void)
{
	struct waiter waiter;

	CHECK(d->is_inside());
	/* A quiescent state that comes before the grace period has begun does not end it. */
	waiter_asleep(&waiter, d);
	NEVER(GET(waiter.done));
	quiesce(d);
	waiter_end(&waiter);
	CHECK(d->is_inside());
	go_offline(d);
	return works();
}

static void while_online(void)
{
	go_online(d);
	IN_CHILD(goes_on_online);
	CHECK(d->is_inside());
	d->unregister();
	works();
}

/* What is queued at a fork runs in both processes; here what waits for a reader, and what is behind. */
static bool runs_what_it_inherits(void)
{
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(GET(ran), 4);
	CHECK_EQ(stats_of(d).callbacks_queued, 0);
	CHECK_EQ(stats_of(d).lost, 0);
	return works();
}

/* A child that does nothing but wait has them run, too. */
static bool has_it_run(void)
{
	EVENTUALLY(GET(ran) == 4);
	return true;
}

static bool forgets_what_it_inherits(void)
{
	CHECK_EQ(stats_of(d).callbacks_queued, 0);
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(GET(ran), 0);
	return works();
}

/* The child becomes a daemon: its own child runs the callbacks, once. */
static bool daemonizes(void)
{
	pid_t child;

	CHECK(setsid() >= 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		watchdog(2 * patience_ns());
		_exit(!runs_what_it_inherits());
	}
	return check_reap(child) == 0;
}

static void with_callbacks_pending(void)
{
	struct inside inside;
	uint64_t sleeps = stats_of(d).sleeps;

	ran = 0;
	inside_begin(&inside, d);
	defer_item(&ran);
	/* The first is in a batch that waits for the reader; the others are queued behind it. */
	EVENTUALLY(stats_of(d).sleeps > sleeps);
	defer_item(&ran);
	defer_item(&ran);
	defer_item(&ran);
	IN_CHILD(runs_what_it_inherits);
	IN_CHILD(has_it_run);
	IN_CHILD(daemonizes);
	d->set_child_adopts(false);
	IN_CHILD(forgets_what_it_inherits);
	d->set_child_adopts(true);
	CHECK_EQ(GET(ran), 0);
	inside_end(&inside);
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(GET(ran), 4);
}

/* A callback forks: its child is no worker; what is queued behind is run in both. */
static pid_t child_of_callback;

static bool is_a_callbacks_child(void)
{
	CHECK_EQ(d->is_inside(), d->readers == LEE_1_QSBR);
	if (d->readers == LEE_1_QSBR)
		go_offline(d);
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(GET(ran), 2);
	return works();
}

static void forks_there(struct lee_head *head)
{
	free(head);
	ADD(ran, 1);
	child_of_callback = start_child(is_a_callbacks_child);
}

static void in_a_callback(void)
{
	struct inside inside;

	ran = 0;
	inside_begin(&inside, d);
	d->defer((struct lee_head *)malloc(sizeof(struct lee_head)), forks_there);
	defer_item(&ran);
	inside_end(&inside);
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(GET(ran), 2);
	CHECK_EQ(check_reap(child_of_callback), 0);
	works();
}

/* A callback that runs at the fork is waited for; one that runs for too long is lost, and counted. */
static int is_endless;

static void is_slow(struct lee_head *head)
{
	free(head);
	SET(ran, 1);
	do {
		sleep_us(10000);
	} while (GET(is_endless));
	SET(ran, 2);
}

static bool found_it_done(void)
{
	CHECK_EQ(GET(ran), 2);
	CHECK_EQ(stats_of(d).lost, 0);
	return works();
}

static bool found_it_lost(void)
{
	CHECK_EQ(GET(ran), 1);
	CHECK_EQ(stats_of(d).lost, 1);
	return works();
}

static void beside_a_callback(void)
{
	int round;

	for (round = 0; round < 2; round++) {
		ran = 0;
		SET(is_endless, round);
		d->defer((struct lee_head *)malloc(sizeof(struct lee_head)), is_slow);
		EVENTUALLY(GET(ran) >= 1);
		IN_CHILD(round == 0 ? found_it_done : found_it_lost);
		SET(is_endless, 0);
		CHECK_EQ(d->barrier(), 0);
	}
}

/*
 * Slots that threads of the parent had are used again by threads of the child: what those threads
 * left in them says nothing of these.
 */
static bool protects_new_threads(void)
{
	struct inside inside[8];
	struct waiter waiter;
	int at;

	for (at = 0; at < 8; at++)
		inside_begin(&inside[at], d);
	waiter_begin(&waiter, d);
	for (at = 0; at < 8; at++) {
		NEVER(GET(waiter.done));
		CHECK(d->readers != LEE_1_QSBR || stats_of(d).readers >= (uint64_t)(8 - at));
		inside_end(&inside[at]);
	}
	waiter_end(&waiter);
	return works();
}

static void beside_threads_that_are_inside(void)
{
	struct inside inside[8];
	int at;

	for (at = 0; at < 8; at++)
		inside_begin(&inside[at], d);
	IN_CHILD(protects_new_threads);
	for (at = 0; at < 8; at++)
		inside_end(&inside[at]);
}

/* A thread that ends is inside a section of a destructor's at the fork: it is over in the child. */
static pthread_key_t key;
static int stays;

static void stays_inside(void *argument)
{
	(void)argument;
	d->readers == LEE_1_QSBR ? go_online(d) : d->read_lock();
	SET(stays, 1);
	while (GET(stays) == 1)
		sleep_us(50);
	d->readers == LEE_1_QSBR ? go_offline(d) : d->read_unlock();
}

static void *ends_slowly(void *argument)
{
	(void)argument;
	CHECK_EQ(d->enroll(), 0);
	CHECK_EQ(pthread_setspecific(key, &key), 0);
	return NULL;
}

static void beside_a_thread_that_ends(void)
{
	pthread_t thread;
	struct waiter waiter;

	stays = 0;
	thread = check_start(ends_slowly, NULL);
	EVENTUALLY(GET(stays) == 1);
	IN_CHILD(works);
	waiter_begin(&waiter, d);
	NEVER(GET(waiter.done));
	SET(stays, 2);
	waiter_end(&waiter);
	check_join(thread);
	works();
}

/* Forks at any moment, beside threads that come, read, wait, defer and go. */
static bool is_over;

static void *disturbs(void *argument)
{
	uint64_t seed = 1 + (uint64_t)(uintptr_t)argument;
	int count = 0, queued = 0;

	while (!GET(is_over)) {
		if (d->readers == LEE_1_QSBR)
			CHECK_EQ(d->enroll(), 0);
		d->read_lock();
		compute(random_below(&seed, 1000));
		if (random_below(&seed, 4) == 0) {
			defer_item(&count);
			queued++;
		}
		d->read_unlock();
		if (random_below(&seed, 8) == 0)
			CHECK_EQ(d->synchronize(), 0);
		if (random_below(&seed, 2) == 0)
			d->unregister();
	}
	d->unregister();
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(GET(count), queued);
	return NULL;
}

static bool is_quiet_there(void)
{
	if (d->readers == LEE_1_QSBR)
		go_offline(d);
	CHECK_EQ(d->synchronize(), 0);
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(stats_of(d).callbacks_queued, 0);
	return works();
}

static void at_any_moment(void)
{
	pthread_t threads[3];
	uint64_t end = now_ns() + stress_ns(0.3);
	int at;

	is_over = false;
	for (at = 0; at < 3; at++)
		threads[at] = check_start(disturbs, (void *)(uintptr_t)at);
	while (now_ns() < end)
		IN_CHILD(is_quiet_there);
	SET(is_over, true);
	for (at = 0; at < 3; at++)
		check_join(threads[at]);
	works();
}

/* A child whose parent has used nothing yet. */
static bool uses_all_first(void)
{
	FOR_EACH(one, SECTIONS) {
		d = one;
		CHECK(works());
	}
	FOR_EACH(one, QUIESCENT) {
		d = one;
		CHECK(works());
	}
	return true;
}

int main(void)
{
	rcu_begin();
	CHECK_EQ(pthread_key_create(&key, stays_inside), 0);
	IN_CHILD(uses_all_first);
	FOR_EACH(one, SECTIONS) {
		d = one;
		IN_CHILD(works);
		works();
		beside_a_running_grace_period();
		in_a_section();
		with_callbacks_pending();
		in_a_callback();
		beside_threads_that_are_inside();
		beside_a_thread_that_ends();
		/* Those that take a while, once for each kind. */
		if (one->domain == &own || one->domain == &own_full) {
			beside_a_callback();
			at_any_moment();
		}
	}
	FOR_EACH(one, QUIESCENT) {
		d = one;
		beside_a_running_grace_period();
		while_online();
		with_callbacks_pending();
		in_a_callback();
		beside_threads_that_are_inside();
		beside_a_thread_that_ends();
		beside_a_callback();
		at_any_moment();
	}
	return check_end("rcu_fork");
}
