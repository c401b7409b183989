/*
 * Where a grace period executes its heavy fences, and what it has done before each: the calls of
 * membarrier are trapped, and the handler looks at the words that readers and writers share.
 */
#include "rcu_domains.h"
#include "seccomp.h"

#if (defined(__x86_64__) || defined(__aarch64__)) && !IS_SANITIZED
#include <ucontext.h>

enum { FENCE = 8 /* MEMBARRIER_CMD_PRIVATE_EXPEDITED */, MOST = 16 };

/* How many heavy fences were executed, and what is done at each, by the thread that executes it. */
static int fences;
static void (*at_fence)(int number);

/*
 * Takes the place of membarrier, which is not called: no test here needs the fence itself, since
 * what is stored before is loaded only much later.
 */
static void trapped(int number, siginfo_t *information, void *context)
{
	ucontext_t *interrupted = (ucontext_t *)context;
#if defined(__x86_64__)
	const long command = (long)interrupted->uc_mcontext.gregs[REG_RDI];
#else
	const long command = (long)interrupted->uc_mcontext.regs[0];
#endif
	long answer = 0;

	(void)number;
	CHECK_EQ(information->si_syscall, SYS_membarrier);
	if (command == 0)
		answer = FENCE | 16 /* and its registration */;
	else if (command == FENCE && at_fence != NULL)
		at_fence(ADD(fences, 1));
#if defined(__x86_64__)
	interrupted->uc_mcontext.gregs[REG_RAX] = answer;
#else
	interrupted->uc_mcontext.regs[0] = (unsigned long long)answer;
#endif
}

LEE_DOMAIN(other);

static void trap(void (*what)(int number))
{
	struct sigaction action;

	/* By a fence of another domain the library learns what it asks for once. */
	CHECK_EQ(other_register(), 0);
	CHECK_EQ(other_synchronize(), 0);
	memset(&action, 0, sizeof action);
	action.sa_sigaction = trapped;
	action.sa_flags = SA_SIGINFO | SA_NODEFER;
	CHECK_EQ(sigaction(SIGSYS, &action, NULL), 0);
	refuse_one(SYS_membarrier, SECCOMP_RET_TRAP);
	fences = 0;
	at_fence = what;
}

static const struct kind *d;

/* The epoch of the domain, and that of a slot. */
static uint64_t epoch(void)
{
	return __atomic_load_n(&d->domain->lee_1_epoch, __ATOMIC_RELAXED);
}

static struct lee_1_slot *own_slot(void)
{
	return *d->domain->lee_1_place();
}

/*
 * Pair A: the fence is executed once, after the callers' unlink, and before the epoch advances: a
 * reader that announces the new epoch was reached by the fence before.
 */
static uint64_t epoch_at[MOST];

static void look_at_the_epoch(int number)
{
	CHECK(number < MOST);
	epoch_at[number] = epoch();
}

static bool the_epoch_advances_after_the_fence(void)
{
	uint64_t before;
	int round;

	/* A reader that is registered makes the fence necessary. */
	CHECK_EQ(d->enroll(), 0);
	trap(look_at_the_epoch);
	for (round = 1; round <= 3; round++) {
		before = epoch();
		CHECK_EQ(d->synchronize(), 0);
		CHECK_EQ(fences, round);
		CHECK_EQ(epoch_at[round], before);
		CHECK_EQ(epoch(), before + 1);
	}
	CHECK_EQ(stats_of(d).sleeps, 0);
	return true;
}

/* Without readers there is nothing that the fence would reach. */
static bool no_fence_without_readers(void)
{
	trap(look_at_the_epoch);
	CHECK_EQ(d->synchronize(), 0);
	CHECK_EQ(fences, 0);
	return true;
}

/* A thread that is inside, and does what it is told to. */
static struct lee_1_slot *slot;
static int order = 1, obeyed;
static uint64_t announced;

enum { LEAVE = 2, RETURN_LATE, LEAVE_AGAIN, END };
static pthread_t reader;

static void *obeys(void *argument)
{
	(void)argument;
	d->read_lock();
	slot = own_slot();
	announced = slot->epoch;
	SET(obeyed, 1);
	for (;;) {
		const int now = GET(order);

		if (now == GET(obeyed)) {
			sleep_us(20);
			continue;
		}
		if (now == LEAVE || now == LEAVE_AGAIN)
			d->read_unlock();
		/* As a reader that loaded the epoch long ago, and was delayed. */
		if (now == RETURN_LATE)
			lee_1_announce(slot, announced, LEE_1_ASYMMETRIC);
		SET(obeyed, now);
		if (now == END)
			return NULL;
	}
}

static void obey(int what)
{
	SET(order, what);
	while (GET(obeyed) != what)
		sched_yield();
}

/*
 * Pair C: a writer that is about to sleep asks the reader for a wake, executes a heavy fence, and
 * looks again: the reader that left meanwhile is not slept for.
 */
