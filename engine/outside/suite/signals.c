// Signals and waits: with and without a restart, at the wait and before it; handlers that wake,
// that jump out, and cancellation.
#include "suite.h"

static uint32_t word;
static atomic_int handled, done;
static sigjmp_buf back;
static sem_t never, posted;

static void count(int signal) { (void)signal, atomic_fetch_add(&handled, 1); }
static void jump(int signal) { siglongjmp(back, signal); }
static void post(int signal) { (void)signal, sem_post(&posted); }

static void install(int signal, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, before;
    sigfillset(&action.sa_mask);
    CHECK(sigaction(signal, &action, NULL) == 0);
    CHECK(sigaction(signal, NULL, &before) == 0 && before.sa_handler == handler);
    CHECK((before.sa_flags & (SA_RESTART | SA_SIGINFO | (int)SA_RESETHAND)) == flags);
}

static void *send_until_done(void *thread) {
    while (!atomic_load(&done)) {
        pthread_kill(*(pthread_t *)thread, SIGUSR1);
        usleep(300);
    }
    return NULL;
}

// Waits while signals come at any time, and returns how the wait ended.
static int wait_with(int flags, const struct timespec *time) {
    pthread_t me = pthread_self(), sender;
    install(SIGUSR1, count, flags);
    atomic_store(&done, 0);
    CHECK(pthread_create(&sender, NULL, send_until_done, &me) == 0);
    int end = futex(&word, FUTEX_WAIT_PRIVATE, 0, time, NULL, 0) ? errno : 0;
    atomic_store(&done, 1);
    CHECK(pthread_join(sender, NULL) == 0);
    return end;
}

static void *wake_after_signals(void *argument) {
    int before = atomic_load(&handled);
    while (atomic_load(&handled) < before + 10) usleep(500);
    __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
    futex(&word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    return argument;
}

static void *wait_for_ever(void *argument) {
    sem_wait(&never);
    return argument;
}

int main(void) {
    struct timespec long_time = {100, 0};
    sem_init(&never, 0, 0), sem_init(&posted, 0, 0);
    for (int i = 0; i < 20; i++) {
        CHECK(wait_with(0, NULL) == EINTR);
        CHECK(wait_with(0, &long_time) == EINTR);
        CHECK(wait_with(SA_RESTART, &long_time) == EINTR);
    }
    for (int i = 0; i < 5; i++) {
        pthread_t waker;
        __atomic_store_n(&word, 0, __ATOMIC_SEQ_CST);
        CHECK(pthread_create(&waker, NULL, wake_after_signals, NULL) == 0);
        int end = wait_with(SA_RESTART, NULL);
        CHECK(end == 0 || end == EAGAIN);
        CHECK(pthread_join(waker, NULL) == 0);
    }
    // A timer's handler jumps out of a wait, and the word can be waited for again.
    __atomic_store_n(&word, 0, __ATOMIC_SEQ_CST);
    install(SIGALRM, jump, SA_RESTART);
    for (volatile int i = 0; i < 20; i++) {
        struct itimerval soon = {.it_value = {0, 500}};
        if (sigsetjmp(back, 1) == 0) {
            setitimer(ITIMER_REAL, &soon, NULL);
            futex(&word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
            CHECK(!"the handler jumps");
        }
    }
    CHECK(futex(&word, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0) == 0);
    // A handler posts what its thread waits for.
    install(SIGALRM, post, SA_RESTART);
    for (int i = 0; i < 20; i++) {
        struct itimerval soon = {.it_value = {0, 500}};
        setitimer(ITIMER_REAL, &soon, NULL);
        while (sem_wait(&posted)) CHECK(errno == EINTR);
    }
    // A handler for one signal, which comes during a wait.
    atomic_store(&handled, 0);
    install(SIGALRM, count, SA_RESETHAND);
    struct itimerval soon = {.it_value = {0, 500}};
    setitimer(ITIMER_REAL, &soon, NULL);
    CHECK(futex(&word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) == -1 && errno == EINTR && handled == 1);
    struct sigaction action;
    CHECK(sigaction(SIGALRM, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
    // Cancellation of threads that wait.
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        void *result;
        CHECK(pthread_create(&thread, NULL, wait_for_ever, NULL) == 0);
        if (i % 2) usleep(1000);
        CHECK(pthread_cancel(thread) == 0);
        CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    }
    CHECK(sem_post(&never) == 0 && sem_wait(&never) == 0);
    return 0;
}
