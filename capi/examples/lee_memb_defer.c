/* Freeing what was replaced without waiting. */

#include <leeward/rcu.h>
#include <stdlib.h>

struct config { int port; struct lee_head head; };
static struct config *current;
static int freed;

static void free_config(struct lee_head *head)
{
	free((char *)head - offsetof(struct config, head));
	freed++;
}

int main(void)
{
	for (int port = 80; port < 90; port++) {
		struct config *next = malloc(sizeof *next), *old;

		if (!next)
			return 1;
		next->port = port;
		old = lee_exchange(current, next);
		if (old)
			lee_memb_defer(&old->head, free_config);
	}
	free(current);
	return lee_memb_barrier() == 0 && freed == 9 ? 0 : 1;
}
