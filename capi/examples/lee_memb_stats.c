/* A line for a server's log. */

#include <inttypes.h>
#include <leeward/rcu.h>
#include <stdio.h>

int main(void)
{
	struct lee_stats stats;

	lee_memb_stats(&stats);
	printf("rcu: %" PRIu64 " grace periods, %" PRIu64 " callbacks wait\n",
	       stats.grace_periods, stats.callbacks_queued);
	return 0;
}
