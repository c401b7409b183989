/*
 * Sections: who is inside, what a grace period waits for and what not, and that a writer that
 * sleeps is woken, however the section ends.
 */
#include "rcu_domains.h"

/* An unregistered thread opens its first section, nests, and is outside again at the end. */
static void *nests(void *argument)
{
	const struct kind *d = (const struct kind *)argument;
	const uint64_t readers = stats_of(d).readers;
	int depth;

	CHECK(!d->is_inside());
	d->read_lock();
	CHECK(d->is_inside());
	CHECK_EQ(stats_of(d).readers, readers + 1);
	for (depth = 1; depth < 1000; depth++) {
		d->read_lock();
		CHECK(d->is_inside());
	}
	for (; depth > 1; depth--) {
		d->read_unlock();
		CHECK(d->is_inside());
	}
	d->read_unlock();
	CHECK(!d->is_inside());
	/* A registration changes nothing; and the end of a section that was not begun, neither. */
	CHECK_EQ(d->enroll(), 0);
	CHECK(!d->is_inside());
	CHECK_EQ(stats_of(d).readers, readers + 1);
	d->read_lock();
	CHECK(d->is_inside());
	d->read_unlock();
	CHECK(!d->is_inside());
	return NULL;
}

static void waits_for_a_section_that_was_open(const struct kind *d)
{
	struct inside inside;
	struct waiter waiter;
	uint64_t before = stats_of(d).grace_periods;

	inside_begin(&inside, d);
	waiter_asleep(&waiter, d);
	NEVER(GET(waiter.done));
	CHECK_EQ(stats_of(d).grace_periods, before);
	inside_end(&inside);
	waiter_end(&waiter);
	CHECK(stats_of(d).grace_periods > before);
}

static void does_not_wait_for_a_section_that_began_later(const struct kind *d)
{
	struct inside first, second;
	struct waiter waiter;

	/* A scan goes as far as slots were ever used. */
	inside_begin(&first, d);
	inside_begin(&second, d);
	inside_end(&second);
	waiter_asleep(&waiter, d);
	inside_begin(&second, d);
	inside_end(&first);
	EVENTUALLY(GET(waiter.done));
	waiter_end(&waiter);
	inside_end(&second);
}

/* The state of a thread that does as it is told: `step` is the last order, `done` the last done. */
struct told {
	const struct kind *domain;
	void (*orders[4])(const struct kind *);
	int step, done;
};

static void *does_as_told(void *argument)
{
	struct told *told = (struct told *)argument;
	int at;

	/* A thread's first section is none of the inline code's. */
	told->domain->read_lock();
	told->domain->read_unlock();
	for (at = 0; at < 4 && told->orders[at] != NULL; at++) {
		while (GET(told->step) <= at)
			sleep_us(20);
		told->orders[at](told->domain);
		SET(told->done, at + 1);
	}
	return NULL;
}

static void tell(struct told *told)
{
	int next = GET(told->step) + 1;

	SET(told->step, next);
	EVENTUALLY(GET(told->done) == next);
}

static void order_lock(const struct kind *d) { d->read_lock(); }
static void order_unlock(const struct kind *d) { d->read_unlock(); }
static void order_lock_twice(const struct kind *d) { d->read_lock(), d->read_lock(); }
static void order_unlock_by_value(const struct kind *d) { lee_domain_read_unlock(d->domain); }
static void order_lock_by_value(const struct kind *d) { lee_domain_read_lock(d->domain); }
static void order_unregister(const struct kind *d) { d->unregister(); }
static void order_nothing(const struct kind *d) { (void)d; }
static void order_enroll(const struct kind *d) { CHECK_EQ(d->enroll(), 0); }
static void order_online(const struct kind *d) { go_online(d); }
static void order_offline(const struct kind *d) { go_offline(d); }
static void order_quiesce(const struct kind *d) { quiesce(d); }
static void order_synchronize(const struct kind *d) { CHECK_EQ(d->synchronize(), 0); }
/* The end of the inner section protects still; the end of the outer one does not. */
static void an_inner_end_is_no_end(const struct kind *d, void (*inner)(const struct kind *))
{
	struct told told = {d, {order_lock_twice, inner, order_unlock, NULL}, 0, 0};
	pthread_t reader = check_start(does_as_told, &told);
	struct waiter waiter;

	tell(&told);
	tell(&told);
	waiter_begin(&waiter, d);
	NEVER(GET(waiter.done));
	tell(&told);
	waiter_end(&waiter);
	check_join(reader);
}

/* How long a grace period sleeps here before it looks by itself. */
static uint64_t nap_ns(void)
{
	return patience_ns() / 4;
}

static int stalls;

static void stalled(const struct lee_stall *stall)
{
	(void)stall;
	ADD(stalls, 1);
}

