/*
 * Libraries that are loaded beside running threads, and given back: those that use the domains of
 * libleeward, when nothing of theirs is queued any more. What the program itself is linked with is
 * the script's choice: libleeward, or nothing that knows of it.
 */
#include "rcu_check.h"

#include <dlfcn.h>

static void *library;

#define FUNCTION(name, type) (type) find(#name)

static void (*find(const char *name))(void)
{
	void *symbol = dlsym(library, name);
	void (*function)(void);

	CHECK(symbol != NULL);
	memcpy(&function, &symbol, sizeof function);
	return function;
}

static int (*library_read)(void);
static void (*library_enter)(void), (*library_leave)(void);
static int (*library_own_domains)(void);

/* Threads that run before the library is there, use it while it is, and live on afterwards. */
enum { NOTHING, READ, NO_MORE, END_INSIDE };
static int phase, turn, idle;

static void *uses(void *argument)
{
	int mine = 0;

	(void)argument;
	while (GET(phase) != END_INSIDE) {
		if (GET(phase) == READ) {
			int value = library_read();

			CHECK(value > 0);
			if (library_own_domains != NULL)
				CHECK_EQ(library_own_domains(), 0);
			continue;
		}
		if (GET(phase) == NO_MORE && mine != GET(turn)) {
			mine = GET(turn);
			ADD(idle, 1);
		}
		sleep_us(100);
	}
	/* Ends inside a section. */
	library_enter();
	return NULL;
}

static void load(const char *path)
{
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		complain("dlopen: ", dlerror());
	library_read = FUNCTION(library_read, int (*)(void));
	library_enter = FUNCTION(library_enter, void (*)(void));
	library_leave = FUNCTION(library_leave, void (*)(void));
}

int main(int count, char **arguments)
{
	enum { THREADS = 3 };
	pthread_t threads[THREADS];
	int at, round;

	rcu_begin();
	CHECK_EQ(count, 3);
	for (at = 0; at < THREADS; at++)
		threads[at] = check_start(uses, NULL);
	/* A library that uses the domains of libleeward comes and goes. */
	for (round = 0; round < 20; round++) {
		void (*publish)(int);
		void (*defer)(void);
		int (*barrier)(void);
		int (*callbacks)(void);

		load(arguments[1]);
		publish = FUNCTION(library_publish, void (*)(int));
		defer = FUNCTION(library_defer, void (*)(void));
		barrier = FUNCTION(library_barrier, int (*)(void));
		callbacks = FUNCTION(library_callbacks, int (*)(void));
		publish(1);
		idle = 0;
		ADD(turn, 1);
		SET(phase, READ);
		for (at = 2; at < 50; at++) {
			publish(at);
			defer();
		}
		library_enter();
		defer();
		library_leave();
		sleep_us(1000);
		SET(phase, NO_MORE);
		EVENTUALLY(GET(idle) == THREADS);
		CHECK_EQ(barrier(), 0);
		CHECK_EQ(callbacks(), 49);
		CHECK_EQ(dlclose(library), 0);
		/* It is gone, in glibc; and with it the code of its callbacks. */
#ifdef __GLIBC__
		CHECK(dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD) == NULL);
#endif
		SET(phase, NOTHING);
	}
	/* One that has domains of its own comes and stays. */
	load(arguments[2]);
	library_own_domains = FUNCTION(library_own_domains, int (*)(void));
	(FUNCTION(library_publish, void (*)(int)))(7);
	idle = 0;
	ADD(turn, 1);
	SET(phase, READ);
	CHECK_EQ(library_own_domains(), 0);
	sleep_us(10000);
	SET(phase, NO_MORE);
	EVENTUALLY(GET(idle) == THREADS);
	SET(phase, END_INSIDE);
	for (at = 0; at < THREADS; at++)
		check_join(threads[at]);
	(FUNCTION(library_publish, void (*)(int)))(8);
	CHECK_EQ(library_read(), 8);
	CHECK_EQ((FUNCTION(library_barrier, int (*)(void)))(), 0);
	return check_end("rcu/loading");
}
