/*
 * A call of the program's function that may leave in another way than by returning.
 * <leeward/once.h> and <leeward/region.h> include this; programs do not.
 */
#ifndef LEEWARD_GUARDED_H
#define LEEWARD_GUARDED_H

#include <leeward/abi.h>
#include <pthread.h>

LEE_1_BEGIN

/* What is called, and what is called instead of a return. */
struct lee_1_guarded {
	void (*work)(void *argument);
	void *argument;
	void (*abandon)(void *object);
	void *object; /* NULL: it has returned */
};

#ifdef __cplusplus
/* Ends a call that has not returned. */
static inline __attribute__((__unused__)) void lee_1_unwound(struct lee_1_guarded *call)
{
	if (call->object != NULL)
		call->abandon(call->object);
}
#endif

/*
 * Calls call->work(call->argument); and call->abandon(call->object), if the work leaves
 * by an exception of C++, by pthread_exit or by a cancellation.
 */
static inline __attribute__((__unused__)) void lee_1_call(const struct lee_1_guarded *call)
{
#ifdef __cplusplus
	struct lee_1_guarded running __attribute__((__cleanup__(lee_1_unwound))) = *call;

	running.work(running.argument);
	running.object = NULL;
#else
	pthread_cleanup_push(call->abandon, call->object);
	call->work(call->argument);
	pthread_cleanup_pop(0);
#endif
}

LEE_1_END

#endif
