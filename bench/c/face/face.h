/*
 * The C faces that `cargo compare c` measures, each under the same names: `face_lock`, `face_defer` and so on are leeward's
 * functions or liburcu's. Every file of this folder is compiled once for each face and flavour, with
 *   FACE_FLAVOUR   memb, bp, mb or qsbr
 *   FACE_QSBR      1 if that is qsbr
 *   FACE_HEADER    liburcu's header of the flavour, such as <urcu/urcu-memb.h>; undefined for leeward
 *   FACE_POLLS     1 if the face has grace periods that are polled for
 */
#ifndef FACE_H
#define FACE_H

#ifdef FACE_HEADER

/* _LGPL_SOURCE is the documented switch that inlines the read side; URCU_INLINE_SMALL_FUNCTIONS is its newer form. */
#define _LGPL_SOURCE
#define URCU_INLINE_SMALL_FUNCTIONS
#define URCU_API_MAP
#include FACE_HEADER

#define face_head rcu_head
#define face_register rcu_register_thread
#define face_unregister rcu_unregister_thread
#define face_lock rcu_read_lock
#define face_unlock rcu_read_unlock
#define face_load(p) rcu_dereference(p)
#define face_synchronize synchronize_rcu
#define face_defer call_rcu
#define face_barrier rcu_barrier
#define face_quiescent rcu_quiescent_state
#define face_offline rcu_thread_offline
#define face_online rcu_thread_online
#if FACE_POLLS
#define face_cookie urcu_gp_poll_state
#define face_start_poll start_poll_synchronize_rcu
#define face_poll poll_state_synchronize_rcu
#endif

#else

#include <leeward/rcu.h>

#define FACE_JOIN_EXPANDED(flavour, name) lee_##flavour##_##name
#define FACE_JOIN(flavour, name) FACE_JOIN_EXPANDED(flavour, name)
#define FACE(name) FACE_JOIN(FACE_FLAVOUR, name)
#define FACE_DOMAIN_EXPANDED(flavour) (&lee_##flavour)
#define FACE_DOMAIN(flavour) FACE_DOMAIN_EXPANDED(flavour)

#define face_domain FACE_DOMAIN(FACE_FLAVOUR)
#define face_head lee_head
#define face_register FACE(register)
#define face_unregister FACE(unregister)
#define face_lock FACE(read_lock)
#define face_unlock FACE(read_unlock)
#define face_load(p) lee_dereference(p)
#define face_synchronize FACE(synchronize)
#define face_defer FACE(defer)
#define face_barrier FACE(barrier)
#define face_cookie lee_cookie
#define face_start_poll FACE(start_poll)
#define face_poll FACE(poll)
#if FACE_QSBR
#define face_quiescent FACE(quiescent)
#define face_offline FACE(offline)
#define face_online FACE(online)
#endif

#endif

/* Readers of the other flavours have neither quiescent states nor a time in which they are offline. */
#if !FACE_QSBR
#undef face_quiescent
#undef face_offline
#undef face_online
#define face_quiescent() ((void)0)
#define face_offline() ((void)0)
#define face_online() ((void)0)
#endif

#endif
