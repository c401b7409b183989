/*
 * Work that is done once, by the first of many callers.
 *
 *     static struct lee_once start = LEE_ONCE_INIT;
 *
 *     lee_once_call(&start, read_tables, "/etc/tables");
 *
 * Zeroed memory is one whose work has not been done, and there is nothing to destroy.
 * What the work did happens before the return of each call. A call after that is one
 * load, inline.
 *
 * Work that leaves by an exception of C++, by pthread_exit or by a cancellation has
 * not been done, and the next caller begins it. After a longjmp out of it, all others
 * wait forever.
 *
 * Fork. If another thread does the work at the fork, a call in the child waits
 * forever. If the forking thread does it, it may finish in the child as well.
 *
 * No call is async-signal-safe but lee_once_is_done(), and none a cancellation
 * point, unless the work is. errno is changed by no call.
 */
#ifndef LEEWARD_ONCE_H
#define LEEWARD_ONCE_H

#include <leeward/guarded.h>
#include <leeward/lock_words.h>

LEE_1_BEGIN

/* Work that is done once. Programs use its address only. */
struct lee_once {
	uint32_t lee_1_word;
};
LEE_1_ASSERT(sizeof(struct lee_once) == 4, "the word is a part of the binary interface");

#define LEE_ONCE_INIT { 0 }

#define LEE_1_ONCE_DONE UINT32_C(3)

/* What lee_1_once_begin returns to the thread that does the work. */
#define LEE_1_ONCE_MINE (-1)

int lee_1_once_begin(struct lee_once *once);
void lee_1_once_end(struct lee_once *once, bool is_done);

/* Ends the work as not done. */
static inline __attribute__((__unused__)) void lee_1_once_abandon(void *once)
{
	LEE_1_RELEASING(once);
	lee_1_once_end((struct lee_once *)once, false);
}

/* Returns true if the work has been done. What it did happens before the return. */
LEE_1_INLINE bool lee_once_is_done(const struct lee_once *once)
{
	/* Acquire: partner of the release that ended the work. */
	return __atomic_load_n(&once->lee_1_word, __ATOMIC_ACQUIRE) == LEE_1_ONCE_DONE;
}

/* Does the work, or waits until another thread has done it. */
static inline __attribute__((__unused__)) int lee_1_once_call(struct lee_once *once, void (*work)(void *argument),
							      void *argument)
{
	struct lee_1_guarded call;
	int error = lee_1_once_begin(once);

	LEE_1_ACQUIRED(once);
	if (error != LEE_1_ONCE_MINE)
		return error;
	call.work = work;
	call.argument = argument;
	call.abandon = lee_1_once_abandon;
	call.object = once;
	lee_1_call(&call);
	LEE_1_RELEASING(once);
	lee_1_once_end(once, true);
	return 0;
}

/*
 * Calls work(argument), unless it has been done; waits while another thread does it.
 *
 * Errors: EDEADLK, with a line on standard error, if it is called from within the
 * work, which would wait for itself.
 */
LEE_1_INLINE int lee_once_call(struct lee_once *once, void (*work)(void *argument), void *argument)
{
	return LEE_1_LIKELY(lee_once_is_done(once)) ? 0 : lee_1_once_call(once, work, argument);
}

LEE_1_END

#endif