/* A writer that sleeps for a reader is woken by this way of leaving. */
static void is_woken(const struct kind *d, void (*enter)(const struct kind *), void (*leave)(const struct kind *))
{
	struct told told = {d, {enter, leave, order_nothing, NULL}, 0, 0};
	pthread_t reader = check_start(does_as_told, &told);
	struct waiter waiter;
	uint64_t left;

	d->set_stall_limit(nap_ns(), stalled);
	tell(&told);
	waiter_asleep(&waiter, d);
	EVENTUALLY(is_asleep(GET(waiter.id)));
	left = now_ns();
	SET(told.step, 2);
	waiter_end(&waiter);
	/* It was woken, and did not sleep until then. */
	CHECK(now_ns() - left < nap_ns() * 9 / 10);
	SET(told.step, 3);
	check_join(reader);
	d->set_stall_limit(nap_ns(), NULL);
}

static void is_woken_by_every_way_of_leaving(const struct kind *d)
{
	is_woken(d, order_lock, order_unlock);
	is_woken(d, order_lock_by_value, order_unlock_by_value);
	is_woken(d, order_lock, order_unregister);
}

/* A thread that is inside, and ends. */
static void *ends_inside(void *argument)
{
	struct told *told = (struct told *)argument;

	if (told->domain->readers == LEE_1_QSBR)
		go_online(told->domain);
	else
		told->domain->read_lock();
	SET(told->done, 1);
	while (GET(told->step) == 0)
		sleep_us(20);
	return NULL;
}

static void is_woken_by_the_threads_end(const struct kind *d)
{
	struct told told = {d, {NULL, NULL, NULL, NULL}, 0, 0};
	pthread_t reader = check_start(ends_inside, &told);
	struct waiter waiter;
	uint64_t left;

	d->set_stall_limit(nap_ns(), stalled);
	EVENTUALLY(GET(told.done) == 1);
	waiter_asleep(&waiter, d);
	EVENTUALLY(is_asleep(GET(waiter.id)));
	left = now_ns();
	SET(told.step, 1);
	waiter_end(&waiter);
	CHECK(now_ns() - left < nap_ns() * 9 / 10);
	check_join(reader);
	d->set_stall_limit(nap_ns(), NULL);
}

/* Two reads in one section see one version, though a writer publishes and waits meanwhile. */
struct version {
	int number;
	bool is_freed;
};
static struct version *current;

struct walk {
	const struct kind *domain;
	bool is_over;
	uint64_t sections;
};

static void *walks(void *argument)
{
	struct walk *walk = (struct walk *)argument;
	const struct kind *d = walk->domain;

	while (!GET(walk->is_over)) {
		struct version *first;

		d->read_lock();
		first = lee_dereference(current);
		compute(walk->sections % 100);
		CHECK(!__atomic_load_n(&first->is_freed, __ATOMIC_RELAXED));
		d->read_unlock();
		walk->sections++;
	}
	return NULL;
}

static void what_is_reached_is_not_freed(const struct kind *d)
{
	static struct version versions[2];
	struct walk walk = {d, false, 0};
	uint64_t end = now_ns() + stress_ns(0.05);
	pthread_t reader;
	int next = 1;

	versions[0].is_freed = false;
	lee_publish(current, &versions[0]);
	reader = check_start(walks, &walk);
	while (now_ns() < end) {
		struct version *old;

		__atomic_store_n(&versions[next].is_freed, false, __ATOMIC_RELAXED);
		old = lee_exchange(current, &versions[next]);
		CHECK_EQ(d->synchronize(), 0);
		__atomic_store_n(&old->is_freed, true, __ATOMIC_RELAXED);
		next = !next;
	}
	SET(walk.is_over, true);
	check_join(reader);
}

int main(void)
{
	rcu_begin();
	FOR_EACH(d, SECTIONS) {
		check_join(check_start(nests, (void *)(uintptr_t)d));
		waits_for_a_section_that_was_open(d);
		does_not_wait_for_a_section_that_began_later(d);
		an_inner_end_is_no_end(d, order_unlock);
		an_inner_end_is_no_end(d, order_unlock_by_value);
		is_woken_by_every_way_of_leaving(d);
		is_woken_by_the_threads_end(d);
		what_is_reached_is_not_freed(d);
	}
	FOR_EACH(d, QUIESCENT) {
		waits_for_a_section_that_was_open(d);
		does_not_wait_for_a_section_that_began_later(d);
		is_woken(d, order_online, order_offline);
		is_woken(d, order_enroll, order_unregister);
		is_woken(d, order_enroll, order_quiesce);
		is_woken(d, order_enroll, order_synchronize);
		is_woken_by_the_threads_end(d);
	}
	CHECK_EQ(GET(stalls), 0);
	return check_end("rcu_sections");
}
