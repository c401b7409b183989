#include <leeward/once.h>

static struct lee_once start = LEE_ONCE_INIT;
static int starts;

static void count(void *by) { starts += *(int *)by; }

int main(void)
{
	int one = 1;

	for (int i = 0; i < 10; i++)
		if (lee_once_call(&start, count, &one) != 0)
			return 1;
	return starts == 1 && lee_once_is_done(&start) ? 0 : 1;
}
