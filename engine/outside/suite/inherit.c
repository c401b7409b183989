// Mutexes with priority inheritance: contention, time-outs, errors, and an owner that ends.
#include "suite.h"

enum { THREADS = 4, ROUNDS = 2000 };
static pthread_mutex_t mutex;
static long counted;
static uint32_t word;
static atomic_int waiter;

static void *count(void *argument) {
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(pthread_mutex_lock(&mutex) == 0);
        counted++;
        if (i % 50 == 0) sched_yield();
        CHECK(pthread_mutex_unlock(&mutex) == 0);
    }
    return argument;
}

static void *time_out(void *argument) {
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_sec += 0;
    CHECK(pthread_mutex_timedlock(&mutex, &soon) == ETIMEDOUT);
    CHECK(pthread_mutex_trylock(&mutex) == EBUSY);
    return argument;
}

// A lock by number: the owner ends without unlocking, and the thread that waits has it then.
static void *lock_word(void *argument) {
    atomic_store(&waiter, gettid());
    CHECK(futex(&word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0) == 0);
    CHECK((word & FUTEX_TID_MASK) == (uint32_t)gettid());
    CHECK(futex(&word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0) == 0);
    return argument;
}

static void *own_word(void *argument) {
    CHECK(futex(&word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0) == 0);
    CHECK(futex(&word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0) == -1 && errno == EDEADLK);
    pthread_create(argument, NULL, lock_word, NULL);
    while (!atomic_load(&waiter)) sched_yield();
    await_sleep(atomic_load(&waiter));
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS], owner;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    CHECK(pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT) == 0);
    CHECK(pthread_mutex_init(&mutex, &attributes) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, count, NULL) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(counted == THREADS * ROUNDS);
    CHECK(pthread_mutex_lock(&mutex) == 0);
    CHECK(pthread_create(&owner, NULL, time_out, NULL) == 0 && pthread_join(owner, NULL) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    CHECK(pthread_create(&owner, NULL, own_word, &threads[0]) == 0);
    CHECK(pthread_join(owner, NULL) == 0 && pthread_join(threads[0], NULL) == 0);
    CHECK(word == 0);
    word = 0x3ffffff0;
    CHECK(futex(&word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0) == -1 && errno == ESRCH);
    return 0;
}
