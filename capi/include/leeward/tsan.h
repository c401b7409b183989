/*
 * What the thread sanitizer is told of RCU, in programs that are built with it. The
 * library itself is not: the sanitizer sees neither what a grace period waits for,
 * nor how a callback comes to its thread. rcu.h includes this; in other programs it
 * is empty.
 *
 *     the end of a section, a quiescent state   before   the end of a grace period
 *     the end of a grace period                 before   a section that begins later
 *     lee_memb_defer                            before   the callback
 *     the callback                              before   the end of a barrier
 *
 * Readers are not inlined here, since the words of their slots are the library's. A
 * callback is queued by an object of its own, which takes memory.
 */
#ifndef LEEWARD_RCU_H
/* It includes this. */
#include "rcu.h"
#elif !defined(LEEWARD_TSAN_H)
#define LEEWARD_TSAN_H

#if defined(__SANITIZE_THREAD__)
#define LEE_1_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LEE_1_TSAN 1
#endif
#endif

#ifdef LEE_1_TSAN

#include <stdlib.h>

LEE_1_BEGIN

void __tsan_acquire(void *place);
void __tsan_release(void *place);

/* Three places of a domain, each of which stands for an order. */
#define LEE_1_SECTIONS_END(domain) ((void *)&(domain)->lee_1_gap[0])
#define LEE_1_PERIODS_END(domain) ((void *)&(domain)->lee_1_gap[2])
#define LEE_1_CALLBACKS_END(domain) ((void *)&(domain)->lee_1_gap[4])

/* A reader begins to hold what it reaches, or holds nothing from here on. */
#define LEE_1_TSAN_ENTERS(domain) __tsan_acquire(LEE_1_PERIODS_END(domain))
#define LEE_1_TSAN_LEAVES(domain) __tsan_release(LEE_1_SECTIONS_END(domain))

/* A grace period has ended. */
LEE_1_INLINE void lee_1_tsan_ended(struct lee_domain *domain)
{
	__tsan_acquire(LEE_1_SECTIONS_END(domain));
	__tsan_release(LEE_1_PERIODS_END(domain));
}

LEE_1_INLINE int lee_1_tsan_register(struct lee_domain *domain)
{
	int error = lee_domain_register(domain);

	LEE_1_TSAN_ENTERS(domain);
	return error;
}

LEE_1_INLINE void lee_1_tsan_unregister(struct lee_domain *domain)
{
	LEE_1_TSAN_LEAVES(domain);
	lee_domain_unregister(domain);
}

LEE_1_INLINE void lee_1_tsan_read_lock(struct lee_domain *domain)
{
	lee_domain_read_lock(domain);
	LEE_1_TSAN_ENTERS(domain);
}

LEE_1_INLINE void lee_1_tsan_read_unlock(struct lee_domain *domain)
{
	LEE_1_TSAN_LEAVES(domain);
	lee_domain_read_unlock(domain);
}

LEE_1_INLINE void lee_1_tsan_quiescent(struct lee_domain *domain)
{
	LEE_1_TSAN_LEAVES(domain);
	lee_domain_quiescent(domain);
	LEE_1_TSAN_ENTERS(domain);
}

LEE_1_INLINE void lee_1_tsan_offline(struct lee_domain *domain)
{
	LEE_1_TSAN_LEAVES(domain);
	lee_domain_offline(domain);
}

LEE_1_INLINE void lee_1_tsan_online(struct lee_domain *domain)
{
	lee_domain_online(domain);
	LEE_1_TSAN_ENTERS(domain);
}

/* A thread that is online is offline meanwhile. */
LEE_1_INLINE int lee_1_tsan_synchronize(struct lee_domain *domain)
{
	int error;

	LEE_1_TSAN_LEAVES(domain);
	error = lee_domain_synchronize(domain);
	if (error == 0)
		lee_1_tsan_ended(domain);
	LEE_1_TSAN_ENTERS(domain);
	return error;
}

LEE_1_INLINE bool lee_1_tsan_poll(struct lee_domain *domain, struct lee_cookie cookie)
{
	bool has_ended = lee_domain_poll(domain, cookie);

	if (has_ended)
		lee_1_tsan_ended(domain);
	return has_ended;
}

