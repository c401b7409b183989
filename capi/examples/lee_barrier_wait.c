#include <leeward/barrier.h>
#include <pthread.h>

static struct lee_barrier meeting = LEE_BARRIER_INIT(2);
static int leaders;

static void *work(void *unused)
{
	for (int i = 0; i < 10; i++)
		if (lee_barrier_wait(&meeting) == LEE_BARRIER_LEADER)
			leaders++;              /* one thread each time */
	return unused;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, NULL) != 0)
		return 1;
	work(NULL);
	pthread_join(thread, NULL);
	return leaders == 10 ? 0 : 1;
}
