// What the programs of this suite share. A program ends with 0 if all that it checks holds.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(what)                                                              \
    do {                                                                         \
        if (!(what)) {                                                           \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #what); \
            abort();                                                             \
        }                                                                        \
    } while (0)

static inline long futex(void *word, int operation, uint32_t value, const void *time, void *second, uint32_t third) {
    return syscall(SYS_futex, word, operation, value, time, second, third);
}

// Returns once a thread of this process sleeps in a system call, by the system's list.
static inline void await_sleep(pid_t thread) {
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    for (;;) {
        FILE *file = fopen(path, "r");
        CHECK(file && fgets(line, sizeof line, file));
        fclose(file);
        if (strstr(line, ") S ")) return;
        sched_yield();
    }
}
