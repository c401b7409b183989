/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/urcu-qsbr.h, leeward's: the flavour qsbr by its own names (urcu_qsbr_read_lock), with
 * URCU_API_MAP also by the short ones. Sections cost nothing; registered threads announce quiescent
 * states, or are offline. It is the domain lee_qsbr of <leeward/rcu.h>.
 */
#ifndef LEEWARD_COMPAT_URCU_URCU_QSBR_H
#define LEEWARD_COMPAT_URCU_URCU_QSBR_H

#include "leeward/flavour.h"
#include "leeward/names-qsbr.h"
#ifdef _LGPL_SOURCE
#include "futex.h"
#endif

/*
 * A section is opened and closed while the thread is online: asserted in units with DEBUG_RCU or
 * RCU_DEBUG.
 */
#ifdef RCU_DEBUG
#define LEE_1_URCU_QSBR_ASSERT(cond) urcu_posix_assert(cond)
#else
#define LEE_1_URCU_QSBR_ASSERT(cond) urcu_assert_debug(cond)
#endif

#ifdef __cplusplus
extern "C" {
#endif

LEE_1_URCU_FUNCTIONS(urcu_qsbr)
/*
 * These leave a thread online by words of this library. Behind liburcu's names are those for programs with
 * inlined code of liburcu's.
 */
#if defined(DEBUG_RCU) || defined(CONFIG_RCU_DEBUG)
LEE_1_URCU_REGISTRATION(urcu_qsbr)
#else
void urcu_qsbr_register_thread(void) __asm__("lee_1_urcu_qsbr_register");
void urcu_qsbr_unregister_thread(void) __asm__("lee_1_urcu_qsbr_unregister");
#endif

LEE_1_INLINE int _urcu_qsbr_read_ongoing(void)
{
    return lee_qsbr_is_inside();
}

LEE_1_INLINE void _urcu_qsbr_read_lock(void)
{
    LEE_1_URCU_QSBR_ASSERT(_urcu_qsbr_read_ongoing());
    lee_qsbr_read_lock();
}

LEE_1_INLINE void _urcu_qsbr_read_unlock(void)
{
    LEE_1_URCU_QSBR_ASSERT(_urcu_qsbr_read_ongoing());
    lee_qsbr_read_unlock();
}

LEE_1_INLINE void _urcu_qsbr_quiescent_state(void)
{
    lee_qsbr_quiescent();
}

LEE_1_INLINE void _urcu_qsbr_thread_offline(void)
{
    lee_qsbr_offline();
}

LEE_1_INLINE void _urcu_qsbr_thread_online(void)
{
    lee_qsbr_online();
}

LEE_1_URCU_READER int urcu_qsbr_read_ongoing(void)
{
    return _urcu_qsbr_read_ongoing();
}

LEE_1_URCU_READER void urcu_qsbr_read_lock(void)
{
    _urcu_qsbr_read_lock();
}

LEE_1_URCU_READER void urcu_qsbr_read_unlock(void)
{
    _urcu_qsbr_read_unlock();
}

LEE_1_URCU_READER void urcu_qsbr_quiescent_state(void)
{
    _urcu_qsbr_quiescent_state();
}

LEE_1_URCU_READER void urcu_qsbr_thread_offline(void)
{
    _urcu_qsbr_thread_offline();
}

LEE_1_URCU_READER void urcu_qsbr_thread_online(void)
{
    _urcu_qsbr_thread_online();
}

#ifdef __cplusplus
}
#endif

#ifdef URCU_API_MAP
#define LEE_1_URCU_QSBR_IS_MAPPED
#include "map/urcu-qsbr.h"
#endif

#endif
