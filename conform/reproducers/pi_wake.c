/* FUTEX_WAKE of a thread that waits in FUTEX_LOCK_PI: EINVAL on Linux. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned word;

static void *waiter(void *unused)
{
	syscall(SYS_futex, &word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0);
	syscall(SYS_futex, &word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
	return unused;
}

int main(void)
{
	pthread_t thread;
	word = syscall(SYS_gettid);
	pthread_create(&thread, NULL, waiter, NULL);
	sleep(1);
	long answer = syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	int error = answer < 0 ? errno : 0;
	printf("FUTEX_WAKE of a lock's waiter: %s\n", answer < 0 ? strerror(error) : "no error");
	syscall(SYS_futex, &word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
	pthread_join(thread, NULL);
	return error != EINVAL;
}
