/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/leeward/flavour.h: what the flavours have in common, as macros that declare it under the
 * names of one flavour (urcu/urcu-memb.h and its like). Programs do not include this.
 *
 * The functions, by their short names; each flavour has a domain of <leeward/rcu.h>, whose rules
 * they follow. None of them changes errno, but for what set_cpu_call_rcu_data() says.
 *
 * rcu_init()                Does nothing: all is ready before it is used. Not in qsbr.
 * rcu_exit()                Does nothing.
 * rcu_register_thread()     Registers the calling thread. Readers of memb, mb and bp that did not
 *                           are registered by their first section; qsbr's are online from this call
 *                           on. A second call does nothing; in units with DEBUG_RCU it is reported.
 * rcu_unregister_thread()   Ends the calling thread's sections and its registration, which its exit
 *                           does, too. In bp it does nothing.
 * rcu_read_lock()           Opens a section. Sections nest. Wait-free but for a thread's first, and
 *                           async-signal-safe. In qsbr it does nothing.
 * rcu_read_unlock()         Closes a section; without one it does nothing.
 * rcu_read_ongoing()        Returns how many sections are open; in qsbr 1 while the thread is
 *                           online.
 * rcu_quiescent_state()     qsbr: announces that the calling thread holds nothing.
 * rcu_thread_offline()      qsbr: grace periods do not wait for the calling thread until
 *                           rcu_thread_online().
 * rcu_thread_online()       qsbr: ends that. Registers the thread, if need be.
 * synchronize_rcu()         Waits until every section that was open at the call has ended; a full
 *                           fence before and after. A thread of qsbr is offline meanwhile. Called
 *                           in a section it reports that, and waits for all readers but the caller,
 *                           whose own section counts as ended and begun anew.
 *
 * urcu/call-rcu.h, urcu/defer.h, urcu/urcu-poll.h and urcu/flavor.h describe the others. Where
 * liburcu has an inline function only in some mode, there is one in every mode here:
 * URCU_INLINE_SMALL_FUNCTIONS changes nothing, and _LGPL_SOURCE only which headers a header brings,
 * since some programs include one and use what others declare (tests/compat/includes has them).
 */
#ifndef LEEWARD_COMPAT_URCU_LEEWARD_FLAVOUR_H
#define LEEWARD_COMPAT_URCU_LEEWARD_FLAVOUR_H

#include <stdbool.h>

#include "../../../rcu.h"
#include "../assert.h"
#include "../call-rcu.h"
#include "../compiler.h"
#include "../defer.h"
#include "../flavor.h"
#include "../pointer.h"
#include "../urcu-poll.h"
#ifdef _LGPL_SOURCE
#include "../debug.h"
#include "../list.h"
#include "../tls-compat.h"
#endif

/*
 * How the readers' functions are defined that programs may also call; libleeward-urcu-memb and its
 * like have them as symbols.
 */
#ifndef LEE_1_URCU_READER
#define LEE_1_URCU_READER LEE_1_INLINE
#define LEE_1_URCU_READER_NAME(name) name
#endif

/* In units with DEBUG_RCU, the function behind a name is the one that reports misuse. */
#if defined(DEBUG_RCU) || defined(CONFIG_RCU_DEBUG)
#define LEE_1_URCU_CHECKED(symbol) __asm__(symbol)
#else
#define LEE_1_URCU_CHECKED(symbol)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the number of sections that are open on a slot, one within the other. */
LEE_1_INLINE int lee_1_urcu_depth(struct lee_1_slot *slot)
{
    return lee_1_is_inside(slot) ? (int)(__atomic_load_n(&slot->extra, __ATOMIC_RELAXED) & 0x3fffffff) + 1 : 0;
}

#ifdef __cplusplus
}
#endif

/* The functions that register threads, and those that every flavour has. Their names begin with `urcu`. */
#define LEE_1_URCU_REGISTRATION(urcu)                                                        \
    void urcu##_register_thread(void) LEE_1_URCU_CHECKED("lee_1_" #urcu "_register_checked"); \
    void urcu##_unregister_thread(void) LEE_1_URCU_CHECKED("lee_1_" #urcu "_unregister_checked");
#define LEE_1_URCU_FUNCTIONS(urcu)     \
    void urcu##_exit(void);            \
    void urcu##_synchronize_rcu(void); \
    LEE_1_URCU_CALL_RCU(urcu)          \
    LEE_1_URCU_DEFER(urcu)             \
    LEE_1_URCU_POLL(urcu)              \
    LEE_1_URCU_FLAVOR(urcu)

/*
 * The readers of a flavour with sections: those of the domain `lee`, whose thread-local variable is
 * `slot`. `is_known` is true if the calling thread may open a section, in units with DEBUG_RCU.
 */
#define LEE_1_URCU_SECTIONS(urcu, lee, slot, is_known)                                                       \
    void urcu##_init(void);                                                                                  \
    LEE_1_INLINE int _##urcu##_read_ongoing(void) { return lee_1_urcu_depth(slot); }                         \
    LEE_1_INLINE void _##urcu##_read_lock(void)                                                              \
    {                                                                                                        \
        urcu_assert_debug(is_known);                                                                         \
        lee##_read_lock();                                                                                   \
    }                                                                                                        \
    LEE_1_INLINE void _##urcu##_read_unlock(void)                                                            \
    {                                                                                                        \
        urcu_assert_debug(_##urcu##_read_ongoing());                                                         \
        lee##_read_unlock();                                                                                 \
    }                                                                                                        \
    LEE_1_URCU_READER int LEE_1_URCU_READER_NAME(urcu##_read_ongoing)(void)                                  \
    {                                                                                                        \
        return _##urcu##_read_ongoing();                                                                     \
    }                                                                                                        \
    LEE_1_URCU_READER void LEE_1_URCU_READER_NAME(urcu##_read_lock)(void) { _##urcu##_read_lock(); }         \
    LEE_1_URCU_READER void LEE_1_URCU_READER_NAME(urcu##_read_unlock)(void) { _##urcu##_read_unlock(); }     \
    LEE_1_INLINE void _##urcu##_quiescent_state(void) {}                                                     \
    LEE_1_INLINE void urcu##_quiescent_state(void) {}                                                        \
    LEE_1_INLINE void urcu##_thread_offline(void) {}                                                         \
    LEE_1_INLINE void urcu##_thread_online(void) {}

#endif
