// Other processes: semaphores in shared memory, children of fork with threads of their own,
// programs that are started, and all signals blocked meanwhile.
#include "suite.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int value;

static void *change(void *argument) {
    pthread_mutex_lock(&mutex);
    value++;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
    return argument;
}

static void with_a_thread(void) {
    pthread_t thread;
    int before = value;
    CHECK(pthread_create(&thread, NULL, change, NULL) == 0);
    pthread_mutex_lock(&mutex);
    while (value == before) pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    CHECK(pthread_join(thread, NULL) == 0);
}

static uint32_t word;
static atomic_int waiter;

static void *wait_for_word(void *argument) {
    atomic_store(&waiter, gettid());
    CHECK(futex(&word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) == 0);
    return argument;
}

// The child of a fork has a copy of the word, and not of the thread that waits for it.
static void without_the_waiter(void) {
    pthread_t thread;
    int status;
    CHECK(pthread_create(&thread, NULL, wait_for_word, NULL) == 0);
    while (!atomic_load(&waiter)) sched_yield();
    await_sleep(atomic_load(&waiter));
    pid_t child = fork();
    if (child == 0) _exit(futex(&word, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0) == 0 ? 4 : 1);
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 4);
    CHECK(futex(&word, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0) == 1);
    CHECK(pthread_join(thread, NULL) == 0);
}

int main(void) {
    without_the_waiter();
    sem_t *semaphores = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(semaphores != MAP_FAILED);
    CHECK(sem_init(&semaphores[0], 1, 0) == 0 && sem_init(&semaphores[1], 1, 0) == 0);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 500; i++) sem_wait(&semaphores[0]), sem_post(&semaphores[1]);
        for (int i = 0; i < 20; i++) with_a_thread();
        _exit(3);
    }
    for (int i = 0; i < 500; i++) sem_post(&semaphores[0]), sem_wait(&semaphores[1]);
    int status;
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
    sigset_t all, none;
    sigfillset(&all);
    CHECK(pthread_sigmask(SIG_BLOCK, &all, &none) == 0);
    for (int i = 0; i < 20; i++) with_a_thread();
    CHECK(pthread_sigmask(SIG_SETMASK, &none, NULL) == 0);
    char *arguments[] = {"true", NULL};
    CHECK(posix_spawnp(&child, "true", NULL, NULL, arguments, (char *[]){NULL}) == 0);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(system("cat /proc/self/status > /dev/null | cat") == 0);
    for (int i = 0; i < 20; i++) with_a_thread();
    return 0;
}
