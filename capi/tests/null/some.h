/*
 * What the calls of the table are made with where nothing is NULL: objects on which the call would
 * wait, or find nothing; and what comes of a call, in a child.
 */
#ifndef SOME_H
#define SOME_H

#include "../rcu_check.h"

#include <leeward/asym.h>
#include <leeward/barrier.h>
#include <leeward/cond.h>
#include <leeward/event.h>
#include <leeward/fence.h>
#include <leeward/map.h>
#include <leeward/mutex.h>
#include <leeward/once.h>
#include <leeward/queue.h>
#include <leeward/rcu.h>
#include <leeward/region.h>
#include <leeward/robust.h>
#include <leeward/rwlock.h>
#include <leeward/semaphore.h>
#include <leeward/shared.h>
#include <leeward/stack.h>
#include <sys/resource.h>

/* Not known to the compiler, which makes a trap of a NULL that it sees. */
static void *volatile null;

static struct lee_mutex some_mutex;
static struct lee_shared_mutex some_shared_mutex;
static struct lee_rwlock some_rwlock;
static struct lee_shared_rwlock some_shared_rwlock;
static struct lee_asym_rwlock some_asym_rwlock;
static struct lee_robust_mutex some_robust_mutex;
static struct lee_cond some_cond;
static struct lee_shared_cond some_shared_cond;
static struct lee_semaphore some_semaphore;
static struct lee_shared_semaphore some_shared_semaphore;
static struct lee_event some_event;
static struct lee_shared_event some_shared_event;
static struct lee_barrier some_barrier;
static struct lee_shared_barrier some_shared_barrier = LEE_SHARED_BARRIER_INIT(2);
static struct lee_once some_once;
static struct lee_queue some_queue;
static struct lee_stack some_stack;
static struct lee_node some_node, *some_node_place;
static struct lee_region some_region = LEE_REGION_INIT;
static struct lee_head some_head;
static struct lee_stats some_stats;
static struct lee_limit some_limit = {UINT64_MAX, 0, LEE_WAIT, 0};
static struct lee_cookie some_cookie;
static struct lee_map *some_map;
static struct lee_map_options some_map_options;
static struct lee_map_node some_map_node, *some_map_node_place;
static struct lee_map_cursor some_map_cursor;
static struct timespec some_timespec;
static char some_path[64];
static long some_thing;

static void some_callback(struct lee_head *head)
{
	(void)head;
}

static void some_tell(const struct lee_stall *stall)
{
	(void)stall;
}

static int some_equal(const struct lee_map_node *node, const void *key)
{
	return node == key;
}

static void some_work(void *argument)
{
	(void)argument;
}

static void some_make(void *value, void *argument)
{
	(void)argument;
	*(long *)value = 1;
}

/* What comes of a call. */
enum outcome { RETURNS, SAYS, FAULTS };

/* A call of the table; `call` returns what the function does, or 0. */
struct row {
	const char *function;
	const char *parameter;
	int (*call)(void);
	enum outcome outcome;
	int value;
};

static void prepare(void)
{
	const struct rlimit no_core = {0, 0};

	CHECK_EQ(setrlimit(RLIMIT_CORE, &no_core), 0);
	lee_mutex_lock(&some_mutex);
	lee_shared_mutex_lock(&some_shared_mutex);
	lee_rwlock_wrlock(&some_rwlock);
	lee_shared_rwlock_wrlock(&some_shared_rwlock);
	CHECK_EQ(lee_asym_rwlock_wrlock(&some_asym_rwlock), 0);
	CHECK_EQ(lee_barrier_init(&some_barrier, 2), 0);
	some_map = lee_map_new(&lee_memb, 4);
	CHECK(some_map != NULL);
	snprintf(some_path, sizeof some_path, "/tmp/leeward-null.%ld", (long)getpid());
}

/* Makes the call in a child. Prints what comes of it, if that is not so as the table has it. */
static bool is_so(const struct row *row)
{
	/* What is said of a domain begins with its own name. */
	const char *name = strncmp(row->function, "lee_domain_", 11) == 0 ? row->function + 11 : row->function;
	static char said[1000];
	int status, lines;
	pid_t child;

	unlink(some_path);
	capture_begin();
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		alarm(20);
		_exit(row->call());
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	lines = capture_end(said, sizeof said);
	switch (row->outcome) {
	case RETURNS:
		if (lines == 0 && WIFEXITED(status) && WEXITSTATUS(status) == row->value)
			return true;
		break;
	case SAYS:
		if (lines == 1 && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strncmp(said, "leeward: lee_", 13) == 0 &&
		    strstr(said, name) != NULL && strstr(said, " that is NULL (thread ") != NULL)
			return true;
		break;
	case FAULTS:
		if (lines == 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV)
			return true;
		break;
	}
	printf("%s, %s: ", row->function, row->parameter);
	if (WIFSIGNALED(status))
		printf("%s", strsignal(WTERMSIG(status)));
	else
		printf("returns %s", WEXITSTATUS(status) == 0 ? "0" : strerror(WEXITSTATUS(status)));
	printf("; says: %s\n", said);
	return false;
}

#endif
