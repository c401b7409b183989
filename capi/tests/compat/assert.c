/* urcu/assert.h and urcu/debug.h, as this unit's NDEBUG and DEBUG_RCU have them. */
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include <urcu/debug.h>
#ifdef LEEWARD_COMPAT_URCU_DEBUG_H
#include <urcu/assert.h>
#endif

#include "check.h"

static int evaluated;

static int holds(int result)
{
    evaluated++;
    return result;
}

/* Returns whether `body` aborted, in a child whose message is not shown. */
static int aborts(void (*body)(void))
{
    int status;
    pid_t child = fork();

    CHECK(child >= 0);
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(2);
        body();
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

static void fails_debug(void)
{
    urcu_assert(holds(0));
}

#ifdef LEEWARD
static void fails_posix(void)
{
    urcu_posix_assert(holds(0));
}

static void fails_assert_debug(void)
{
    urcu_assert_debug(holds(0));
}
#endif

#if defined(NDEBUG)
#define POSIX 0
#else
#define POSIX 1
#endif
#if defined(DEBUG_RCU) && !defined(NDEBUG)
#define DEBUG 1
#else
#define DEBUG 0
#endif

int main(void)
{
    int only_asserted = 1;

    errno = UNTOUCHED;
    urcu_assert(holds(only_asserted));
    CHECK(evaluated == DEBUG);
    CHECK(aborts(fails_debug) == DEBUG);
#ifdef LEEWARD
    evaluated = 0;
    urcu_assert_debug(holds(only_asserted));
    CHECK(evaluated == DEBUG);
    CHECK(aborts(fails_assert_debug) == DEBUG);
    evaluated = 0;
    urcu_posix_assert(holds(only_asserted));
    CHECK(evaluated == POSIX);
    CHECK(aborts(fails_posix) == POSIX);
#endif
    return done("assert");
}
