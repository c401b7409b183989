/*
 * A head that is deferred again before its function began ends the process with one line that names
 * the function, the domain, the head and the thread, by whichever thread finds it. A head whose
 * function has begun is free, and so is memory that has anything in it.
 */
#include "rcu_domains.h"

#include <sys/resource.h>

static const struct kind *d, *other;

static struct lee_head twice, between;

static int ran;

static void count(struct lee_head *head)
{
	(void)head;
	ADD(ran, 1);
}

/* A callback that has its worker wait until `may_return` is 1. */
struct hold {
	struct lee_head head;
	int runs, may_return;
};

static struct hold before, first;

static void waits(struct lee_head *head)
{
	struct hold *hold = (struct hold *)head;

	SET(hold->runs, 1);
	while (!GET(hold->may_return))
		sleep_us(50);
}

/* Has the domain's worker run a callback, so that what is deferred from here on stays queued. */
static void hold_worker(void)
{
	d->defer(&before.head, waits);
	EVENTUALLY(GET(before.runs));
}

static bool was_deferred_last(void)
{
	char text[64];

	hold_worker();
	d->defer(&twice, count);
	snprintf(text, sizeof text, "the caller is (thread %d)\n", thread_id());
	CHECK(write(2, text, strlen(text)) > 0);
	d->defer(&twice, count);
	return false;
}

static bool is_queued(void)
{
	hold_worker();
	d->defer(&twice, count);
	d->defer(&between, count);
	d->defer(&twice, count);
	SET(before.may_return, 1);
	d->barrier();
	return false;
}

static bool is_in_a_batch(void)
{
	hold_worker();
	/* These two are one batch, which the worker takes when the callback before has returned. */
	d->defer(&first.head, waits);
	d->defer(&twice, count);
	SET(before.may_return, 1);
	EVENTUALLY(GET(first.runs));
	d->defer(&twice, count);
	SET(first.may_return, 1);
	d->barrier();
	return false;
}

static bool is_in_two_domains(void)
{
	hold_worker();
	d->defer(&twice, count);
	d->defer(&between, count);
	other->defer(&twice, count);
	other->barrier();
	SET(before.may_return, 1);
	d->barrier();
	return false;
}

static bool at_an_odd_address(void)
{
	/* Not aligned, which the sanitizer of undefined behaviour would report first. */
	d->defer((struct lee_head *)(uintptr_t)((uintptr_t)&twice + 1), count);
	return false;
}

/* Checks that a child which does it ends by SIGABRT; returns what it said, of so many lines. */
static const char *is_fatal(bool (*work)(void), int lines)
{
	static char said[1000];
	struct rlimit no_core = {0, 0};
	int status;
	pid_t child;

	CHECK_EQ(setrlimit(RLIMIT_CORE, &no_core), 0);
	capture_begin();
	child = start_child(work);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(capture_end(said, sizeof said), lines);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	return said;
}

/* The line names the function, the head, the domain, and a thread. */
static const char *is_found(bool (*work)(void), int lines)
{
	const char *said = is_fatal(work, lines), *name = d->domain->lee_1_name;
	char line[200];

	snprintf(line, sizeof line,
		 "leeward: %s_defer called again with the head %p, which the domain %s has queued already (thread ", name,
		 (void *)&twice, name);
	if (strstr(said, line) == NULL)
		FAIL(said);
	return said;
}

static CHECK_UNUSED void is_found_everywhere(void)
{
	const char *said = is_found(was_deferred_last, 2);

	/* The call itself found it. */
	CHECK(strstr(said, "the caller is (thread ") == said);
	said += strlen("the caller is ");
	CHECK(strncmp(said, strrchr(said, '('), strlen(strrchr(said, '('))) == 0);
	is_found(is_queued, 1);
	is_found(is_in_a_batch, 1);
	is_found(is_in_two_domains, 1);
	CHECK(strstr(is_fatal(at_an_odd_address, 1), "_defer called with a head at an odd address (thread ") != NULL);
}

/* A callback may defer its head again, and whatever a head has in it is no sign. */
static int rounds;

static void defers_itself(struct lee_head *head)
{
	ADD(ran, 1);
	if (--rounds != 0)
		d->defer(head, defers_itself);
}

static void is_free(void)
{
	static const unsigned char patterns[] = {0, 1, 0x55, 0xaa, 0xff};
	struct lee_head heads[10], itself;
	size_t pattern, at;

	for (pattern = 0; pattern < sizeof patterns; pattern++) {
		ran = 0;
		memset((void *)heads, patterns[pattern], sizeof heads);
		memset((void *)&itself, patterns[pattern], sizeof itself);
		rounds = 5;
		d->defer(&itself, defers_itself);
		for (at = 0; at < 10; at++)
			d->defer(&heads[at], count);
		EVENTUALLY(GET(ran) == 15);
		/* As the callbacks left them: with the marks of heads that were taken. */
		for (at = 0; at < 10; at++)
			d->defer(&heads[at], count);
		/* And with the addresses of others that are queued. */
		itself.next = &heads[9];
		d->defer(&itself, count);
		CHECK_EQ(d->barrier(), 0);
		CHECK_EQ(GET(ran), 26);
	}
}

int main(void)
{
	rcu_begin();
#ifndef LEE_1_TSAN
	/* (With the thread sanitizer each call has a head of its own.) */
	FOR_EACH(one, SECTIONS) {
		d = one;
		other = one->domain == &lee_bp ? &SECTIONS[0] : &SECTIONS[1];
		is_found_everywhere();
	}
	FOR_EACH(one, QUIESCENT) {
		d = one;
		other = &SECTIONS[0];
		is_found_everywhere();
	}
#endif
	FOR_EACH(one, SECTIONS) {
		d = one;
		is_free();
	}
	FOR_EACH(one, QUIESCENT) {
		d = one;
		is_free();
	}
	return check_end("rcu_twice");
}
