// Robust mutexes: private and shared ones, with and without priority inheritance, whose owners end
// while others wait; and the owner of a mutex in shared memory that is killed.
#include "suite.h"

static pthread_mutex_t *make(void *at, int shared, int inherits) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    CHECK(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0);
    if (shared) pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    if (inherits) pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    CHECK(pthread_mutex_init(at, &attributes) == 0);
    return at;
}

static atomic_int waiter;
static int deaths;

static void *own_and_end(void *mutex) {
    CHECK(pthread_mutex_lock(mutex) == 0);
    while (!atomic_load(&waiter)) sched_yield();
    if (deaths % 2) await_sleep(atomic_load(&waiter));
    return NULL;
}

static void *inherit(void *mutex) {
    atomic_store(&waiter, gettid());
    CHECK(pthread_mutex_lock(mutex) == EOWNERDEAD);
    CHECK(pthread_mutex_consistent(mutex) == 0);
    CHECK(pthread_mutex_unlock(mutex) == 0);
    return NULL;
}

static void within_a_process(pthread_mutex_t *mutex) {
    for (deaths = 0; deaths < 40; deaths++) {
        pthread_t owner, heir;
        atomic_store(&waiter, 0);
        CHECK(pthread_create(&owner, NULL, own_and_end, mutex) == 0);
        while (pthread_mutex_trylock(mutex) == 0) CHECK(pthread_mutex_unlock(mutex) == 0);
        CHECK(pthread_create(&heir, NULL, inherit, mutex) == 0);
        CHECK(pthread_join(owner, NULL) == 0 && pthread_join(heir, NULL) == 0);
    }
}

static void between_processes(pthread_mutex_t *mutex) {
    for (int i = 0; i < 10; i++) {
        pid_t child = fork();
        if (child == 0) {
            CHECK(pthread_mutex_lock(mutex) == 0);
            pause();
        }
        while (pthread_mutex_trylock(mutex) == 0) CHECK(pthread_mutex_unlock(mutex) == 0);
        if (i % 2) kill(child, SIGKILL);
        pid_t killer = i % 2 ? 0 : fork();
        if (i % 2 == 0 && killer == 0) {
            usleep(10000);
            kill(child, SIGKILL);
            _exit(0);
        }
        CHECK(pthread_mutex_lock(mutex) == EOWNERDEAD);
        CHECK(pthread_mutex_consistent(mutex) == 0 && pthread_mutex_unlock(mutex) == 0);
        CHECK(waitpid(child, NULL, 0) == child);
        if (killer) CHECK(waitpid(killer, NULL, 0) == killer);
    }
}

struct shared {
    pthread_mutex_t mutex;
    atomic_int owned;
};

static void *end_as_owner(void *argument) {
    struct shared *shared = argument;
    CHECK(pthread_mutex_lock(&shared->mutex) == 0);
    atomic_store(&shared->owned, 1);
    // Until another process sleeps for it.
    while (!(*(atomic_uint *)&shared->mutex & FUTEX_WAITERS)) sched_yield();
    return NULL;
}

// The owner is a thread that ends by itself, and another process waits in the kernel.
static void thread_ends_beside_another_process(struct shared *shared) {
    for (int i = 0; i < 10; i++) {
        atomic_store(&shared->owned, 0);
        pid_t child = fork();
        if (child == 0) {
            while (!atomic_load(&shared->owned)) sched_yield();
            CHECK(pthread_mutex_lock(&shared->mutex) == EOWNERDEAD);
            CHECK(pthread_mutex_consistent(&shared->mutex) == 0 && pthread_mutex_unlock(&shared->mutex) == 0);
            _exit(7);
        }
        pthread_t owner;
        int status;
        CHECK(pthread_create(&owner, NULL, end_as_owner, shared) == 0);
        CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
        CHECK(pthread_join(owner, NULL) == 0);
    }
}

int main(void) {
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    pthread_mutex_t own;
    for (int inherits = 0; inherits < 2; inherits++) {
        within_a_process(make(&own, 0, inherits));
        within_a_process(make(memory, 1, inherits));
        between_processes(make(memory, 1, inherits));
    }
    make(memory, 1, 0);
    thread_ends_beside_another_process(memory);
    return 0;
}