static int waited_at_the_fence;

static void leave_at_the_second_fence(int number)
{
	if (number != 2)
		return;
	waited_at_the_fence = (int)slot->waited;
	obey(LEAVE);
}

static bool the_reader_is_looked_at_after_the_fence(void)
{
	trap(leave_at_the_second_fence);
	reader = check_start(obeys, NULL);
	EVENTUALLY(GET(obeyed) == 1);
	CHECK_EQ(d->synchronize(), 0);
	CHECK_EQ(fences, 2);
	CHECK_EQ(waited_at_the_fence, 1);
	CHECK_EQ(stats_of(d).sleeps, 0);
	CHECK_EQ(slot->waited, 0);
	obey(END);
	check_join(reader);
	return true;
}

/*
 * A reader that was asked leaves, which takes the request back, and announces an epoch that it had
 * loaded before, while the writer sleeps for another. It is asked again, with another fence.
 */
static int waited_at_the_third_fence;
static uint64_t sleeps_before;

static void look_at_the_request(int number)
{
	if (number == 3) {
		waited_at_the_third_fence = (int)slot->waited;
		sleeps_before = stats_of(d).sleeps;
	}
}

/* And looked at again behind it: this time it leaves there. */
static void leave_at_the_third_fence(int number)
{
	look_at_the_request(number);
	if (number == 3)
		obey(LEAVE_AGAIN);
}

static void until_the_request_is_made_again(struct waiter *waiter, void (*look)(int number))
{
	struct inside first;

	trap(look);
	inside_begin(&first, d);
	reader = check_start(obeys, NULL);
	EVENTUALLY(GET(obeyed) == 1);
	waiter_asleep(waiter, d);
	EVENTUALLY(is_asleep(GET(waiter->id)));
	CHECK_EQ(GET(fences), 2);
	CHECK_EQ(GET(slot->waited), 1);
	obey(LEAVE);
	CHECK_EQ(GET(slot->waited), 0);
	obey(RETURN_LATE);
	inside_end(&first);
	EVENTUALLY(GET(fences) >= 3);
	CHECK_EQ(waited_at_the_third_fence, 1);
}

static bool the_request_is_made_again(void)
{
	struct waiter waiter;

	until_the_request_is_made_again(&waiter, look_at_the_request);
	EVENTUALLY(stats_of(d).sleeps >= 2 && is_asleep(GET(waiter.id)));
	sleep_us(5000);
	CHECK_EQ(GET(waiter.done), 0);
	/* It sleeps: it does not look all the time. */
	CHECK(stats_of(d).sleeps <= 4);
	CHECK_EQ(GET(fences), 3);
	CHECK_EQ(GET(slot->waited), 1);
	SET(order, LEAVE_AGAIN);
	waiter_end(&waiter);
	obey(END);
	check_join(reader);
	return true;
}

static bool it_leaves_when_the_request_is_made_again(void)
{
	struct waiter waiter;

	until_the_request_is_made_again(&waiter, leave_at_the_third_fence);
	waiter_end(&waiter);
	CHECK_EQ(fences, 3);
	/* It was looked at again, and not slept for. */
	CHECK_EQ(stats_of(d).sleeps, sleeps_before);
	obey(END);
	check_join(reader);
	return true;
}

/* Pair L: a fork beside queued callbacks announces itself, and executes a heavy fence. */
static void count(struct lee_head *head)
{
	(void)head;
}

static void only_count(int number)
{
	(void)number;
}

static bool a_fork_executes_a_fence(void)
{
	static struct lee_head head;
	int before;
	pid_t child;

	d->read_lock();
	d->defer(&head, count);
	EVENTUALLY(stats_of(d).sleeps == 1);
	trap(only_count);
	before = fences;
	child = fork();
	CHECK(child >= 0);
	if (child == 0)
		_exit(0);
	CHECK_EQ(check_reap(child), 0);
	CHECK(fences > before);
	d->read_unlock();
	CHECK_EQ(d->barrier(), 0);
	return true;
}

int main(void)
{
	rcu_begin();
	FOR_EACH(one, SECTIONS) {
		d = one;
		if (one->readers != LEE_1_ASYMMETRIC)
			continue;
		IN_CHILD(the_epoch_advances_after_the_fence);
		IN_CHILD(no_fence_without_readers);
		IN_CHILD(the_reader_is_looked_at_after_the_fence);
		IN_CHILD(the_request_is_made_again);
		IN_CHILD(it_leaves_when_the_request_is_made_again);
		IN_CHILD(a_fork_executes_a_fence);
	}
	return check_end("rcu_fences");
}
#else
int main(void)
{
	rcu_begin();
	printf("rcu_fences: skipped: the registers of a trapped call are not known here\n");
	return check_end("rcu_fences");
}
#endif
