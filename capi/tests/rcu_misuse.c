/*
 * Misuse: a wait inside a section or a callback is refused with EDEADLK and one line on standard
 * error, by whichever function, and nothing else changes; also where the thread is to be cancelled.
 */
#include "rcu_domains.h"

#include <sys/resource.h>

static const struct kind *d;

/* What the last capture said. */
static char said[1000];

/* The name of the domain itself. */
static const char *name_of(const struct kind *kind)
{
	return kind->domain->lee_1_name;
}

/* The call is refused, and said so in one line that names the function. */
static void is_refused(int (*call)(void), const char *name, const char *where)
{
	struct lee_stats before, after;
	char thread[32];
	const bool was_inside = d->is_inside();
	const int MAGIC = 4321;

	before = stats_of(d);
	errno = MAGIC;
	capture_begin();
	CHECK_EQ(call(), EDEADLK);
	CHECK_EQ(capture_end(said, sizeof said), 1);
	CHECK_EQ(errno, MAGIC);
	CHECK(strncmp(said, "leeward: ", strlen("leeward: ")) == 0);
	CHECK(strstr(said, name) != NULL && strstr(said, where) != NULL);
	/* And the domain, and the thread. */
	CHECK(strstr(said, name_of(d)) != NULL);
	snprintf(thread, sizeof thread, "(thread %d)\n", thread_id());
	CHECK(strstr(said, thread) != NULL);
	CHECK_EQ(d->is_inside(), was_inside);
	after = stats_of(d);
	CHECK_EQ(after.readers, before.readers);
	CHECK_EQ(after.callbacks_queued, before.callbacks_queued);
}

static int by_value_synchronize(void) { return lee_domain_synchronize(d->domain); }
static int by_value_barrier(void) { return lee_domain_barrier(d->domain); }

static void in_a_section(void)
{
	int depth;

	for (depth = 0; depth < 2; depth++) {
		d->read_lock();
		is_refused(d->synchronize, "synchronize", "section");
		is_refused(d->barrier, "barrier", "section");
		is_refused(by_value_synchronize, "synchronize", "section");
		is_refused(by_value_barrier, "barrier", "section");
	}
	d->read_unlock();
	is_refused(d->synchronize, "synchronize", "section");
	d->read_unlock();
	CHECK_EQ(d->synchronize(), 0);
	CHECK_EQ(d->barrier(), 0);
}

/* While another thread leads a grace period, too, whose caller would sleep. */
static void in_a_section_while_another_waits(void)
{
	struct inside inside;
	struct waiter waiter;

	inside_begin(&inside, d);
	d->read_lock();
	waiter_asleep(&waiter, d);
	is_refused(d->synchronize, "synchronize", "section");
	is_refused(d->barrier, "barrier", "section");
	d->read_unlock();
	inside_end(&inside);
	waiter_end(&waiter);
}

/* Other domains' sections are no obstacle. */
static void in_another_domains_section(void)
{
	lee_memb_read_lock();
	CHECK_EQ(lee_bp_synchronize(), 0);
	CHECK_EQ(lee_mb_synchronize(), 0);
	CHECK_EQ(lee_qsbr_synchronize(), 0);
	CHECK_EQ(own_barrier(), 0);
	lee_memb_read_unlock();
}

static int ran;

static void misuses(struct lee_head *head)
{
	(void)head;
	is_refused(d->barrier, "barrier", "callback");
	/* A grace period may be waited for: no callback waits for this one. */
	CHECK_EQ(d->synchronize(), 0);
	if (d->readers != LEE_1_QSBR) {
		d->read_lock();
		is_refused(d->synchronize, "synchronize", "section");
		d->read_unlock();
	}
	ADD(ran, 1);
}

static void in_a_callback(void)
{
	struct lee_head head;

	ran = 0;
	d->defer(&head, misuses);
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(GET(ran), 1);
}

/* Being online is no section of its own: both calls take the thread offline meanwhile. */
static void while_online(void)
{
	struct lee_head head;

	CHECK_EQ(d->enroll(), 0);
	CHECK_EQ(d->synchronize(), 0);
	CHECK(d->is_inside());
	ran = 0;
	d->defer(&head, misuses);
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(GET(ran), 1);
	CHECK(d->is_inside());
	d->unregister();
}

/*
 * A line on standard error is a place where the C library may cancel a thread. Cancelled there, it
 * would leave in the midst of the library.
 */
static int was_refused;

static void *is_to_be_cancelled(void *argument)
{
	(void)argument;
	d->read_lock();
	CHECK_EQ(pthread_cancel(pthread_self()), 0);
	/* From here on the thread ends at the next such place. */
	was_refused = d->synchronize();
	SET(was_refused, was_refused + 1000);
	pthread_testcancel();
	FAIL("it was not cancelled");
}

