/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/leeward/map.h: the short names of the flavour whose LEE_1_URCU_NAME is defined. They are
 * object-like macros, so that a program can undefine one and define its own. Programs do not
 * include this, but urcu/map/urcu-memb.h and its like.
 */
#include "../map/clear.h"

#define rcu_read_lock LEE_1_URCU_NAME(read_lock)
#define rcu_read_unlock LEE_1_URCU_NAME(read_unlock)
#define rcu_read_ongoing LEE_1_URCU_NAME(read_ongoing)

#define _rcu_read_lock LEE_1_URCU_NAME_(read_lock)
#define _rcu_read_unlock LEE_1_URCU_NAME_(read_unlock)
#define _rcu_read_ongoing LEE_1_URCU_NAME_(read_ongoing)
#define _rcu_quiescent_state LEE_1_URCU_NAME_(quiescent_state)

#define rcu_quiescent_state LEE_1_URCU_NAME(quiescent_state)
#define rcu_thread_offline LEE_1_URCU_NAME(thread_offline)
#define rcu_thread_online LEE_1_URCU_NAME(thread_online)
#define rcu_register_thread LEE_1_URCU_NAME(register_thread)
#define rcu_unregister_thread LEE_1_URCU_NAME(unregister_thread)
#ifndef LEE_1_URCU_IS_QSBR
#define rcu_init LEE_1_URCU_NAME(init)
#endif
#define rcu_exit LEE_1_URCU_NAME(exit)
#define synchronize_rcu LEE_1_URCU_NAME(synchronize_rcu)
#define rcu_reader LEE_1_URCU_NAME(reader)
#define rcu_gp LEE_1_URCU_NAME(gp)

#define call_rcu LEE_1_URCU_NAME(call_rcu)
#define rcu_barrier LEE_1_URCU_NAME(barrier)
#define create_call_rcu_data LEE_1_URCU_NAME(create_call_rcu_data)
#define call_rcu_data_free LEE_1_URCU_NAME(call_rcu_data_free)
#define get_thread_call_rcu_data LEE_1_URCU_NAME(get_thread_call_rcu_data)
#define set_thread_call_rcu_data LEE_1_URCU_NAME(set_thread_call_rcu_data)
#define get_cpu_call_rcu_data LEE_1_URCU_NAME(get_cpu_call_rcu_data)
#define set_cpu_call_rcu_data LEE_1_URCU_NAME(set_cpu_call_rcu_data)
#define get_call_rcu_data LEE_1_URCU_NAME(get_call_rcu_data)
#define get_default_call_rcu_data LEE_1_URCU_NAME(get_default_call_rcu_data)
#define get_call_rcu_thread LEE_1_URCU_NAME(get_call_rcu_thread)
#define create_all_cpu_call_rcu_data LEE_1_URCU_NAME(create_all_cpu_call_rcu_data)
#define free_all_cpu_call_rcu_data LEE_1_URCU_NAME(free_all_cpu_call_rcu_data)
#define call_rcu_before_fork LEE_1_URCU_NAME(call_rcu_before_fork)
#define call_rcu_after_fork_parent LEE_1_URCU_NAME(call_rcu_after_fork_parent)
#define call_rcu_after_fork_child LEE_1_URCU_NAME(call_rcu_after_fork_child)

#define defer_rcu LEE_1_URCU_NAME(defer_rcu)
#define rcu_defer_register_thread LEE_1_URCU_NAME(defer_register_thread)
#define rcu_defer_unregister_thread LEE_1_URCU_NAME(defer_unregister_thread)
#define rcu_defer_barrier LEE_1_URCU_NAME(defer_barrier)
#define rcu_defer_barrier_thread LEE_1_URCU_NAME(defer_barrier_thread)
#define rcu_defer_exit LEE_1_URCU_NAME(defer_exit)

#define rcu_flavor LEE_1_URCU_NAME(flavor)
#define urcu_register_rculfhash_atfork LEE_1_URCU_NAME(register_rculfhash_atfork)
#define urcu_unregister_rculfhash_atfork LEE_1_URCU_NAME(unregister_rculfhash_atfork)

#define start_poll_synchronize_rcu LEE_1_URCU_NAME(start_poll_synchronize_rcu)
#define poll_state_synchronize_rcu LEE_1_URCU_NAME(poll_state_synchronize_rcu)
