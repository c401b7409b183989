/*
 * Asymmetric fences: the pair keeps its promise under every strategy, and a process
 * in which no heavy fence is possible is told so.
 */
#include "check.h"

#include <leeward/fence.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ROUNDS 20000

/* Each round has words of its own, so that no round waits for the other's end. */
static int frequent[ROUNDS], rare[ROUNDS], saw_rare[ROUNDS];
static int round_of_rare;

static void *frequent_side(void *unused)
{
	int i;

	(void)unused;
	for (i = 0; i < ROUNDS; i++) {
		while (__atomic_load_n(&round_of_rare, __ATOMIC_ACQUIRE) < i)
			;
		__atomic_store_n(&frequent[i], 1, __ATOMIC_RELAXED);
		lee_light();
		saw_rare[i] = __atomic_load_n(&rare[i], __ATOMIC_RELAXED);
	}
	return NULL;
}

static void at_least_one_sees_the_other(void)
{
	static int saw_frequent[ROUNDS];
	pthread_t thread;
	int i;

	memset(frequent, 0, sizeof(frequent));
	memset(rare, 0, sizeof(rare));
	round_of_rare = 0;
	thread = check_start(frequent_side, NULL);
	for (i = 0; i < ROUNDS; i++) {
		__atomic_store_n(&round_of_rare, i, __ATOMIC_RELEASE);
		__atomic_store_n(&rare[i], 1, __ATOMIC_RELAXED);
		if (i % 16 == 0)
			KEEPS_ERRNO(CHECK_EQ(lee_heavy(), 0));
		else
			__atomic_thread_fence(__ATOMIC_SEQ_CST);
		saw_frequent[i] = __atomic_load_n(&frequent[i], __ATOMIC_RELAXED);
	}
	check_join(thread);
	for (i = 0; i < ROUNDS; i += 16)
		CHECK(saw_frequent[i] || saw_rare[i]);
}

static void strategies_have_names(void)
{
	int i;

	CHECK_EQ(strcmp(lee_fence_name(LEE_FENCE_MEMBARRIER), "membarrier"), 0);
	CHECK_EQ(strcmp(lee_fence_name(LEE_FENCE_MEMBARRIER_GLOBAL), "membarrier-global"), 0);
	CHECK_EQ(strcmp(lee_fence_name(LEE_FENCE_SIGNAL), "signal"), 0);
	CHECK_EQ(strcmp(lee_fence_name(LEE_FENCE_SYMMETRIC), "symmetric"), 0);
	CHECK(lee_fence_name(LEE_FENCE_NONE) == NULL && lee_fence_name(5) == NULL && lee_fence_name(-1) == NULL);
	CHECK_EQ(lee_fence_force(LEE_FENCE_NONE), EINVAL);
	CHECK_EQ(lee_fence_force(99), EINVAL);
	CHECK_EQ(lee_fence_force(LEE_FENCE_SYMMETRIC), ENOTSUP);
	for (i = LEE_FENCE_MEMBARRIER; i <= LEE_FENCE_SIGNAL; i++) {
		int error;

		KEEPS_ERRNO(error = lee_fence_force(i));
		CHECK(error == 0 || error == ENOTSUP);
		if (error == 0)
			CHECK_EQ(lee_fence_strategy(), i);
		/* A fence of milliseconds each would take minutes. */
		if (error == 0 && i != LEE_FENCE_MEMBARRIER_GLOBAL)
			at_least_one_sees_the_other();
	}
}

static int fences_in_handler;

static void handler(int signal_number)
{
	(void)signal_number;
	if (lee_heavy() == 0)
		fences_in_handler++;
}

static void in_a_signal_handler(void)
{
	struct sigaction action;

	if (lee_fence_force(LEE_FENCE_MEMBARRIER) != 0)
		return;
	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	KEEPS_ERRNO(raise(SIGUSR1));
	CHECK_EQ(fences_in_handler, 1);
}

static void in_a_child(void *expected)
{
	CHECK_EQ(lee_fence_strategy(), *(int *)expected);
	CHECK_EQ(lee_heavy(), 0);
}

/* Refuses the calls with which a heavy fence could be made. */
static void refuse_every_fence(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_tgsigqueueinfo, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setaffinity, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program;

	program.len = (unsigned short)(sizeof(filter) / sizeof(filter[0]));
	program.filter = filter;
	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void told_that_none_is_possible(void *unused)
{
	(void)unused;
	refuse_every_fence();
	KEEPS_ERRNO(CHECK_EQ(lee_fence_init(), ENOTSUP));
	KEEPS_ERRNO(CHECK_EQ(lee_heavy(), ENOTSUP));
	CHECK_EQ(lee_fence_strategy(), LEE_FENCE_NONE);
}

int main(void)
{
	int strategy;

	check_begin();
	CHECK_EQ(lee_fence_strategy(), LEE_FENCE_NONE);
	check_ends_well(check_fork(told_that_none_is_possible, NULL));
	KEEPS_ERRNO(CHECK_EQ(lee_fence_init(), 0));
	strategy = lee_fence_strategy();
	CHECK(strategy != LEE_FENCE_NONE && lee_fence_name(strategy) != NULL);
	check_ends_well(check_fork(in_a_child, &strategy));
	strategies_have_names();
	in_a_signal_handler();
	return check_end("fence");
}