static void cancelled(void)
{
	/* (A worker whose callbacks have read is a reader.) */
	const uint64_t readers = stats_of(d).readers;
	pthread_t thread;
	void *result;

	was_refused = 0;
	capture_begin();
	thread = check_start(is_to_be_cancelled, NULL);
	CHECK_EQ(pthread_join(thread, &result), 0);
	CHECK_EQ(capture_end(said, sizeof said), 1);
	CHECK(result == PTHREAD_CANCELED);
	CHECK_EQ(GET(was_refused), 1000 + EDEADLK);
	CHECK_EQ(stats_of(d).readers, readers);
	CHECK_EQ(d->synchronize(), 0);
}

/* The leader of a grace period reports a stall by such a line, and is cancelled afterwards only. */
static int waited;

static void *waits_and_is_cancelled(void *argument)
{
	(void)argument;
	CHECK_EQ(pthread_cancel(pthread_self()), 0);
	CHECK_EQ(d->synchronize(), 0);
	SET(waited, 1);
	pthread_testcancel();
	FAIL("it was not cancelled");
}

static void cancelled_while_it_waits(void)
{
	const uint64_t stalls = stats_of(d).stalls;
	struct inside inside;
	pthread_t thread;
	void *result;

	waited = 0;
	d->set_stall_limit(1000000, NULL);
	inside_begin(&inside, d);
	capture_begin();
	thread = check_start(waits_and_is_cancelled, NULL);
	EVENTUALLY(stats_of(d).stalls > stalls + 1);
	inside_end(&inside);
	CHECK_EQ(pthread_join(thread, &result), 0);
	CHECK(capture_end(said, sizeof said) > 0);
	CHECK(result == PTHREAD_CANCELED);
	CHECK_EQ(GET(waited), 1);
	d->set_stall_limit(0, NULL);
	CHECK_EQ(d->synchronize(), 0);
}

/* Where standard error is closed, or full, the answer is the same. */
static bool without_standard_error(void)
{
	const int MAGIC = 77;
	int pipe_ends[2];

	close(2);
	d->read_lock();
	errno = MAGIC;
	CHECK_EQ(d->synchronize(), EDEADLK);
	CHECK_EQ(errno, MAGIC);
	/* A pipe that nobody reads. */
	CHECK_EQ(pipe(pipe_ends), 0);
	close(pipe_ends[0]);
	CHECK_EQ(dup2(pipe_ends[1], 2), 2);
	signal(SIGPIPE, SIG_IGN);
	errno = MAGIC;
	CHECK_EQ(d->barrier(), EDEADLK);
	CHECK_EQ(errno, MAGIC);
	return true;
}

/* A callback that is NULL ends the process where it is deferred, and not later in the worker. */
static struct lee_head *given_head;
static void (*given_function)(struct lee_head *);

static bool defers_nothing(void)
{
	struct rlimit no_core = { 0, 0 };

	setrlimit(RLIMIT_CORE, &no_core);
	d->defer(given_head, given_function);
	return false;
}

static void is_fatal(struct lee_head *head, void (*function)(struct lee_head *), const char *what)
{
	char expected[64];
	int status;
	pid_t child;

	given_head = head;
	given_function = function;
	capture_begin();
	child = start_child(defers_nothing);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(capture_end(said, sizeof said), 1);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	snprintf(expected, sizeof expected, "leeward: %s_defer called with a %s that is NULL", name_of(d), what);
	CHECK(strstr(said, expected) == said);
}

static void of_null(void)
{
	static struct lee_head head;

	is_fatal(&head, NULL, "function");
	is_fatal(NULL, misuses, "head");
}

/* Ends that were not begun, and registrations that are not there. */
static void unbalanced(void)
{
	int times;

	for (times = 0; times < 3; times++) {
		d->unregister();
		d->read_unlock();
		lee_domain_read_unlock(d->domain);
		CHECK(!d->is_inside());
	}
	CHECK_EQ(d->enroll(), 0);
	for (times = 0; times < 3; times++) {
		d->read_unlock();
		lee_domain_read_unlock(d->domain);
		CHECK(!d->is_inside());
	}
	d->read_lock();
	CHECK(d->is_inside());
	d->read_unlock();
	CHECK_EQ(d->synchronize(), 0);
	/* What is QSBR's does nothing here, and sections do nothing there. */
	lee_domain_online(d->domain);
	CHECK(!d->is_inside());
	lee_domain_offline(d->domain);
	d->read_lock();
	lee_domain_offline(d->domain);
	lee_domain_quiescent(d->domain);
	CHECK(d->is_inside());
	d->read_unlock();
	d->unregister();
}

int main(void)
{
	rcu_begin();
	FOR_EACH(one, SECTIONS) {
		d = one;
		in_a_section();
		in_a_section_while_another_waits();
		in_a_callback();
		of_null();
		unbalanced();
		d->unregister();
		cancelled();
		cancelled_while_it_waits();
		IN_CHILD(without_standard_error);
	}
	in_another_domains_section();
	FOR_EACH(one, QUIESCENT) {
		d = one;
		in_a_callback();
		while_online();
	}
	return check_end("rcu_misuse");
}
