/* The error that a caller inside a section gets. */

#include <errno.h>
#include <leeward/rcu.h>

int main(void)
{
	int inside, outside;

	lee_memb_read_lock();
	inside = lee_memb_synchronize();        /* and a line on standard error */
	lee_memb_read_unlock();
	outside = lee_memb_synchronize();
	return inside == EDEADLK && outside == 0 ? 0 : 1;
}
