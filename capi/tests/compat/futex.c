/*
 * urcu/futex.h: the system call, and its emulation where a filter answers ENOSYS, which the kernel
 * of a sandbox may.
 */
#define _GNU_SOURCE 1
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <urcu/futex.h>

#include "check.h"

#ifndef FUTEX_WAIT
#define FUTEX_WAIT 0
#define FUTEX_WAKE 1
#endif

typedef int (*futex_call)(int32_t *, int, int32_t, const struct timespec *, int32_t *, int32_t);

/* Shared by processes, as the calls are for. */
static int32_t *word;

static void nap(void)
{
    struct timespec time = { 0, 20000000 };

    nanosleep(&time, NULL);
}

static void *waker(void *call)
{
    futex_call *of = (futex_call *)call;

    nap();
    __atomic_store_n(word, 1, __ATOMIC_RELEASE);
    while ((*of)(word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0) == 0 && __atomic_load_n(word, __ATOMIC_ACQUIRE) == 1)
        nap();
    return NULL;
}

static void wakes(futex_call call)
{
    pthread_t id;
    int result;

    *word = 0;
    CHECK(pthread_create(&id, NULL, waker, &call) == 0);
    do
        result = call(word, FUTEX_WAIT, 0, NULL, NULL, 0);
    while (result == 0 && __atomic_load_n(word, __ATOMIC_ACQUIRE) == 0);
    CHECK(result == 0 || errno == EAGAIN);
    __atomic_store_n(word, 2, __ATOMIC_RELEASE);
    CHECK(pthread_join(id, NULL) == 0);
}

static void handler(int number)
{
    (void)number;
}

/* EAGAIN, ETIMEDOUT, EINTR and EINVAL, each with -1. */
static void fails(futex_call call)
{
    struct timespec time = { 0, 3000000 }, nonsense = { 0, -1 };
    struct sigaction action;
    timer_t timer;
    struct itimerspec soon = { { 0, 5000000 }, { 0, 5000000 } };

    *word = 0;
    errno = 0;
    CHECK(call(word, FUTEX_WAIT, 1, NULL, NULL, 0) == -1 && errno == EAGAIN);
    errno = 0;
    CHECK(call(word, FUTEX_WAIT, 0, &time, NULL, 0) == -1 && errno == ETIMEDOUT);
    errno = 0;
    CHECK(call(word, FUTEX_WAIT, 0, &nonsense, NULL, 0) == -1 && errno == EINVAL);
    errno = 0;
    CHECK(call(word, 99, 0, NULL, NULL, 0) == -1 && errno != 0);
    memset(&action, 0, sizeof(action));
    action.sa_handler = handler;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    CHECK(timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0);
    CHECK(timer_settime(timer, 0, &soon, NULL) == 0);
    errno = 0;
    CHECK(call(word, FUTEX_WAIT, 0, NULL, NULL, 0) == -1 && errno == EINTR);
    CHECK(timer_delete(timer) == 0);
    CHECK(call(word, FUTEX_WAKE, 1, NULL, NULL, 0) == 0);
}

#ifdef LEEWARD
/* Makes futexes fail by ENOSYS in this process from now on. */
static void refuse(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { 4, filter };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(77);
}

/*
 * The child of emulated(): everything without futexes, and then a wait for what its parent stores.
 */
static void without_futexes(futex_call call)
{
    int result;

    refuse();
    fails(call);
    errno = UNTOUCHED;
    __atomic_store_n(word, 5, __ATOMIC_RELEASE);
    result = call(word, FUTEX_WAIT, 5, NULL, NULL, 0);
    CHECK(__atomic_load_n(word, __ATOMIC_ACQUIRE) == 6);
    CHECK(result == 0 ? errno == UNTOUCHED : errno == EAGAIN);
    _exit(0);
}

static void emulated(futex_call call)
{
    int status;
    pid_t child, ended;

    *word = 0;
    child = fork();
    CHECK(child >= 0);
    if (child == 0)
        without_futexes(call);
    while ((ended = waitpid(child, &status, WNOHANG)) == 0 && __atomic_load_n(word, __ATOMIC_ACQUIRE) != 5)
        nap();
    if (ended == 0) {
        nap();
        __atomic_store_n(word, 6, __ATOMIC_RELEASE);
        ended = waitpid(child, &status, 0);
    }
    CHECK(ended == child && WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        puts("futex: no filters here, emulation not tried");
    else
        CHECK(WEXITSTATUS(status) == 0);
}
#endif

int main(void)
{
    futex_call calls[3] = { futex_noasync, futex_async, futex };
    int i;

    word = (int32_t *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(word != MAP_FAILED);
    for (i = 0; i < 3; i++) {
        wakes(calls[i]);
        fails(calls[i]);
#ifdef LEEWARD
        if (i != 2)
            emulated(calls[i]);
#endif
    }
    errno = UNTOUCHED;
    return done("futex");
}
