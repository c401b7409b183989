/*
 * What the programs of this folder share: CHECK(), which NDEBUG does not switch off, and errno's
 * test.
 */
#ifndef COMPAT_CHECK_H
#define COMPAT_CHECK_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Set where these headers are leeward's; the programs also compile with liburcu 0.13's, which has
 * less.
 */
#include <urcu/config.h>
#ifdef LEEWARD_COMPAT_URCU_CONFIG_H
#define LEEWARD 1
#endif

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);       \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

/* A value that no call sets errno to. */
#define UNTOUCHED 4242

/* The program's last line: errno is as main's first line left it. */
static inline int done(const char *name)
{
    CHECK(errno == UNTOUCHED);
    printf("%s: ok\n", name);
    return 0;
}

#endif
