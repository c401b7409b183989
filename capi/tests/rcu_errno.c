/*
 * errno: no function changes it, neither the first call in a process nor a later one, whether it
 * succeeds or not, and whatever the system refuses.
 */
#include "rcu_domains.h"
#include "seccomp.h"

#include <sys/resource.h>

#define MAGIC 31415

/* The domain of a case. */
static const struct kind *d;

static struct lee_head head;
static int ran = 1;

static void count(struct lee_head *one)
{
	(void)one;
	SET(ran, 1);
}

static void tell(const struct lee_stall *stall)
{
	(void)stall;
}

/* The functions, successful or not. */
static void call_register(void)
{
	(void)d->enroll();
}
static void call_unregister(void) { d->unregister(); }
static void call_section(void) { d->read_lock(), d->read_lock(), d->read_unlock(), d->read_unlock(); }
static void call_is_inside(void) { (void)d->is_inside(); }
static void call_quiescent(void) { quiesce(d); }
static void call_offline(void) { go_offline(d); }
static void call_online(void) { go_online(d); }
static void call_synchronize(void) { (void)d->synchronize(); }
static void call_misused(void)
{
	d->read_lock();
	(void)d->synchronize();
	(void)d->barrier();
	d->read_unlock();
}
static void call_start_poll(void) { (void)d->start_poll(); }
static void call_poll(void)
{
	struct lee_cookie cookie = {1};

	(void)d->poll(cookie);
}
static void call_defer(void)
{
	/* The head is the library's until the callback has begun. */
	if (GET(ran)) {
		SET(ran, 0);
		d->defer(&head, count);
	}
}
static void call_barrier(void) { (void)d->barrier(); }
static void call_stats(void)
{
	struct lee_stats stats;

	d->stats(&stats);
}
static void call_set_stall_limit(void) { d->set_stall_limit(1000, tell); }
static void call_set_limit(void)
{
	struct lee_limit limit = {1, 1000, 9, 0};

	CHECK_EQ(d->set_limit(&limit), EINVAL);
	CHECK_EQ(d->set_limit(NULL), 0);
}
static void call_set_child_adopts(void) { d->set_child_adopts(true); }
static void call_by_value(void)
{
	lee_domain_read_lock(d->domain);
	(void)lee_domain_is_inside(d->domain);
	lee_domain_read_unlock(d->domain);
	lee_domain_online(d->domain);
	lee_domain_quiescent(d->domain);
	lee_domain_offline(d->domain);
}

static const struct {
	const char *name;
	void (*call)(void);
	bool is_of_qsbr;
} CALLS[] = {
	{"register", call_register, false},
	{"unregister", call_unregister, false},
	{"a section", call_section, false},
	{"is_inside", call_is_inside, false},
	{"quiescent", call_quiescent, true},
	{"offline", call_offline, true},
	{"online", call_online, true},
	{"synchronize", call_synchronize, false},
	{"misuse", call_misused, false},
	{"start_poll", call_start_poll, false},
	{"poll", call_poll, false},
	{"defer", call_defer, false},
	{"barrier", call_barrier, false},
	{"stats", call_stats, false},
	{"set_stall_limit", call_set_stall_limit, false},
	{"set_limit", call_set_limit, false},
	{"set_child_adopts", call_set_child_adopts, false},
	{"functions for values", call_by_value, false},
};
enum { COUNT = sizeof CALLS / sizeof *CALLS };

static void check_one(size_t at)
{
	char text[200];
	int after;

	if (CALLS[at].is_of_qsbr && d->readers != LEE_1_QSBR)
		return;
	errno = MAGIC;
	CALLS[at].call();
	after = errno;
	if (after != MAGIC) {
		snprintf(text, sizeof text, "%s in %s made it %d", CALLS[at].name, d->name, after);
		complain("rcu_errno: errno was changed: ", text);
	}
}

/* A call as the first of a process, and again. */
static size_t which;

static bool first(void)
{
	capture_begin();
	check_one(which);
	if (CALLS[which].call == call_defer)
		EVENTUALLY(GET(ran));
	check_one(which);
	return true;
}

/* What the system refuses, and all calls then. */
static void descriptors(void)
{
	struct rlimit limit = {0, 0};

	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}
static void membarrier(void)
{
	refuse_one(SYS_membarrier, FAILS_WITH(ENOSYS));
}
static void heavy_fences(void)
{
	static const int calls[] = {SYS_membarrier, SYS_rt_tgsigqueueinfo, SYS_sched_setaffinity};

	refuse(calls, 3, FAILS_WITH(EPERM));
}
static void threads(void)
{
	static const int calls[] = {SYS_clone, SYS_clone3};

	refuse(calls, 2, FAILS_WITH(EAGAIN));
}
static void memory(void)
{
	refuse_one(SYS_mmap, FAILS_WITH(ENOMEM));
}
static void (*const REFUSED[])(void) = {descriptors, membarrier, heavy_fences, threads, memory};

static bool refused(void)
{
	size_t at;

	capture_begin();
	REFUSED[which]();
	for (at = 0; at < COUNT; at++)
		if (REFUSED[which] != heavy_fences || (CALLS[at].call != call_defer && CALLS[at].call != call_start_poll))
			check_one(at);
	return true;
}

/* All of them, again and again, beside a thread that holds grace periods up a little. */
static bool is_over;

static void *is_in_the_way(void *argument)
{
	(void)argument;
	while (!GET(is_over)) {
		d->readers == LEE_1_QSBR ? go_online(d) : d->read_lock();
		sleep_us(100);
		d->readers == LEE_1_QSBR ? go_offline(d) : d->read_unlock();
	}
	return NULL;
}

static bool all(void)
{
	pthread_t other;
	int round;
	size_t at;

	capture_begin();
	is_over = false;
	other = check_start(is_in_the_way, NULL);
	for (round = 0; round < 20; round++)
		for (at = 0; at < COUNT; at++) {
			check_one(at);
			if (CALLS[at].call == call_register && d->readers == LEE_1_QSBR)
				go_offline(d);
		}
	SET(is_over, true);
	check_join(other);
	return true;
}

/* A fork with callbacks that the child adopts. */
static bool beside_a_fork(void)
{
	pid_t child;
	size_t at;

	capture_begin();
	(void)d->start_poll();
	d->defer(&head, count);
	errno = MAGIC;
	child = fork();
	CHECK_EQ(errno, MAGIC);
	CHECK(child >= 0);
	if (child == 0) {
		watchdog(2 * patience_ns());
		CHECK_EQ(d->barrier(), 0);
		for (at = 0; at < COUNT; at++)
			check_one(at);
		_exit(0);
	}
	return check_reap(child) == 0;
}

/* The handler of a signal whose first call is in it. */
static void handler(int number)
{
	(void)number;
	call_register();
	call_section();
}

static bool in_a_handler(void)
{
	CHECK(signal(SIGALRM, handler) != SIG_ERR);
	errno = MAGIC;
	raise(SIGALRM);
	CHECK_EQ(errno, MAGIC);
	return true;
}

static void try_domain(const struct kind *one)
{
	d = one;
	for (which = 0; which < COUNT; which++)
		IN_CHILD(first);
	for (which = 0; which < sizeof REFUSED / sizeof *REFUSED; which++)
		IN_CHILD(refused);
	IN_CHILD(all);
	IN_CHILD(beside_a_fork);
	IN_CHILD(in_a_handler);
}

int main(void)
{
	rcu_begin();
	FOR_EACH(one, SECTIONS)
		try_domain(one);
	FOR_EACH(one, QUIESCENT)
		try_domain(one);
	return check_end("rcu_errno");
}
