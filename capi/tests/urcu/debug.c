/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Units with DEBUG_RCU: misuse is reported, or ends the process.
 */
#undef NDEBUG
#define DEBUG_RCU
#define RCU_DEBUG
#include "check.h"

static void twice(void)
{
    char text[1000];
    int lines = IS_BP ? 0 : 1;

    capture_begin();
    KEEPS_ERRNO(rcu_register_thread());
    CHECK(capture_end(text, sizeof text) == 0);
    capture_begin();
    KEEPS_ERRNO(rcu_register_thread());
    CHECK(capture_end(text, sizeof text) == lines);
    CHECK(IS_BP || strstr(text, "registered already"));
    rcu_read_lock();
    rcu_read_unlock();
    capture_begin();
    KEEPS_ERRNO(rcu_unregister_thread());
    CHECK(capture_end(text, sizeof text) == 0);
    capture_begin();
    KEEPS_ERRNO(rcu_unregister_thread());
    CHECK(capture_end(text, sizeof text) == lines);
    CHECK(IS_BP || strstr(text, "not registered"));
}

/* Returns true if a child that does it is ended by an assertion. */
static bool aborts(void (*what)(void))
{
    pid_t child = fork();
    int status = 0;

    CHECK(child >= 0);
    if (child == 0) {
        close(2);
        what();
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0) || (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
    return WIFSIGNALED(status);
}

static void lock_unregistered(void)
{
    rcu_read_lock();
}

static void unlock_alone(void)
{
    rcu_register_thread();
    rcu_thread_offline();
    rcu_read_unlock();
}

static void lock_offline(void)
{
    rcu_register_thread();
    rcu_thread_offline();
    rcu_read_lock();
}

int main(void)
{
    begin();
    twice();
    CHECK(aborts(lock_unregistered) == !IS_BP);
    CHECK(aborts(unlock_alone));
    CHECK(aborts(lock_offline) == IS_QSBR);
    return end("debug");
}
