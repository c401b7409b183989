/*
 * Callbacks: after a grace period, once, in order; from sections, callbacks, under locks that
 * callbacks take; many of them, by several threads; and the thread that runs them.
 */
#include "rcu_domains.h"

static const struct kind *d;

static int ran;

static void count(struct lee_head *head)
{
	(void)head;
	ADD(ran, 1);
}

/* A callback runs on a thread that is inside no section, but online, and not that of its caller. */
static int caller_id, runner_id;

static void looks_around(struct lee_head *head)
{
	char path[64], text[2000], *line;
	FILE *file;
	int signal_number;
	unsigned long long blocked = 0;

	(void)head;
	runner_id = thread_id();
	CHECK(runner_id != caller_id);
	CHECK_EQ(d->is_inside(), d->readers == LEE_1_QSBR);
	/* It runs none of the program's handlers. */
	snprintf(path, sizeof path, "/proc/self/task/%d/status", runner_id);
	file = fopen(path, "re");
	CHECK(file != NULL);
	text[fread(text, 1, sizeof text - 1, file)] = 0;
	fclose(file);
	line = strstr(text, "SigBlk:");
	CHECK(line != NULL);
	blocked = strtoull(line + strlen("SigBlk:"), NULL, 16);
	for (signal_number = 1; signal_number < 32; signal_number++) {
		static const int others[] = {SIGKILL, SIGSTOP, SIGURG, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
		bool is_other = false;
		size_t at;

		for (at = 0; at < sizeof others / sizeof *others; at++)
			is_other |= others[at] == signal_number;
		CHECK(is_other || (blocked >> (signal_number - 1) & 1));
	}
	ADD(ran, 1);
}

static void where_callbacks_run(void)
{
	struct lee_head head;

	ran = 0;
	caller_id = thread_id();
	d->defer(&head, looks_around);
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(GET(ran), 1);
}

/* Not before the section that was open has ended; then without being waited for. */
static void after_a_grace_period(void)
{
	struct lee_head head;
	struct inside inside;

	ran = 0;
	inside_begin(&inside, d);
	d->defer(&head, count);
	NEVER(GET(ran));
	CHECK_EQ(stats_of(d).callbacks_queued, 1);
	inside_end(&inside);
	EVENTUALLY(GET(ran) == 1);
	EVENTUALLY(stats_of(d).callbacks_queued == 0);
}

/* The worker sleeps when it has nothing to do; each callback wakes it. */
static void each_wakes_the_worker(void)
{
	struct lee_head head;
	int round;

	for (round = 0; round < 20; round++) {
		ran = 0;
		d->defer(&head, count);
		EVENTUALLY(GET(ran) == 1);
		EVENTUALLY(is_asleep(runner_id));
	}
}

/* A number of a producer's, checked for order. */
struct item {
	long number;
	struct lee_head head;
	long *last;
};

static void in_order(struct lee_head *head)
{
	struct item *item = (struct item *)((char *)head - offsetof(struct item, head));

	CHECK_EQ(item->number, *item->last + 1);
	*item->last = item->number;
	/* The head is the callback's from now on: it may be overwritten, and freed. */
	memset((void *)item, 0x5a, sizeof *item);
	free(item);
}

struct producer {
	long count, last;
};

static void *produces(void *argument)
{
	struct producer *producer = (struct producer *)argument;
	long number;

	for (number = 1; number <= producer->count; number++) {
		struct item *item = (struct item *)malloc(sizeof *item);

		item->number = number;
		item->last = &producer->last;
		d->defer(&item->head, in_order);
	}
	return NULL;
}

/* Two producers; the order is that of each of them. */
static void many(long count)
{
	struct producer first = {count / 2, 0}, second = {count - count / 2, 0};
	uint64_t before = stats_of(d).callbacks_run;
	pthread_t other = check_start(produces, &first);

	produces(&second);
	check_join(other);
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(__atomic_load_n(&first.last, __ATOMIC_ACQUIRE), first.count);
	CHECK_EQ(__atomic_load_n(&second.last, __ATOMIC_ACQUIRE), second.count);
	CHECK_EQ(stats_of(d).callbacks_run, before + (uint64_t)count);
}

/* A callback queues others: its own head again, and a fresh one. */
static struct lee_head again;
static int rounds;

static void queues_itself(struct lee_head *head)
{
	CHECK(head == &again);
	ADD(ran, 1);
	if (--rounds != 0)
		d->defer(head, queues_itself);
}

static void count_and_free(struct lee_head *head)
{
	free(head);
	ADD(ran, 1);
}

static void queues_another(struct lee_head *head)
{
	d->defer((struct lee_head *)malloc(sizeof *head), count_and_free);
	/* And it may wait for a grace period. */
	CHECK_EQ(d->synchronize(), 0);
	CHECK_EQ(d->is_inside(), d->readers == LEE_1_QSBR);
	if (d->readers != LEE_1_QSBR) {
		d->read_lock();
		CHECK(d->is_inside());
		d->read_unlock();
	}
	free(head);
	ADD(ran, 1);
}

static void from_callbacks(void)
{
	ran = 0;
	rounds = 10;
	d->defer(&again, queues_itself);
	EVENTUALLY(GET(ran) == 10);
	/* What a callback queues is not before the barrier that waits for the callback. */
	ran = 0;
	d->defer((struct lee_head *)malloc(sizeof(struct lee_head)), queues_another);
	CHECK_EQ(d->barrier(), 0);
	CHECK(GET(ran) >= 1);
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(GET(ran), 2);
}

/* By default nothing is limited: a caller may hold a lock that callbacks take. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void takes_the_lock(struct lee_head *head)
{
	CHECK_EQ(pthread_mutex_lock(&lock), 0);
	CHECK_EQ(pthread_mutex_unlock(&lock), 0);
	free(head);
	ADD(ran, 1);
}

static void under_a_lock_that_callbacks_take(void)
{
	const int MANY = 100000;
	int at;

	ran = 0;
	CHECK_EQ(pthread_mutex_lock(&lock), 0);
	for (at = 0; at < MANY; at++)
		d->defer((struct lee_head *)malloc(sizeof(struct lee_head)), takes_the_lock);
	CHECK_EQ(GET(ran), 0);
	CHECK_EQ(pthread_mutex_unlock(&lock), 0);
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(GET(ran), MANY);
	CHECK_EQ(stats_of(d).over_limit, 0);
}

/* In a section nothing waits, and nothing that is queued runs. */
static void in_a_section(void)
{
	struct lee_head heads[10];
	int at;

	ran = 0;
	d->readers == LEE_1_QSBR ? go_online(d) : d->read_lock();
	for (at = 0; at < 10; at++)
		d->defer(&heads[at], count);
	NEVER(GET(ran));
	d->readers == LEE_1_QSBR ? go_offline(d) : d->read_unlock();
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(GET(ran), 10);
}

/* A barrier waits for everything that was queued before, by all threads, and that runs. */
static int is_held;

static void is_slow(struct lee_head *head)
{
	(void)head;
	SET(is_held, 2);
	while (GET(is_held) == 2)
		sleep_us(50);
	ADD(ran, 1);
}

static int barrier_is_over;

static void *waits_at_a_barrier(void *argument)
{
	(void)argument;
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(GET(ran), 2);
	ADD(barrier_is_over, 1);
	return NULL;
}

static void barriers(void)
{
	struct lee_head first, second;
	pthread_t waiting[2];

	ran = 0;
	is_held = 1;
	barrier_is_over = 0;
	d->defer(&first, is_slow);
	EVENTUALLY(GET(is_held) == 2);
	d->defer(&second, count);
	waiting[0] = check_start(waits_at_a_barrier, NULL);
	waiting[1] = check_start(waits_at_a_barrier, NULL);
	NEVER(GET(barrier_is_over));
	SET(is_held, 3);
	check_join(waiting[0]);
	check_join(waiting[1]);
	/* With nothing queued it does not wait, nor start anything. */
	CHECK_EQ(d->barrier(), 0);
}

/* A domain that nothing was deferred in. */
LEE_DOMAIN(fresh);

int main(void)
{
	rcu_begin();
	CHECK_EQ(fresh_barrier(), 0);
	FOR_EACH(one, SECTIONS) {
		d = one;
		where_callbacks_run();
		after_a_grace_period();
		each_wakes_the_worker();
		many(1000);
		from_callbacks();
		under_a_lock_that_callbacks_take();
		in_a_section();
		barriers();
	}
	FOR_EACH(one, QUIESCENT) {
		d = one;
		where_callbacks_run();
		after_a_grace_period();
		each_wakes_the_worker();
		from_callbacks();
		under_a_lock_that_callbacks_take();
		in_a_section();
		barriers();
		many(1000);
	}
	d = SECTIONS;
	many(IS_SANITIZED ? 100000 : 1000000);
	d = QUIESCENT;
	many(IS_SANITIZED ? 10000 : 100000);
	return check_end("rcu_defer");
}
