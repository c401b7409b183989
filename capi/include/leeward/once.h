/*
 * lee_once_call(3): work that is done once.
 *
 *     static struct lee_once start = LEE_ONCE_INIT;
 *
 *     lee_once_call(&start, read_tables, "/etc/tables");
 *
 * The first of many callers does the work. Zeroed memory is work that has not been
 * done, and there is nothing to destroy.
 *
 * If the work leaves in another way than by returning, such as an exception of C++,
 * pthread_exit(3) or a cancellation, it has not been done, and the next caller begins
 * it. In C that needs -fexceptions. Without it, and after a longjmp(3), all others
 * wait forever.
 *
 * Cost. A call after the work has been done is one load, inline.
 *
 * Memory ordering. What the work did happens before the return of each call.
 *
 * Signals. lee_once_is_done() is async-signal-safe, and lee_once_call() is not.
 *
 * Fork. If another thread does the work at the fork, a call in the child waits
 * forever. If the forking thread does it, it may finish in the child as well.
 *
 * Cancellation. No function is a cancellation point, unless the work is.
 *
 * See also lee_event_wait(3), pthread_once(3).
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

/* Returns true if the work has been done. */
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
 * Calls work(argument), unless that has been done, and waits while another thread does
 * it.
 *
 * EDEADLK: the caller is inside the work, and would wait for itself. A line on
 * standard error says so.
 */
LEE_1_INLINE int lee_once_call(struct lee_once *once, void (*work)(void *argument), void *argument)
{
	return LEE_1_LIKELY(lee_once_is_done(once)) ? 0 : lee_1_once_call(once, work, argument);
}

LEE_1_END

#endif
