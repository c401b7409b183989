/* Two writers without a lock between them; each frees what it replaced. */

#include <leeward/rcu.h>
#include <pthread.h>
#include <stdlib.h>

static int *newest;

static void *write_some(void *unused)
{
	for (int i = 0; i < 100; i++) {
		int *value = malloc(sizeof *value), *old;

		if (!value)
			break;
		*value = i;
		old = lee_exchange(newest, value);
		if (lee_memb_synchronize() == 0)
			free(old);
	}
	return unused;
}

int main(void)
{
	pthread_t writers[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&writers[i], NULL, write_some, NULL) != 0)
			return 1;
	lee_memb_read_lock();
	int *value = lee_dereference(newest);
	int is_right = value == NULL || *value < 100;
	lee_memb_read_unlock();
	for (int i = 0; i < 2; i++)
		pthread_join(writers[i], NULL);
	free(newest);
	return !is_right;
}
