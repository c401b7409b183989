/*
 * lee_event_wait(3): an event that is set until it is cleared.
 *
 *     static struct lee_event ready = LEE_EVENT_INIT;
 *
 *     lee_event_set(&ready);               lee_event_wait(&ready);
 *
 * An event is for the threads of one process, and has four bytes. Zeroed memory is one
 * that is clear, and there is nothing to destroy. An event that is set and cleared at
 * once lets every thread go that waited when it was set.
 *
 * Memory ordering. What was done before the event was set happens before the return of
 * the waits that this ends, and of the calls of lee_event_is_set() and
 * lee_event_clear() that return true.
 *
 * Lifetime. The event lives until each call on it has returned.
 *
 * Signals. lee_event_set(), lee_event_clear() and lee_event_is_set() are
 * async-signal-safe.
 *
 * Fork. The child has a copy, which stays as it was.
 *
 * See also lee_cond_wait(3), lee_semaphore_wait(3), lee_shared_mutex_lock(3).
 */
#ifndef LEEWARD_EVENT_H
#define LEEWARD_EVENT_H

#include <leeward/deadline.h>

LEE_1_BEGIN

/* An event. Programs use its address only. */
struct lee_event {
	uint32_t lee_1_word;
};
LEE_1_ASSERT(sizeof(struct lee_event) == 4, "the event is a part of the binary interface");

#define LEE_EVENT_INIT { 0 }

void lee_1_event_set(struct lee_event *event);
void lee_1_event_wait_slow(struct lee_event *event);
int lee_1_event_timedwait_slow(struct lee_event *event, const struct timespec *deadline);

/* Makes the memory, which no thread uses, an event that is clear. */
LEE_1_INLINE void lee_event_init(struct lee_event *event)
{
	event->lee_1_word = 0;
}

/* Sets the event: all waiters go on, and no thread waits until it is cleared. */
LEE_1_INLINE void lee_event_set(struct lee_event *event)
{
	LEE_1_RELEASING(event);
	lee_1_event_set(event);
}

/* Clears the event. Returns true if it was set. */
LEE_1_INLINE bool lee_event_clear(struct lee_event *event)
{
	/* Acquire: partner of the release that set it. */
	return (__atomic_fetch_and(&event->lee_1_word, ~LEE_1_EVENT_SET, __ATOMIC_ACQUIRE) & LEE_1_EVENT_SET) != 0;
}

/* Returns true if the event is set. */
LEE_1_INLINE bool lee_event_is_set(const struct lee_event *event)
{
	return lee_1_event_is_set(&event->lee_1_word);
}

/* Waits until the event is set. */
LEE_1_INLINE void lee_event_wait(struct lee_event *event)
{
	if (!lee_1_event_is_set(&event->lee_1_word)) {
		lee_1_event_wait_slow(event);
		LEE_1_ACQUIRED(event);
	}
}

/* Waits until the event is set, until the deadline at most. Errors: ETIMEDOUT, EINVAL. */
LEE_1_INLINE int lee_event_timedwait(struct lee_event *event, const struct timespec *deadline)
{
	int error;

	if (lee_1_event_is_set(&event->lee_1_word))
		return 0;
	error = lee_1_event_timedwait_slow(event, deadline);
	if (error == 0)
		LEE_1_ACQUIRED(event);
	return error;
}

LEE_1_END

#endif
