/* FUTEX_LOCK_PI of a lock whose owner does not exist: ESRCH on Linux. */
#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
	unsigned word = 0x3fffffff;
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 2;
	long answer = syscall(SYS_futex, &word, FUTEX_LOCK_PI_PRIVATE, 0, &until, NULL, 0);
	int error = answer ? errno : 0;
	printf("FUTEX_LOCK_PI: %s; the word: %#x\n", strerror(error), word);
	return error != ESRCH;
}
