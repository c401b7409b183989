/* A writer that frees in a later round of its own work what it unlinks in this one. */

#include <leeward/rcu.h>
#include <sched.h>
#include <stdlib.h>

int main(void)
{
	void *unlinked = malloc(1);
	struct lee_cookie cookie = lee_memb_start_poll();

	while (!lee_memb_poll(cookie))
		sched_yield();                  /* other work, in a program */
	free(unlinked);
	return 0;
}
