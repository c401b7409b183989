/*
 * Filters of system calls: what a sandbox, or an older kernel, refuses. A filter stays until the
 * process ends, so tests install it in children.
 */
#ifndef SECCOMP_H
#define SECCOMP_H

#include "rcu_check.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

/* Installs a filter for the calling thread and those that it starts: `action` for these calls. */
static CHECK_UNUSED void refuse(const int *calls, unsigned count, uint32_t action)
{
	struct sock_filter filter[64];
	struct sock_fprog program;
	unsigned at = 0, call;

	CHECK(count <= 20);
#define SECCOMP_ADD(code_, yes, no, value) \
	do { \
		filter[at].code = (uint16_t)(code_); \
		filter[at].jt = (uint8_t)(yes); \
		filter[at].jf = (uint8_t)(no); \
		filter[at].k = (uint32_t)(value); \
		at++; \
	} while (0)
	SECCOMP_ADD(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
	for (call = 0; call < count; call++) {
		SECCOMP_ADD(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, calls[call]);
		SECCOMP_ADD(BPF_RET | BPF_K, 0, 0, action);
	}
	SECCOMP_ADD(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
#undef SECCOMP_ADD
	program.len = (unsigned short)at;
	program.filter = filter;
	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0), 0);
}

static CHECK_UNUSED void refuse_one(int call, uint32_t action)
{
	refuse(&call, 1, action);
}

#ifndef SECCOMP_RET_KILL_PROCESS
#define SECCOMP_RET_KILL_PROCESS 0x80000000U
#endif

/* The action by which a call fails with this error. */
#define FAILS_WITH(error) (SECCOMP_RET_ERRNO | ((error) & SECCOMP_RET_DATA))

#endif
