/* What the libraries for compiled programs export of urcu/pointer.h and urcu/futex.h. */
#include <string.h>
#include <urcu/futex.h>
#include <urcu/pointer.h>

#include "check.h"

#ifndef FUTEX_WAIT
#define FUTEX_WAIT 0
#define FUTEX_WAKE 1
#endif

int main(void)
{
    int a = 1, b = 2;
    void *p = &a;
    int32_t word = 3;
    struct timespec soon = { 0, 2000000 };

    errno = UNTOUCHED;
    CHECK(rcu_dereference_sym(p) == &a);
#ifdef LEEWARD
    CHECK(rcu_dereference_sym2(&p) == &a);
#endif
    rcu_set_pointer_sym(&p, &b);
    CHECK(p == &b);
    CHECK(rcu_xchg_pointer_sym(&p, &a) == &b && p == &a);
    CHECK(rcu_cmpxchg_pointer_sym(&p, &b, NULL) == &a && p == &a);
    CHECK(rcu_cmpxchg_pointer_sym(&p, &a, NULL) == &a && p == NULL);
    CHECK(compat_futex_async(&word, FUTEX_WAKE, 1, NULL, NULL, 0) == 0);
    CHECK(compat_futex_noasync(&word, FUTEX_WAKE, 1, NULL, NULL, 0) == 0);
    CHECK(errno == UNTOUCHED);
#ifdef LEEWARD
    /* As the system call answers; liburcu's emulations return 0. */
    CHECK(compat_futex_async(&word, FUTEX_WAIT, 4, NULL, NULL, 0) == -1 && errno == EAGAIN);
    errno = 0;
    CHECK(compat_futex_noasync(&word, FUTEX_WAIT, 4, NULL, NULL, 0) == -1 && errno == EAGAIN);
    errno = 0;
    CHECK(compat_futex_async(&word, FUTEX_WAIT, 3, &soon, NULL, 0) == -1 && errno == ETIMEDOUT);
    errno = UNTOUCHED;
#endif
    (void)soon;
    return done("library");
}
