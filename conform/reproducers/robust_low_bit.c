/* The low bit of a pointer in a robust list says that the lock inherits priorities; it is no part of
 * the address: both locks are marked on Linux. */
#include <linux/futex.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct lock { struct robust_list link; unsigned word; } locks[2];
static struct robust_list_head head;

static void *owner(void *unused)
{
	unsigned me = syscall(SYS_gettid);
	locks[0].word = locks[1].word = me;
	head.list.next = (void *)((char *)&locks[0].link + 1);
	locks[0].link.next = (void *)((char *)&locks[1].link + 1);
	locks[1].link.next = &head.list;
	head.futex_offset = offsetof(struct lock, word);
	syscall(SYS_set_robust_list, &head, sizeof head);
	syscall(SYS_exit, 0);
	return unused;
}

int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, owner, NULL);
	sleep(1);
	printf("words: %#x, %#x\n", locks[0].word, locks[1].word);
	return locks[0].word != FUTEX_OWNER_DIED || locks[1].word != FUTEX_OWNER_DIED;
}
