/*
 * What the tests of RCU share beside check.h: patience, flags, a watchdog that makes a hang a
 * failure, children that must return true, and lines on standard error.
 */
#ifndef RCU_CHECK_H
#define RCU_CHECK_H

#include "check.h"

#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Sanitizers make a program slow, and call what the test does not expect. */
#if !CHECK_HANDLERS_RUN || !CHECK_THREADS_UNWIND
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

/* Defined as 1 where qemu emulates the processor. */
#ifndef IS_EMULATED
#define IS_EMULATED 0
#endif

/* Ends the process, also from a handler or a child. */
#define FAIL(what) (check_failed(what, __FILE__, __LINE__), _exit(1))

static CHECK_UNUSED uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static CHECK_UNUSED void sleep_us(uint64_t us)
{
	struct timespec time;

	time.tv_sec = (time_t)(us / 1000000u);
	time.tv_nsec = (long)(us % 1000000u * 1000u);
	while (nanosleep(&time, &time) != 0 && errno == EINTR)
		continue;
}

/* How long something that must happen may take: LEEWARD_TEST_PATIENCE seconds. */
static CHECK_UNUSED uint64_t patience_ns(void)
{
	const char *text = getenv("LEEWARD_TEST_PATIENCE");
	double seconds = text != NULL && *text != 0 ? atof(text) : 20;

	return (uint64_t)(seconds * 1e9);
}

/* How long a stress runs, in nanoseconds: LEEWARD_TEST_SECONDS, else what the test says. */
static CHECK_UNUSED uint64_t stress_ns(double seconds)
{
	const char *text = getenv("LEEWARD_TEST_SECONDS");

	return (uint64_t)((text != NULL && *text != 0 ? atof(text) : seconds) * 1e9);
}

/* Waits until the condition holds; ends the process if it never does. */
#define EVENTUALLY(condition) \
	do { \
		uint64_t check_start = now_ns(); \
		while (!(condition)) { \
			if (now_ns() - check_start > patience_ns()) \
				FAIL("it never came to pass: " #condition); \
			sleep_us(50); \
		} \
	} while (0)

/* Ends the process if the condition comes to hold within a moment. */
#define NEVER(condition) \
	do { \
		uint64_t check_start = now_ns(); \
		do { \
			if (condition) \
				FAIL("it must not be: " #condition); \
			sleep_us(100); \
		} while (now_ns() - check_start < 10 * 1000000u); \
	} while (0)

/* Flags and counters that threads share. */
#define GET(place) __atomic_load_n(&(place), __ATOMIC_SEQ_CST)
#define SET(place, value) __atomic_store_n(&(place), (value), __ATOMIC_SEQ_CST)
#define ADD(place, value) __atomic_add_fetch(&(place), (value), __ATOMIC_SEQ_CST)

/* A generator of random numbers: xorshift64*, the same sequence for the same seed. */
static CHECK_UNUSED uint64_t random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(0x2545F4914F6CDD1D);
}

static CHECK_UNUSED uint64_t random_below(uint64_t *state, uint64_t end)
{
	return (random_next(state) >> 33) % end;
}

/* Computes for about `turns` nanoseconds, without memory. */
static CHECK_UNUSED void compute(uint64_t turns)
{
	uint64_t value = turns;

	while (turns-- != 0) {
		value = value * 31 + turns;
		__asm__ volatile("" : "+r"(value));
	}
}

static CHECK_UNUSED int thread_id(void)
{
	return (int)syscall(SYS_gettid);
}

/* Returns true if that thread of this process sleeps in the kernel. */
static CHECK_UNUSED bool is_asleep(int id)
{
	char path[64], text[512];
	int file;
	ssize_t length;
	const char *end;

	snprintf(path, sizeof path, "/proc/self/task/%d/stat", id);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return false;
	length = read(file, text, sizeof text - 1);
	close(file);
	text[length < 0 ? 0 : length] = 0;
	end = strrchr(text, ')');
	return end != NULL && end[1] == ' ' && end[2] == 'S';
}

/* Ends a program that hangs. (The signal is one that the tests do not use.) */
static CHECK_UNUSED void check_hangs(int number)
{
	(void)number;
	FAIL("it hangs");
}

/* Ends this process if it has not ended after that time. Not inherited by children. */
static CHECK_UNUSED void watchdog(uint64_t ns)
{
	struct sigaction action;
	struct sigevent event;
	struct itimerspec time;
	timer_t timer;

	memset(&action, 0, sizeof action);
	action.sa_handler = check_hangs;
	CHECK_EQ(sigaction(SIGVTALRM, &action, NULL), 0);
	memset(&event, 0, sizeof event);
	event.sigev_notify = SIGEV_SIGNAL;
	event.sigev_signo = SIGVTALRM;
	CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	memset(&time, 0, sizeof time);
	time.it_value.tv_sec = (time_t)(ns / 1000000000u);
	time.it_value.tv_nsec = (long)(ns % 1000000000u);
	CHECK_EQ(timer_settime(timer, 0, &time, NULL), 0);
}

/* Starts a child that runs `work` and ends with 0 if that returns true. */
static CHECK_UNUSED pid_t start_child(bool (*work)(void))
{
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		watchdog(2 * patience_ns());
		_exit(work() ? 0 : 1);
	}
	return child;
}

/* Runs `work` in a child, which must return true. */
#define IN_CHILD(work) CHECK_EQ(check_reap(start_child(work)), 0)

/* Begins a test of RCU: a process that hangs is ended. */
static CHECK_UNUSED void rcu_begin(void)
{
	watchdog(110 * UINT64_C(1000000000));
}

/* What was standard error before capture_begin, and the file that it is meanwhile. */
static int check_stderr CHECK_UNUSED = 2, check_captured CHECK_UNUSED = -1;

/* Ends the process with two words on standard error, also while that is captured. */
static CHECK_UNUSED void complain(const char *what, const char *more)
{
	if (write(check_stderr, what, strlen(what)) >= 0 && write(check_stderr, more, strlen(more)) >= 0 &&
	    write(check_stderr, "\n", 1) >= 0)
		_exit(1);
	_exit(2);
}

/* Collects what is written to standard error from here on. */
static CHECK_UNUSED void capture_begin(void)
{
	check_captured = (int)syscall(SYS_memfd_create, "stderr", 1u);
	check_stderr = dup(2);
	CHECK(check_captured >= 0 && check_stderr >= 0);
	CHECK_EQ(dup2(check_captured, 2), 2);
}

/*
 * Gives standard error back, and returns how many lines were written meanwhile, without those in which
 * qemu says what ended a program.
 */
static CHECK_UNUSED int capture_end(char *text, size_t size)
{
	static const char qemus[] = "qemu: ";
	char *line, *end;
	ssize_t length;
	int lines = 0;

	CHECK_EQ(dup2(check_stderr, 2), 2);
	close(check_stderr);
	check_stderr = 2;
	length = pread(check_captured, text, size - 1, 0);
	close(check_captured);
	CHECK(length >= 0);
	text[length] = 0;
	for (line = text; (end = strchr(line, '\n')) != NULL;) {
		if (strncmp(line, qemus, sizeof qemus - 1) == 0) {
			memmove(line, end + 1, strlen(end + 1) + 1);
			continue;
		}
		line = end + 1;
		lines++;
	}
	return lines;
}

#endif
