#include <leeward/cond.h>
#include <pthread.h>
#include <stdbool.h>

static struct lee_mutex mutex = LEE_MUTEX_INIT;
static struct lee_cond changed = LEE_COND_INIT;
static bool ready;

static void *prepare(void *unused)
{
	lee_mutex_lock(&mutex);
	ready = true;
	lee_mutex_unlock(&mutex);
	lee_cond_signal(&changed);
	return unused;
}

int main(void)
{
	pthread_t thread;
	int error = 0;

	if (pthread_create(&thread, NULL, prepare, NULL) != 0)
		return 1;
	lee_mutex_lock(&mutex);
	while (!ready && error == 0)
		error = lee_cond_wait(&changed, &mutex);
	lee_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
	return error;
}
