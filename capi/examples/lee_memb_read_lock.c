/* A reader and a writer of one pointer. */

#include <leeward/rcu.h>
#include <stdio.h>
#include <stdlib.h>

struct config { struct lee_head head; int port; };
static struct config *current;

static int port(void)
{
	int port;

	lee_memb_read_lock();
	port = lee_dereference(current)->port;
	lee_memb_read_unlock();
	return port;
}

static void set_port(int port)          /* one writer at a time */
{
	struct config *old = current, *next = malloc(sizeof *next);

	if (!next)
		abort();
	next->port = port;
	lee_publish(current, next);
	if (lee_memb_synchronize() == 0)
		free(old);
}

int main(void)
{
	set_port(80);
	set_port(81);
	printf("port %d\n", port());
	set_port(0);
	free(current);
	return 0;
}
