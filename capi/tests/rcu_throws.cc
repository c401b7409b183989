/*
 * Functions of the program's that the library calls, and that do not return: an exception, or the end
 * of the thread, ends the process with a line that says so. Each in a child.
 */
#include "rcu_check.h"

#include <leeward/map.h>
#include <leeward/rcu.h>
#include <sys/resource.h>

static char said[1000];

/* The child ends by SIGABRT, and says why in one line. */
static void is_fatal(bool (*work)(void), const char *why)
{
	int status;
	pid_t child;

	capture_begin();
	child = start_child(work);
	CHECK_EQ(waitpid(child, &status, 0), child);
	const int lines = capture_end(said, sizeof said);
	if (lines != 1 || !WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT || strstr(said, why) == nullptr)
		complain("not so: ", said);
	CHECK(strncmp(said, "leeward: ", strlen("leeward: ")) == 0);
}

static void without_core()
{
	const rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
}

static bool deferred(void (*function)(lee_head *))
{
	static lee_head head;

	without_core();
	lee_memb_defer(&head, function);
	return lee_memb_barrier() != 0;
}

static bool throws_in_a_callback()
{
	return deferred([](lee_head *) { throw 1; });
}

static bool ends_in_a_callback()
{
	return deferred([](lee_head *) { pthread_exit(nullptr); });
}

/* A comparison, whose caller would catch what it throws. */
static bool throws_in_a_comparison()
{
	static lee_map_node node;
	lee_map *map = lee_map_new(&lee_memb, 4);

	without_core();
	lee_memb_read_lock();
	CHECK_EQ(lee_map_add(map, 1, &node), 0);
	try {
		lee_map_find(map, 1, [](const lee_map_node *, const void *) -> int { throw 2; }, nullptr);
	} catch (int) {
	}
	return false;
}

int main()
{
	rcu_begin();
	is_fatal(throws_in_a_callback, "threw an exception");
	is_fatal(ends_in_a_callback, "ended or cancelled its thread");
	is_fatal(throws_in_a_comparison, "threw an exception");
	return check_end("rcu_throws");
}
