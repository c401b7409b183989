/*
 * A torture: for each kind of domain, a litmus of the two fences of a section, and a storm of
 * readers, writers, signals, forks, and threads that come and go, until the time is up.
 *
 *     rcu_torture [SECONDS [SEED]]      make -C capi torture SECONDS=60
 *
 * Objects that are "freed" are marked, and used again, but never given back: what a broken library
 * makes readers do is defined here, and is detected.
 */
#include "rcu_domains.h"

#include <inttypes.h>

enum { OBJECTS = 512, ROOTS = 16, READERS = 3, WRITERS = 3, JAM = 48 };

struct object {
	struct lee_head head;
	int is_alive;
	int owner;            /* the writer */
	struct object *next;  /* in its writer's list of free ones */
	struct lee_cookie cookie;
};

/* A line of its own. */
struct line {
	uint64_t value __attribute__((__aligned__(64)));
};

static struct object objects[OBJECTS];
static struct object *roots[ROOTS];
static struct line jam_lines[JAM];
/* For each writer the objects that are free, a stack that callbacks push to; and counts. */
static struct object *free_ones[WRITERS];
static uint64_t sections, freed, grace_periods, handled, forks, short_lives;

static const struct kind *d;
static bool is_over;
static uint64_t seed = 1;

/* Fills the processor's store buffer, by lines that other processors have dirtied. */
static void jam(uint64_t value)
{
	int at;

	for (at = 0; at < JAM; at++)
		__atomic_store_n(&jam_lines[at].value, value, __ATOMIC_RELAXED);
}

static void enter(void)
{
	if (d->readers != LEE_1_QSBR)
		d->read_lock();
}

static void leave(void)
{
	if (d->readers == LEE_1_QSBR)
		quiesce(d);
	else
		d->read_unlock();
}

static void enroll(void)
{
	CHECK_EQ(d->enroll(), 0);
}

static void check_alive(const struct object *object)
{
	if (!__atomic_load_n(&object->is_alive, __ATOMIC_RELAXED))
		complain("rcu_torture: a reader reached what is freed: ", d->name);
}

