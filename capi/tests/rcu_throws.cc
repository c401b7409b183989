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

static int throws(const lee_map_node *, const void *)
{
	throw 2;
}

static int ends(const lee_map_node *, const void *)
{
	pthread_exit(nullptr);
}

/* The comparison, and how it is called, in a map that has a node of the hash. */
static lee_map_equal *compares;
static int caller;

static void call_comparison(lee_map *map)
{
	static lee_map_node other;
	lee_map_node *found;
	lee_map_cursor cursor;

	switch (caller) {
	case 0:
		lee_map_find(map, 1, compares, nullptr);
		break;
	case 1:
		lee_map_find_all(map, 1, compares, nullptr, &cursor);
		break;
	case 2:
		lee_map_first(map, &cursor);
		lee_map_next_equal(map, compares, nullptr, &cursor);
		break;
	case 3:
		lee_map_add_unique(map, 1, compares, nullptr, &other, &found);
		break;
	default:
		lee_map_set(map, 1, compares, nullptr, &other, &found);
	}
}

/* Of the two nodes of one hash, so that lee_map_next_equal() has one to compare. */
static bool leaves_a_comparison()
{
	static lee_map_node nodes[2];
	lee_map *map = lee_map_new(&lee_memb, 4);

	without_core();
	lee_memb_read_lock();
	CHECK_EQ(lee_map_add(map, 1, &nodes[0]), 0);
	CHECK_EQ(lee_map_add(map, 1, &nodes[1]), 0);
	if (compares == ends) {
		call_comparison(map);
		return false;
	}
	try {
		call_comparison(map);
	} catch (int) {
	}
	return false;
}

/* What is told of a stall, on the thread that waits. */
static void throws_when_told(const lee_stall *)
{
	throw 3;
}

static void ends_when_told(const lee_stall *)
{
	pthread_exit(nullptr);
}

static void (*told)(const lee_stall *);

static void *reads_for_ever(void *is_inside)
{
	lee_memb_read_lock();
	SET(*static_cast<int *>(is_inside), 1);
	for (;;)
		pause();
}

static bool leaves_what_is_told()
{
	static int is_inside;

	without_core();
	lee_memb_set_stall_limit(1000000, told);
	check_start(reads_for_ever, &is_inside);
	EVENTUALLY(GET(is_inside) == 1);
	if (told == ends_when_told) {
		lee_memb_synchronize();
		return false;
	}
	try {
		lee_memb_synchronize();
	} catch (int) {
	}
	return false;
}

int main()
{
	rcu_begin();
	is_fatal(throws_in_a_callback, "threw an exception");
	is_fatal(ends_in_a_callback, "ended or cancelled its thread");
	for (caller = 0; caller < 5; caller++) {
		compares = throws;
		is_fatal(leaves_a_comparison, "threw an exception");
		compares = ends;
		is_fatal(leaves_a_comparison, "ended or cancelled its thread");
	}
	told = throws_when_told;
	is_fatal(leaves_what_is_told, "threw an exception");
	told = ends_when_told;
	is_fatal(leaves_what_is_told, "ended or cancelled its thread");
	return check_end("rcu_throws");
}
