/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the programs of this folder share. They are C99 and C++11, and define HEADER as the header
 * that gives the flavour under test the short names.
 */
#ifndef URCU_CHECK_H
#define URCU_CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef HEADER
#include HEADER
#endif

#define UNUSED __attribute__((__unused__))
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

/* Is not switched off by NDEBUG, and ends the process, also in a child or another thread. */
#define CHECK(condition)                                                                \
    do {                                                                                \
        if (!(condition)) {                                                             \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);     \
            _exit(101);                                                                 \
        }                                                                               \
    } while (0)

/* Flags and counters that threads share. */
#define GET(x) __atomic_load_n(&(x), __ATOMIC_SEQ_CST)
#define SET(x, v) __atomic_store_n(&(x), (v), __ATOMIC_SEQ_CST)
#define ADD(x, v) __atomic_add_fetch(&(x), (v), __ATOMIC_SEQ_CST)

/* A value that no function sets errno to. */
#define UNTOUCHED 4242
/* Executes a statement, which must leave errno alone. */
#define KEEPS_ERRNO(statement)       \
    do {                             \
        errno = UNTOUCHED;           \
        statement;                   \
        CHECK(errno == UNTOUCHED);   \
    } while (0)

static UNUSED void sleep_ms(long ms)
{
    struct timespec time;

    time.tv_sec = ms / 1000;
    time.tv_nsec = ms % 1000 * 1000000;
    while (nanosleep(&time, &time) != 0 && errno == EINTR)
        ;
}

/* Waits until something is so, which the watchdog of begin() bounds. */
#define EVENTUALLY(condition)   \
    do {                        \
        while (!(condition))    \
            sleep_ms(1);        \
    } while (0)

static UNUSED pthread_t start_thread(void *(*work)(void *), void *argument)
{
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, work, argument) == 0);
    return thread;
}

static UNUSED void join_thread(pthread_t thread)
{
    CHECK(pthread_join(thread, NULL) == 0);
}

static UNUSED int count_threads(void)
{
    char line[256];
    int count = 0;
    FILE *file = fopen("/proc/self/status", "r");

    CHECK(file);
    while (fgets(line, sizeof line, file))
        sscanf(line, "Threads: %d", &count);
    fclose(file);
    return count;
}

static UNUSED void hangs(int signal)
{
    static const char text[] = "it hangs\n";

    (void)signal;
    (void)!write(2, text, sizeof text - 1);
    _exit(102);
}

/* Begins the test; also in a child, which inherits no alarm. Ends the process where it hangs. */
static UNUSED void begin(void)
{
    signal(SIGALRM, hangs);
    alarm(60);
}

static UNUSED int end(const char *name)
{
    printf("%s: ok\n", name);
    return 0;
}

/* Waits for a child, which must end with that status. */
static UNUSED void ends_with(pid_t child, int status)
{
    int found = 0;

    CHECK(child > 0);
    while (waitpid(child, &found, 0) != child)
        CHECK(errno == EINTR);
    CHECK(WIFEXITED(found));
    CHECK(WEXITSTATUS(found) == status);
}

/* What standard error was before captured_begin(), and the pipe that it is meanwhile. */
static int before_capture UNUSED = -1, capture UNUSED = -1;

static UNUSED void capture_begin(void)
{
    int ends[2];

    CHECK(pipe(ends) == 0);
    CHECK(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
    before_capture = dup(2);
    CHECK(before_capture >= 0 && dup2(ends[1], 2) == 2);
    close(ends[1]);
    capture = ends[0];
}

/* Gives standard error back. Returns how many lines were written meanwhile; the text has all. */
static UNUSED int capture_end(char *text, size_t size)
{
    ssize_t length = read(capture, text, size - 1);
    int lines = 0;

    CHECK(dup2(before_capture, 2) == 2);
    close(before_capture);
    close(capture);
    text[length > 0 ? length : 0] = '\0';
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* Checks that a child which calls the function ends by SIGABRT, and says one line, with these words. */
static UNUSED void is_fatal(void (*what)(void *argument), void *argument, const char *words)
{
    struct rlimit no_core = {0, 0};
    char text[1000];
    pid_t child;
    int status = 0;
    bool says_it;

    capture_begin();
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        begin();
        setrlimit(RLIMIT_CORE, &no_core);
        what(argument);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    says_it = capture_end(text, sizeof text) == 1 && strstr(text, words) != NULL;
    if (!says_it)
        fprintf(stderr, "it said: %s", text);
    CHECK(says_it);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

/* True in the flavour qsbr. */
#define IS_QSBR (strstr(TEXT(rcu_read_lock), "urcu_qsbr_read_lock") != NULL)
#define IS_BP (strstr(TEXT(rcu_read_lock), "urcu_bp_read_lock") != NULL)

#endif
