/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A signal handler that forks at every instruction of call_rcu(), one after the other: the
 * processor's trap flag steps the thread. The callback runs once in each process. On x86-64.
 */
#include "forks.h"

#if defined(__x86_64__)
#include <ucontext.h>

/* How many instructions have run, the one before which to fork, and the child of that. */
static int steps, fork_at;
static pid_t child;

/* Functions of their own, so that the flags' way over the stack meets no red zone. */
#ifdef __cplusplus
extern "C" {
#endif
void step_on(void);
void step_off(void);
#ifdef __cplusplus
}
#endif
__asm__(".text\n"
        "step_on: pushfq\n"
        "orq $0x100, (%rsp)\n"
        "popfq\n"
        "ret\n"
        "step_off: pushfq\n"
        "andq $-0x101, (%rsp)\n"
        "popfq\n"
        "ret\n");

static void trapped(int signal, siginfo_t *information, void *context)
{
    ucontext_t *interrupted = (ucontext_t *)context;

    (void)signal;
    (void)information;
    if (++steps != fork_at)
        return;
    child = fork();
    CHECK(child >= 0);
    if (child == 0)
        begin();
    /* The rest runs at its own speed. */
    interrupted->uc_mcontext.gregs[REG_EFL] &= ~0x100LL;
}

/* Returns false if there is no such instruction. */
static bool forks_at(int at)
{
    steps = calls = 0;
    fork_at = at;
    child = -1;
    step_on();
    call_rcu(&objects[0].head, count);
    step_off();
    rcu_barrier();
    CHECK(calls == 1);
    if (child == 0) {
        call_rcu(&objects[0].head, count);
        rcu_barrier();
        CHECK(calls == 2);
        _exit(7);
    }
    if (child > 0)
        ends_with(child, 7);
    return child > 0;
}

static void forks_at_each(void)
{
    int at = 1;

    /* What is loaded and started by the first call. */
    call_rcu(&objects[0].head, count);
    rcu_barrier();
    while (forks_at(at))
        at++;
    CHECK(at > 8);
}

int main(void)
{
    struct call_rcu_data *worker;
    struct sigaction action;

    begin();
    memset(&action, 0, sizeof action);
    action.sa_sigaction = trapped;
    action.sa_flags = SA_SIGINFO;
    CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
    rcu_register_thread();
    forks_at_each();
    worker = create_call_rcu_data(0, -1);
    set_thread_call_rcu_data(worker);
    forks_at_each();
    set_thread_call_rcu_data(NULL);
    call_rcu_data_free(worker);
    CHECK(create_all_cpu_call_rcu_data(0) == 0);
    forks_at_each();
    free_all_cpu_call_rcu_data();
    rcu_unregister_thread();
    return end("forks_stepping");
}
#else
int main(void)
{
    return end("forks_stepping");
}
#endif