static void push(struct object *object)
{
	struct object **stack = &free_ones[object->owner], *first = __atomic_load_n(stack, __ATOMIC_RELAXED);

	CHECK_EQ(__atomic_exchange_n(&object->is_alive, 0, __ATOMIC_RELAXED), 1);
	do
		object->next = first;
	while (!__atomic_compare_exchange_n(stack, &first, object, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	ADD(freed, 1);
}

static void free_object(struct lee_head *head)
{
	/* It may be overwritten from here on. */
	memset((void *)head, 0xa5, sizeof *head);
	push((struct object *)(void *)head);
}

/* Only the writer itself takes from its stack, all of it. */
struct stock {
	struct object *mine;
	int writer;
};

static struct object *take(struct stock *stock)
{
	struct object *object;

	while (stock->mine == NULL) {
		stock->mine = __atomic_exchange_n(&free_ones[stock->writer], NULL, __ATOMIC_ACQUIRE);
		if (stock->mine == NULL) {
			CHECK_EQ(d->barrier(), 0);
			sched_yield();
		}
	}
	object = stock->mine;
	stock->mine = object->next;
	CHECK_EQ(__atomic_exchange_n(&object->is_alive, 1, __ATOMIC_RELAXED), 0);
	return object;
}

/* Publishes another object at one of the writer's roots, by a store or an exchange. */
static struct object *replace(int root, struct object *next, bool plainly)
{
	struct object *old;

	if (!plainly)
		return lee_exchange(roots[root], next);
	old = roots[root];
	lee_publish(roots[root], next);
	return old;
}

static void *writes(void *argument)
{
	struct stock stock = {NULL, (int)(intptr_t)argument};
	uint64_t random = seed + 77 * (uint64_t)(intptr_t)argument;
	struct object *polled = NULL;

	if (d->readers == LEE_1_QSBR && stock.writer == 0)
		enroll();
	while (!GET(is_over)) {
		int root = (int)random_below(&random, ROOTS / WRITERS) * WRITERS + stock.writer;
		struct object *old = replace(root, take(&stock), random_below(&random, 2));

		switch (random_below(&random, 8)) {
		case 0:
		case 1:
			CHECK_EQ(d->synchronize(), 0);
			push(old);
			break;
		case 2:
			if (polled == NULL) {
				polled = old;
				polled->cookie = d->start_poll();
				break;
			}
			/* fallthrough */
		default:
			d->defer(&old->head, free_object);
		}
		if (polled != NULL && d->poll(polled->cookie)) {
			push(polled);
			polled = NULL;
		}
		if (d->readers == LEE_1_QSBR && d->is_inside())
			quiesce(d);
		if (random_below(&random, 64) == 0)
			sleep_us(random_below(&random, 500));
	}
	if (polled != NULL)
		d->defer(&polled->head, free_object);
	/* The rest goes back. */
	while (stock.mine != NULL) {
		struct object *object = stock.mine;

		stock.mine = object->next;
		SET(object->is_alive, 1);
		push(object);
	}
	return NULL;
}

static void reads_once(uint64_t *random)
{
	struct object *first, *second;
	const uint64_t wait = random_below(random, random_below(random, 8) ? 100 : 2000);

	if (random_below(random, 4) == 0)
		jam(wait);
	enter();
	first = lee_dereference(roots[random_below(random, ROOTS - 1)]);
	compute(wait);
	if (random_below(random, 4) == 0) {
		/* A section within it ends, and this one protects still. */
		if (d->readers != LEE_1_QSBR)
			d->read_lock();
		second = lee_dereference(roots[random_below(random, ROOTS - 1)]);
		check_alive(second);
		if (d->readers != LEE_1_QSBR)
			d->read_unlock();
		compute(wait);
	}
	if (random_below(random, 3000) == 0)
		sleep_us(random_below(random, 3000));
	check_alive(first);
	leave();
}

static void *reads(void *argument)
{
	uint64_t random = seed + 99 * (uint64_t)(intptr_t)argument, count = 0;
	int turns = (int)(intptr_t)argument < READERS ? -1 : 20;

	if (d->readers == LEE_1_QSBR)
		enroll();
	while (!GET(is_over) && turns-- != 0) {
		reads_once(&random);
		count++;
		switch (random_below(&random, 512)) {
		case 0:
			d->unregister();
			if (d->readers == LEE_1_QSBR)
				enroll();
			break;
		case 1:
			if (d->readers == LEE_1_QSBR) {
				go_offline(d);
				sleep_us(100);
				go_online(d);
			} else {
				enroll();
			}
		}
	}
	__atomic_add_fetch(&sections, count, __ATOMIC_RELAXED);
	/* Some end registered, some inside, and some without. */
	if (random_below(&random, 3) == 0)
		d->unregister();
	else if (d->readers != LEE_1_QSBR && random_below(&random, 2))
		d->read_lock();
	return NULL;
}

/* Threads that live for a few sections. */
static void *sends_short_lived_ones(void *argument)
{
	uint64_t random = seed + 55;

	(void)argument;
	while (!GET(is_over)) {
		check_join(check_start(reads, (void *)(intptr_t)(READERS + random_below(&random, 1000))));
		short_lives++;
	}
	return NULL;
}

static void handler(int number)
{
	uint64_t random = handled + 5;

	(void)number;
	if (d->readers != LEE_1_QSBR)
		reads_once(&random);
	__atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED);
}

static bool is_sound_in_a_child(void)
{
	if (d->readers == LEE_1_QSBR)
		go_offline(d);
	return d->synchronize() == 0 && d->barrier() == 0 && stats_of(d).callbacks_queued == 0;
}

/* Publishes objects that all are alive, and runs everything at once. */
static void storm(uint64_t time)
{
	const uint64_t end = now_ns() + time;
	pthread_t readers[READERS], writers[WRITERS], sender;
	struct stock stock = {NULL, 0};
	uint64_t random = seed + 11;
	int at;

	is_over = false;
	memset(free_ones, 0, sizeof free_ones);
	freed = 0;
	for (at = 0; at < OBJECTS; at++) {
		objects[at].owner = at % WRITERS;
		objects[at].is_alive = 1;
		push(&objects[at]);
	}
	for (at = 0; at < ROOTS; at++) {
		stock.writer = at % WRITERS;
		roots[at] = take(&stock);
		while (stock.mine != NULL) {
			struct object *object = stock.mine;

			stock.mine = object->next;
			object->is_alive = 1;
			push(object);
		}
	}
	for (at = 0; at < READERS; at++)
		readers[at] = check_start(reads, (void *)(intptr_t)at);
	for (at = 0; at < WRITERS; at++)
		writers[at] = check_start(writes, (void *)(intptr_t)at);
	sender = check_start(sends_short_lived_ones, NULL);
	while (now_ns() < end) {
		if (CHECK_HANDLERS_RUN)
			CHECK_EQ(pthread_kill(readers[random_below(&random, READERS)], SIGUSR1), 0);
		if (random_below(&random, 300) == 0 && !IS_SANITIZED) {
			IN_CHILD(is_sound_in_a_child);
			forks++;
		}
		sleep_us(random_below(&random, 200));
	}
	SET(is_over, true);
	check_join(sender);
	for (at = 0; at < READERS; at++)
		check_join(readers[at]);
	for (at = 0; at < WRITERS; at++)
		check_join(writers[at]);
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(stats_of(d).callbacks_queued, 0);
	/* Every object is alive at its root, or was given back, once. */
	for (at = 0; at < ROOTS; at++)
		CHECK_EQ(roots[at]->is_alive, 1);
	for (at = 0; at < WRITERS; at++)
		for (stock.mine = free_ones[at]; stock.mine != NULL; stock.mine = stock.mine->next)
			CHECK_EQ(stock.mine->is_alive++, 0);
	for (at = 0; at < OBJECTS; at++)
		CHECK_EQ(objects[at].is_alive, 1);
	/* Readers that ended are not registered; a worker of QSBR is. */
	CHECK(stats_of(d).readers <= (d->readers == LEE_1_QSBR));
}

/* A reader and a writer, each on a processor of its own, of one root: a store buffer that is full. */
static void *reads_jammed(void *argument)
{
	uint64_t random = seed, count = 0;

	(void)argument;
	if (d->readers == LEE_1_QSBR)
		enroll();
	while (!GET(is_over)) {
		struct object *object;

		jam(count);
		enter();
		object = lee_dereference(roots[0]);
		compute(random_below(&random, 200));
		check_alive(object);
		leave();
		compute(random_below(&random, 300));
		count++;
	}
	d->unregister();
	__atomic_add_fetch(&sections, count, __ATOMIC_RELAXED);
	return NULL;
}

static void litmus(uint64_t time)
{
	const uint64_t end = now_ns() + time;
	uint64_t random = seed;
	pthread_t reader;
	int next = 1;

	is_over = false;
	objects[0].is_alive = 1;
	roots[0] = &objects[0];
	reader = check_start(reads_jammed, NULL);
	while (now_ns() < end) {
		struct object *old = roots[0];

		__atomic_store_n(&objects[next].is_alive, 1, __ATOMIC_RELAXED);
		jam(random);
		lee_publish(roots[0], &objects[next]);
		CHECK_EQ(d->synchronize(), 0);
		__atomic_store_n(&old->is_alive, 0, __ATOMIC_RELAXED);
		compute(random_below(&random, 300));
		next = (next + 1) % 64;
	}
	SET(is_over, true);
	check_join(reader);
}

static void torture(const struct kind *one, uint64_t time)
{
	const uint64_t before = stats_of(one).grace_periods;

	d = one;
	litmus(time / 4);
	storm(time - time / 4);
	grace_periods += stats_of(one).grace_periods - before;
}

int main(int count, char **arguments)
{
	const uint64_t time = count > 1 ? (uint64_t)(atof(arguments[1]) * 1e9) : stress_ns(1);
	const uint64_t slice = time / 7 < 1000000000 ? time / 7 : 1000000000, end = now_ns() + time;
	struct sigaction action;

	watchdog(time + 6 * patience_ns());
	if (count > 2)
		seed = strtoull(arguments[2], NULL, 0) | 1;
	else if (count > 1)
		seed = now_ns() | 1;
	memset(&action, 0, sizeof action);
	action.sa_handler = handler;
	action.sa_flags = SA_RESTART;
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	printf("rcu_torture: seed %#" PRIx64 "\n", seed);
	do {
		FOR_EACH(one, SECTIONS)
			if (strstr(one->name, "value") == NULL)
				torture(one, slice);
		FOR_EACH(one, QUIESCENT)
			torture(one, slice);
	} while (now_ns() < end);
	printf("rcu_torture: %" PRIu64 " sections, %" PRIu64 " grace periods, %" PRIu64 " objects freed at last, ", sections,
	       grace_periods, freed);
	printf("%" PRIu64 " signals, %" PRIu64 " forks, %" PRIu64 " short lives\n", handled, forks, short_lives);
	return check_end("rcu_torture");
}