LEE_1_INLINE int lee_1_tsan_barrier(struct lee_domain *domain)
{
	int error;

	LEE_1_TSAN_LEAVES(domain);
	error = lee_domain_barrier(domain);
	if (error == 0)
		__tsan_acquire(LEE_1_CALLBACKS_END(domain));
	LEE_1_TSAN_ENTERS(domain);
	return error;
}

/* What is queued for a head. */
struct lee_1_tsan_callback {
	struct lee_head head;
	struct lee_head *of;
	void (*func)(struct lee_head *head);
	struct lee_domain *domain;
};

static inline __attribute__((__unused__)) void lee_1_tsan_call(struct lee_head *head)
{
	struct lee_1_tsan_callback callback;

	__tsan_acquire(head);
	callback = *(struct lee_1_tsan_callback *)(void *)head;
	free(head);
	lee_1_tsan_ended(callback.domain);
	LEE_1_TSAN_ENTERS(callback.domain);
	callback.func(callback.of);
	__tsan_release(LEE_1_CALLBACKS_END(callback.domain));
	/* The thread that runs callbacks goes offline. */
	LEE_1_TSAN_LEAVES(callback.domain);
}

LEE_1_INLINE void lee_1_tsan_defer(struct lee_domain *domain, struct lee_head *head,
				   void (*func)(struct lee_head *head))
{
	struct lee_1_tsan_callback *callback = (struct lee_1_tsan_callback *)malloc(sizeof(*callback));

	/* Without memory the sanitizer is not told; and misuse is the library's. */
	if (callback == NULL || head == NULL || func == NULL) {
		free(callback);
		lee_domain_defer(domain, head, func);
		return;
	}
	callback->of = head;
	callback->func = func;
	callback->domain = domain;
	__tsan_release(&callback->head);
	lee_domain_defer(domain, &callback->head, lee_1_tsan_call);
}

#define lee_domain_register(domain) lee_1_tsan_register(domain)
#define lee_domain_unregister(domain) lee_1_tsan_unregister(domain)
#define lee_domain_read_lock(domain) lee_1_tsan_read_lock(domain)
#define lee_domain_read_unlock(domain) lee_1_tsan_read_unlock(domain)
#define lee_domain_quiescent(domain) lee_1_tsan_quiescent(domain)
#define lee_domain_offline(domain) lee_1_tsan_offline(domain)
#define lee_domain_online(domain) lee_1_tsan_online(domain)
#define lee_domain_synchronize(domain) lee_1_tsan_synchronize(domain)
#define lee_domain_poll(domain, cookie) lee_1_tsan_poll(domain, cookie)
#define lee_domain_barrier(domain) lee_1_tsan_barrier(domain)
#define lee_domain_defer(domain, head, func) lee_1_tsan_defer(domain, head, func)

/* The functions of a domain, as rcu.h has them for other programs. */
#define LEE_1_SECTIONS(name, slot, readers) \
	LEE_1_INLINE void name##_read_lock(void) { lee_domain_read_lock(&name); } \
	LEE_1_INLINE void name##_read_unlock(void) { lee_domain_read_unlock(&name); } \
	LEE_1_INLINE bool name##_is_inside(void) { return lee_domain_is_inside(&name); } \
	LEE_1_FUNCTIONS(name)
#define LEE_1_QUIESCENT_STATES(name, slot) \
	LEE_1_INLINE void name##_read_lock(void) { __atomic_signal_fence(__ATOMIC_SEQ_CST); } \
	LEE_1_INLINE void name##_read_unlock(void) { __atomic_signal_fence(__ATOMIC_SEQ_CST); } \
	LEE_1_INLINE bool name##_is_inside(void) { return lee_domain_is_inside(&name); } \
	LEE_1_INLINE void name##_quiescent(void) { lee_domain_quiescent(&name); } \
	LEE_1_INLINE void name##_offline(void) { lee_domain_offline(&name); } \
	LEE_1_INLINE void name##_online(void) { lee_domain_online(&name); } \
	LEE_1_FUNCTIONS(name)

LEE_1_END

#endif

#endif
