/* FUTEX_REQUEUE answers how many were woken and moved: 1 on Linux. */
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned from, to;

static void *sleeper(void *unused)
{
	syscall(SYS_futex, &from, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	return unused;
}

int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, sleeper, NULL);
	sleep(1);
	long moved = syscall(SYS_futex, &from, FUTEX_REQUEUE_PRIVATE, 0, 1L, &to, 0);
	long woken = syscall(SYS_futex, &to, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	pthread_join(thread, NULL);
	printf("FUTEX_REQUEUE of one sleeper: %ld; woken where it was moved to: %ld\n", moved, woken);
	return moved != 1 || woken != 1;
}
