/* A process that is killed with the lock, and one that repairs the data. */

#include <errno.h>
#include <leeward/region.h>
#include <leeward/robust.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

struct account { struct lee_robust_mutex mutex; uint64_t left, right; };

int main(void)
{
	struct lee_region region = LEE_REGION_INIT;
	struct account *account;
	pid_t child;

	if (lee_region_create(&region, sizeof(struct account), 1, NULL, NULL) != 0)
		return 1;
	account = region.value;
	child = fork();
	if (child == 0) {
		if (lee_robust_mutex_lock(&account->mutex) == 0)
			account->left++;                /* and not the right one */
		raise(SIGKILL);
	}
	waitpid(child, NULL, 0);
	switch (lee_robust_mutex_lock(&account->mutex)) {
	case EOWNERDEAD:
		account->right = account->left;
		lee_robust_mutex_consistent(&account->mutex);
		break;
	default:
		return 1;
	}
	lee_robust_mutex_unlock(&account->mutex);
	lee_region_close(&region);
	return 0;
}
