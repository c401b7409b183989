#include <errno.h>
#include <leeward/semaphore.h>

static struct lee_semaphore seats = LEE_SEMAPHORE_INIT(2);

int main(void)
{
	lee_semaphore_wait(&seats);
	lee_semaphore_wait(&seats);
	if (lee_semaphore_trywait(&seats) != EAGAIN)
		return 1;
	return lee_semaphore_post(&seats) == 0 && lee_semaphore_permits(&seats) == 1 ? 0 : 1;
}
