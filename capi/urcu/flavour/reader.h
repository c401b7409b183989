/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Registration and synchronize_rcu(). Sections by call are in inlined.h; where that serves none, they
 * are the header's own functions, which it defines here with external linkage (LEE_1_URCU_READER).
 */
#ifndef LEEWARD_URCU_FLAVOUR_READER_H
#define LEEWARD_URCU_FLAVOUR_READER_H

#include "inlined.h"

/*
 * The functions behind rcu_register_thread() and rcu_unregister_thread() in units with DEBUG_RCU.
 */
void lee_1_urcu_register_checked(void) __asm__("lee_1_" TEXT(LEE_1_URCU_NAME(register_checked)));
void lee_1_urcu_unregister_checked(void) __asm__("lee_1_" TEXT(LEE_1_URCU_NAME(unregister_checked)));

#ifndef LEE_1_URCU_IS_QSBR
EXPORT void rcu_init(void)
{
}
#endif

EXPORT void rcu_exit(void)
{
}

EXPORT void rcu_register_thread(void)
{
    /*
     * Without memory, the first section of the other flavours tries again, and says so if it fails.
     */
    if (register_reader() != 0 || LEE_1_URCU_DOMAIN(register)() != 0) {
#ifdef LEE_1_URCU_IS_QSBR
        give_up("there is no memory for a reader of " NAME(register_thread));
#endif
    }
}

EXPORT void rcu_unregister_thread(void)
{
#ifndef LEE_1_URCU_IS_BP
    unregister_reader();
#endif
}

EXPORT void lee_1_urcu_register_checked(void)
{
#ifndef LEE_1_URCU_IS_BP
    if (IS_REGISTERED)
        report(NAME(register_thread) " called by a thread that is registered already");
#endif
    rcu_register_thread();
}

EXPORT void lee_1_urcu_unregister_checked(void)
{
#ifndef LEE_1_URCU_IS_BP
    if (!IS_REGISTERED)
        report(NAME(unregister_thread) " called by a thread that is not registered");
    else if (is_in_section())
        report(NAME(unregister_thread) " called inside a read section, which ends");
#endif
    rcu_unregister_thread();
}

#ifndef LEE_1_URCU_IS_QSBR
/*
 * Waits for all readers but the caller, which is inside a section: for it to wait for itself would
 * be a deadlock, and not to wait at all would free what others read. The domain has reported it.
 */
COLD static void synchronize_inside(void)
{
    int depth = _rcu_read_ongoing(), i;
    uint32_t inlined = suspend_inlined();

    for (i = 0; i < depth; i++)
        _rcu_read_unlock();
    LEE_1_URCU_DOMAIN(synchronize)();
    for (i = 0; i < depth; i++)
        _rcu_read_lock();
    resume_inlined(inlined);
}
#endif

EXPORT void synchronize_rcu(void)
{
    int refusal = LEE_1_URCU_DOMAIN(synchronize)();

    if (caa_likely(refusal == 0))
        return;
    if (refusal != EDEADLK)
        give_up(NAME(synchronize_rcu) ": neither membarrier nor signals can reach the readers of this process");
    if (guards_of_rust() != 0)
        give_up(NAME(synchronize_rcu) " cannot wait beside a guard of Rust that the thread has open, nor return");
#ifndef LEE_1_URCU_IS_QSBR
    synchronize_inside();
#endif
}

#ifdef LEE_1_URCU_IS_BP
EXPORT void urcu_bp_before_fork(void)
{
}

EXPORT void urcu_bp_after_fork_parent(void)
{
}

EXPORT void urcu_bp_after_fork_child(void)
{
}

EXPORT void *urcu_bp_dereference_sym(void *p)
{
    return rcu_dereference(p);
}

EXPORT void *urcu_bp_set_pointer_sym(void **p, void *v)
{
    rcu_set_pointer(p, v);
    return v;
}

EXPORT void *urcu_bp_xchg_pointer_sym(void **p, void *v)
{
    return rcu_xchg_pointer(p, v);
}

EXPORT void *urcu_bp_cmpxchg_pointer_sym(void **p, void *old, void *_new)
{
    return rcu_cmpxchg_pointer(p, old, _new);
}
#endif

#endif
