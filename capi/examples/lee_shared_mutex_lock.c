#include <leeward/region.h>
#include <leeward/shared.h>
#include <sys/wait.h>
#include <unistd.h>

struct count { struct lee_shared_mutex mutex; uint64_t value; };

static void add(struct count *count)
{
	for (int i = 0; i < 1000; i++) {
		lee_shared_mutex_lock(&count->mutex);
		count->value++;
		lee_shared_mutex_unlock(&count->mutex);
	}
}

int main(void)
{
	struct lee_region region = LEE_REGION_INIT;
	pid_t child;

	if (lee_region_create(&region, sizeof(struct count), 1, NULL, NULL) != 0)
		return 1;
	child = fork();
	add(region.value);
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	return ((struct count *)region.value)->value == 2000 ? 0 : 1;
}
