/* A thread that must not find out later that there is no memory. */

#include <errno.h>
#include <leeward/rcu.h>
#include <pthread.h>
#include <stddef.h>

static void *serve(void *unused)
{
	if (lee_memb_register() == ENOMEM)
		return unused;
	lee_memb_read_lock();
	lee_memb_read_unlock();
	lee_memb_unregister();          /* or leave it to the thread's exit */
	return NULL;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, serve, NULL) == 0)
		pthread_join(thread, NULL);
	return 0;
}
