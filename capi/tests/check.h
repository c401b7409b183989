/*
 * What the tests share: checks that NDEBUG leaves alone, threads and children that
 * must end well, and what a call wrote to standard error. Include it first.
 *
 * A test is a program that returns 0 and prints "name: ok" at its end.
 */
#ifndef CHECK_H
#define CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * What the sanitizers cannot do. The thread sanitizer keeps a signal back until its
 * thread calls the C library, which a thread that waits for a lock does not; the
 * address sanitizer of gcc takes the stack of a thread that was cancelled for broken.
 */
#if defined(__SANITIZE_THREAD__)
#define CHECK_HANDLERS_RUN 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CHECK_HANDLERS_RUN 0
#endif
#endif
#ifndef CHECK_HANDLERS_RUN
#define CHECK_HANDLERS_RUN 1
#endif
#ifdef __SANITIZE_ADDRESS__
#define CHECK_THREADS_UNWIND 0
#else
#define CHECK_THREADS_UNWIND 1
#endif

#define CHECK_UNUSED __attribute__((__unused__))

/* Ends the process, which fails the test also where it is a child. */
static CHECK_UNUSED void check_failed(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
	_exit(1);
}

static CHECK_UNUSED void check_equal(long long left, long long right, const char *what, const char *file, int line)
{
	if (left != right) {
		fprintf(stderr, "%s:%d: not so: %s: %lld and %lld\n", file, line, what, left, right);
		_exit(1);
	}
}

/* Checks that a condition holds, or that two numbers are equal. */
#define CHECK(condition) ((condition) ? (void)0 : check_failed(#condition, __FILE__, __LINE__))
#define CHECK_EQ(left, right) \
	check_equal((long long)(left), (long long)(right), #left " == " #right, __FILE__, __LINE__)

/* Executes a statement, which must leave errno as it was. */
#define KEEPS_ERRNO(statement)           \
	do {                             \
		errno = 4711;            \
		statement;               \
		CHECK_EQ(errno, 4711);   \
	} while (0)

/* Seconds for a test, as check.mk says. */
static CHECK_UNUSED unsigned check_patience(void)
{
	const char *text = getenv("CHECK_PATIENCE");

	return text == NULL ? 120 : (unsigned)atoi(text);
}

/* Begins a test: a process that hangs is ended. */
static CHECK_UNUSED void check_begin(void)
{
	alarm(check_patience());
}

/* Ends a test; the result is main's. */
static CHECK_UNUSED int check_end(const char *name)
{
	printf("%s: ok\n", name);
	return fflush(stdout) == 0 ? 0 : 1;
}

static CHECK_UNUSED pthread_t check_start(void *(*work)(void *), void *argument)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, work, argument), 0);
	return thread;
}

static CHECK_UNUSED void *check_join(pthread_t thread)
{
	void *result = NULL;

	CHECK_EQ(pthread_join(thread, &result), 0);
	return result;
}

/* Runs work(argument) in a child, which ends well if that returns. Returns its number. */
static CHECK_UNUSED pid_t check_fork(void (*work)(void *), void *argument)
{
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0) {
		alarm(check_patience() / 2);
		work(argument);
		_exit(0);
	}
	return child;
}

/* Waits for the end of a child; returns its status. */
static CHECK_UNUSED int check_reap(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) != child)
		CHECK_EQ(errno, EINTR);
	return status;
}

static CHECK_UNUSED void check_ends_well(pid_t child)
{
	int status = check_reap(child);

	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
}

static CHECK_UNUSED void check_was_killed(pid_t child)
{
	int status = check_reap(child);

	CHECK(WIFSIGNALED(status));
	CHECK_EQ(WTERMSIG(status), SIGKILL);
}

/* Returns zeroed memory that children share. */
static CHECK_UNUSED void *check_shared(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	return memory;
}

/* What check_says() read. */
static char check_said[1024] CHECK_UNUSED;

/*
 * Calls work(argument), which must write one line to standard error with these words
 * in it; NULL: no line.
 */
static CHECK_UNUSED void check_says(const char *words, void (*work)(void *), void *argument)
{
	char *said = check_said;
	ssize_t length;
	int before = dup(2), ends[2];

	CHECK(before >= 0 && pipe(ends) == 0);
	fflush(stderr);
	CHECK_EQ(dup2(ends[1], 2), 2);
	close(ends[1]);
	work(argument);
	CHECK_EQ(dup2(before, 2), 2);
	close(before);
	length = read(ends[0], said, sizeof(check_said) - 1);
	close(ends[0]);
	CHECK(length >= 0);
	said[length] = 0;
	if (words == NULL) {
		CHECK_EQ(length, 0);
		return;
	}
	if (strstr(said, "leeward: ") != said || strstr(said, words) == NULL || strchr(said, '\n') != said + length - 1)
		check_failed(said, __FILE__, __LINE__);
}

/*
 * Calls work(argument), which must write one line that names the function, the object, what is wrong
 * with it, and the calling thread. An object of NULL: any.
 */
static CHECK_UNUSED void check_misuses(const char *function, const void *object, const char *what,
				       void (*work)(void *), void *argument)
{
	char begin[200], end[200];
	size_t length;

	check_says(what, work, argument);
	length = strlen(check_said);
	if (object == NULL)
		snprintf(begin, sizeof begin, "leeward: %s called with 0x", function);
	else
		snprintf(begin, sizeof begin, "leeward: %s called with %p, ", function, object);
	snprintf(end, sizeof end, ", %s (thread %ld)\n", what, (long)syscall(SYS_gettid));
	if (strstr(check_said, begin) != check_said || length < strlen(end) ||
	    strcmp(check_said + length - strlen(end), end) != 0)
		check_failed(check_said, __FILE__, __LINE__);
}

/* Waits for so many milliseconds. */
static CHECK_UNUSED void check_nap(long milliseconds)
{
	struct timespec time;

	time.tv_sec = milliseconds / 1000;
	time.tv_nsec = milliseconds % 1000 * 1000000;
	while (nanosleep(&time, &time) != 0)
		CHECK_EQ(errno, EINTR);
}

#endif
