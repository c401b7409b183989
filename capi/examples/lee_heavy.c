/* A flag that stops work whose owner looks at it in every round. */

#include <leeward/fence.h>

static int busy, stopped;

static int begin(void)                  /* often */
{
	__atomic_store_n(&busy, 1, __ATOMIC_RELAXED);
	lee_light();
	if (!__atomic_load_n(&stopped, __ATOMIC_RELAXED))
		return 1;
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
	return 0;
}

static int stop(void)                   /* rarely */
{
	__atomic_store_n(&stopped, 1, __ATOMIC_RELAXED);
	if (lee_heavy() != 0)
		return -1;
	return __atomic_load_n(&busy, __ATOMIC_ACQUIRE);
}

int main(void)
{
	int began = begin();
	int is_busy = stop();

	return began == 1 && is_busy == 1 && begin() == 0 ? 0 : 1;
}
