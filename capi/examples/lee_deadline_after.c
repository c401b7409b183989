#include <leeward/deadline.h>

int main(void)
{
	struct timespec soon, later;

	lee_deadline_after(&soon, 0);
	lee_deadline_after(&later, UINT64_C(10000000000));
	return later.tv_sec >= soon.tv_sec + 9 ? 0 : 1;
}
