/*
 * The processor's trap flag, by which a thread runs one instruction after the other, and a handler
 * acts before one of them. On x86-64; not with sanitizers, whose instructions are not ours.
 */
#ifndef STEPPING_H
#define STEPPING_H

#include "rcu_check.h"

#if defined(__x86_64__) && !IS_SANITIZED
#define CAN_STEP 1
#include <ucontext.h>

/* How many instructions have run, the one before which to act, and what to do there. */
static uint64_t steps, act_at, acted;
/* Where the instructions lie that count; an end of 0: everywhere. */
static uintptr_t counts_from, counts_to;
static void (*act)(void);

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
	".globl step_on\n"
	".type step_on,@function\n"
	"step_on: pushfq\n"
	"orq $0x100, (%rsp)\n"
	"popfq\n"
	"ret\n"
	".globl step_off\n"
	".type step_off,@function\n"
	"step_off: pushfq\n"
	"andq $-0x101, (%rsp)\n"
	"popfq\n"
	"ret\n");

static void trapped(int number, siginfo_t *information, void *context)
{
	ucontext_t *interrupted = (ucontext_t *)context;

	const uintptr_t place = (uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP];

	(void)number;
	(void)information;
	if (counts_to != 0 && (place < counts_from || place >= counts_to))
		return;
	if (++steps == act_at) {
		acted++;
		act();
		/* The rest runs at its own speed. */
		interrupted->uc_mcontext.gregs[REG_EFL] &= ~0x100LL;
	}
}

static CHECK_UNUSED void install_stepping(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof action);
	action.sa_sigaction = trapped;
	action.sa_flags = SA_SIGINFO;
	CHECK_EQ(sigaction(SIGTRAP, &action, NULL), 0);
}

/* Runs `body`, with the handler before that instruction. Returns how many there were up to there. */
static CHECK_UNUSED uint64_t stepped(uint64_t at, void (*handler)(void), void (*body)(void))
{
	act = handler;
	steps = 0;
	act_at = at;
	step_on();
	body();
	step_off();
	return steps;
}

#else
#define CAN_STEP 0
#endif

#endif
