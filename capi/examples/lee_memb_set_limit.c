/* At most 100,000 objects wait, unless readers hold them for more than a millisecond. */

#include <leeward/rcu.h>

int main(void)
{
	const struct lee_limit limit = {
		.callbacks = 100000, .time = 1000000, .policy = LEE_WAIT, .reserved = 0
	};

	return lee_memb_set_limit(&limit);
}
