#include <leeward/asym.h>

static struct lee_asym_rwlock lock = LEE_ASYM_RWLOCK_INIT;
static int limit = 10;

int main(void)
{
	int sum = 0;

	for (int i = 0; i < 1000; i++) {
		if (lee_asym_rwlock_rdlock(&lock) != 0)
			return 1;
		sum += limit;
		lee_asym_rwlock_rdunlock(&lock);
	}
	if (lee_asym_rwlock_wrlock(&lock) != 0)
		return 1;
	limit = 20;
	lee_asym_rwlock_wrunlock(&lock);
	return sum == 10000 ? 0 : 1;
}
