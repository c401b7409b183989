/* A process with a lock in shared memory dies, whose number has bit 7; another waits: it is woken on
 * Linux. */
#include <linux/futex.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct shared { struct robust_list_head head; struct robust_list link; unsigned word; } *shared;

int main(void)
{
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;
	while (!((child = fork()) & 0x80))
		if (child == 0) {
			if (!(getpid() & 0x80))
				_exit(0);
			break;
		}
	if (child == 0) {
		shared->link.next = &shared->head.list;
		shared->head.list.next = &shared->link;
		shared->head.futex_offset = offsetof(struct shared, word) - offsetof(struct shared, link);
		syscall(SYS_set_robust_list, &shared->head, sizeof shared->head);
		shared->word = getpid() | FUTEX_WAITERS;
		sleep(2);
		_exit(0);
	}
	sleep(1);
	struct timespec limit = {5, 0};
	long woken = syscall(SYS_futex, &shared->word, FUTEX_WAIT, child | FUTEX_WAITERS, &limit, NULL, 0);
	printf("owner %#x: the waiter %s; the word: %#x\n", child, woken ? "was not woken" : "was woken", shared->word);
	return woken != 0;
}
