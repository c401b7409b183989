/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/urcu-bp.h, leeward's: the flavour bp by its own names (urcu_bp_read_lock), with URCU_API_MAP
 * also by the short ones. It is memb for libraries whose callers know nothing of RCU: threads are
 * registered by their first section, which may be a signal handler's, and unregistered by their
 * exit. It is the domain lee_bp of <leeward/rcu.h>.
 */
#ifndef LEEWARD_COMPAT_URCU_URCU_BP_H
#define LEEWARD_COMPAT_URCU_URCU_BP_H

#include "leeward/flavour.h"
#include "leeward/names-bp.h"

#ifdef __cplusplus
extern "C" {
#endif

LEE_1_URCU_FUNCTIONS(urcu_bp)
LEE_1_URCU_REGISTRATION(urcu_bp)
LEE_1_URCU_SECTIONS(urcu_bp, lee_bp, lee_1_bp_slot, 1)

/* These do nothing: the child of any fork finds the registry repaired. */
void urcu_bp_before_fork(void);
void urcu_bp_after_fork_parent(void);
void urcu_bp_after_fork_child(void);

/* The macros of urcu/pointer.h as functions, for programs that were compiled to call them. */
void *urcu_bp_dereference_sym(void *p);
void *urcu_bp_set_pointer_sym(void **p, void *v);
void *urcu_bp_xchg_pointer_sym(void **p, void *v);
void *urcu_bp_cmpxchg_pointer_sym(void **p, void *old, void *_new);

#ifdef __cplusplus
}
#endif

#define urcu_bp_dereference(p) _rcu_dereference(p)
#define urcu_bp_set_pointer(p, v) _rcu_set_pointer(p, v)
#define urcu_bp_xchg_pointer(p, v) _rcu_xchg_pointer(p, v)
#define urcu_bp_cmpxchg_pointer(p, old, _new) _rcu_cmpxchg_pointer(p, old, _new)

#ifdef URCU_API_MAP
#define LEE_1_URCU_BP_IS_MAPPED
#include "map/urcu-bp.h"
#endif

#endif
