#include <leeward/fence.h>
#include <stdio.h>

int main(void)
{
	if (lee_fence_init() != 0)
		return 1;
	printf("heavy fences: %s\n", lee_fence_name(lee_fence_strategy()));
	return 0;
}
