/* A counter of stalls that an operator can read. */

#include <leeward/rcu.h>
#include <stdio.h>

static unsigned stalls;

static void count(const struct lee_stall *stall)
{
	__atomic_fetch_add(&stalls, 1, __ATOMIC_RELAXED);
	fprintf(stderr, "thread %u reads for long\n", (unsigned)stall->thread);
}

int main(void)
{
	lee_memb_set_stall_limit(500000000, count);     /* half a second */
	return lee_memb_synchronize();
}
