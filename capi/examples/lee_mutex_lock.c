#include <errno.h>
#include <leeward/mutex.h>

static struct lee_mutex mutex = LEE_MUTEX_INIT;
static int jobs;

int main(void)
{
	struct timespec deadline;

	lee_mutex_lock(&mutex);
	jobs++;
	lee_deadline_after(&deadline, 1000000);         /* a millisecond */
	if (lee_mutex_timedlock(&mutex, &deadline) != ETIMEDOUT)
		return 1;                               /* not recursive */
	lee_mutex_unlock(&mutex);
	return lee_mutex_is_locked(&mutex);
}
