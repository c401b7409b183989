/* Two threads wait for the word that a third has named by set_tid_address, and which ends: one of the two
 * is woken on Linux. */
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned word = 1;
static int woken;

static void *waiter(void *unused)
{
	if (syscall(SYS_futex, &word, FUTEX_WAIT, 1, NULL, NULL, 0) == 0)
		__atomic_add_fetch(&woken, 1, __ATOMIC_SEQ_CST);
	return unused;
}

static void *ends(void *unused)
{
	syscall(SYS_set_tid_address, &word);
	sleep(1);
	syscall(SYS_exit, 0);
	return unused;
}

int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, waiter, NULL);
	pthread_create(&thread, NULL, waiter, NULL);
	pthread_create(&thread, NULL, ends, NULL);
	sleep(2);
	int count = __atomic_load_n(&woken, __ATOMIC_SEQ_CST);
	printf("woken by the end of a thread: %d of 2\n", count);
	fflush(stdout);
	_exit(count != 1);
}
