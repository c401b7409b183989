#include <leeward/rwlock.h>

static struct lee_rwlock lock = LEE_RWLOCK_INIT;
static int limit = 10;

int main(void)
{
	int seen;

	lee_rwlock_wrlock(&lock);
	limit = 20;
	lee_rwlock_downgrade(&lock);
	seen = limit;                           /* no writer came between */
	lee_rwlock_rdunlock(&lock);
	return seen == 20 && lee_rwlock_tryrdlock(&lock) == 0 ? 0 : 1;
}
