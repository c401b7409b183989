/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * defer_rcu(): a callback whose head is allocated. The domain's worker calls it.
 */
#ifndef LEEWARD_URCU_FLAVOUR_DEFER_H
#define LEEWARD_URCU_FLAVOUR_DEFER_H

#include "processors.h"

/* What defer_rcu() was given. */
struct deferred {
    struct rcu_head head;
    void (*fct)(void *p);
    void *p;
};

/* A callback: calls what was deferred. */
static void call_deferred(struct rcu_head *head)
{
    struct deferred deferred = *caa_container_of(head, struct deferred, head);

    free(caa_container_of(head, struct deferred, head));
    deferred.fct(deferred.p);
}

EXPORT void defer_rcu(void (*fct)(void *p), void *p)
{
    int error = errno;
    struct deferred *deferred = malloc(sizeof(*deferred));

    errno = error;
    if (deferred) {
        deferred->fct = fct;
        deferred->p = p;
        call_by_default(&deferred->head, call_deferred);
        return;
    }
    synchronize_rcu();
    fct(p);
}

EXPORT int rcu_defer_register_thread(void)
{
    return 0;
}

EXPORT void rcu_defer_barrier(void)
{
    LEE_1_URCU_DOMAIN(barrier)();
}

EXPORT void rcu_defer_barrier_thread(void)
{
    rcu_defer_barrier();
}

EXPORT void rcu_defer_unregister_thread(void)
{
    rcu_defer_barrier();
}

EXPORT void rcu_defer_exit(void)
{
}

#endif
