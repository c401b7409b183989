/* A daemon: what was deferred before the fork runs in the process that goes on. */

#include <leeward/rcu.h>
#include <sys/wait.h>
#include <unistd.h>

static int runs;
static void count(struct lee_head *head) { (void)head; runs++; }
static struct lee_head head;

int main(void)
{
	pid_t child;
	int status = 0;

	lee_memb_defer(&head, count);
	child = fork();
	if (child == 0)
		_exit(lee_memb_barrier() == 0 && runs == 1 ? 0 : 1);
	return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
