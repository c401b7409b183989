/* urcu/tls-compat.h: each thread has its own. */
#include <pthread.h>
#include <urcu/tls-compat.h>

#include "check.h"

struct pair {
    int a, b;
};

extern DECLARE_URCU_TLS(int, counter);
DEFINE_URCU_TLS(int, counter);
static DEFINE_URCU_TLS(struct pair, pair);
static DEFINE_URCU_TLS_INIT(int, started, 7);
static URCU_TLS_STORAGE_CLASS int bare;

static void *thread(void *other)
{
    CHECK(URCU_TLS(counter) == 0 && URCU_TLS(started) == 7 && URCU_TLS(pair).a == 0 && bare == 0);
    CHECK(&URCU_TLS(counter) != (int *)other);
    URCU_TLS(counter) = 5;
    URCU_TLS(started)++;
    return NULL;
}

int main(void)
{
    pthread_t id;

    errno = UNTOUCHED;
    URCU_TLS(counter)++;
    URCU_TLS(pair).a = 3;
    URCU_TLS(started) = 9;
    bare = 4;
    CHECK(pthread_create(&id, NULL, thread, &URCU_TLS(counter)) == 0);
    CHECK(pthread_join(id, NULL) == 0);
    CHECK(URCU_TLS(counter) == 1 && URCU_TLS(pair).a == 3 && URCU_TLS(started) == 9 && bare == 4);
    return done("tls");
}
