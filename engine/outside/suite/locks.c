// Mutexes, condition variables, readers-writer locks, barriers, semaphores and joins of the C
// library, among six threads.
#include "suite.h"

enum { THREADS = 6, ROUNDS = 3000 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static long counted, written, turn, inside;

static void *work(void *argument) {
    long me = (long)argument;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&mutex);
        counted++;
        pthread_mutex_unlock(&mutex);
        if (i % 8 == me) {
            pthread_rwlock_wrlock(&rwlock);
            written++;
            pthread_rwlock_unlock(&rwlock);
        } else {
            pthread_rwlock_rdlock(&rwlock);
            CHECK(written >= 0);
            pthread_rwlock_unlock(&rwlock);
        }
        sem_wait(&semaphore);
        CHECK(__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST) <= 2);
        if (i % 64 == 0) sched_yield();
        __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
        sem_post(&semaphore);
        if (i % 100 == 0) pthread_barrier_wait(&barrier);
    }
    // Each thread in turn, twenty times: by a condition variable that all wait for.
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&mutex);
        while (turn % THREADS != me) pthread_cond_wait(&changed, &mutex);
        turn++;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&mutex);
    }
    return argument;
}

int main(void) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    sem_init(&semaphore, 0, 2);
    for (long i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (long i = 0; i < THREADS; i++) {
        void *result;
        CHECK(pthread_join(threads[i], &result) == 0 && result == (void *)i);
    }
    CHECK(counted == THREADS * ROUNDS && turn == THREADS * 20);
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += 20000000;
    if (soon.tv_nsec >= 1000000000) soon.tv_nsec -= 1000000000, soon.tv_sec++;
    pthread_mutex_lock(&mutex);
    CHECK(pthread_cond_timedwait(&changed, &mutex, &soon) == ETIMEDOUT);
    pthread_mutex_unlock(&mutex);
    return 0;
}
