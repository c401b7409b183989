#include <leeward/rcu.h>
#include <stdio.h>

#if LEE_VERSION_MAJOR == 0 && LEE_VERSION_MINOR < 1
#error "leeward 0.1 or later is needed"
#endif

int main(void)
{
	printf("compiled with leeward %d.%d.%d\n", LEE_VERSION_MAJOR, LEE_VERSION_MINOR, LEE_VERSION_PATCH);
	return 0;
}
