/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The short names: whose they are, that they can be redefined, and the older ones.
 */
#include <urcu/urcu-qsbr.h>
#ifdef rcu_read_lock
#error "short names without being asked for"
#endif
#include <urcu.h>
#define NAMES_OF_(lock) #lock
#define NAMES_OF(lock) NAMES_OF_(lock)
static const char *const after_urcu = NAMES_OF(rcu_read_lock);
#include <urcu-bp.h>
static const char *const after_bp = NAMES_OF(rcu_read_lock);
/* Included again, the others do not get the names back. */
#include <urcu.h>
#include <urcu/urcu-qsbr.h>
static const char *const after_all = NAMES_OF(rcu_read_lock);
#include <urcu/map/urcu.h>
static const char *const after_map = NAMES_OF(rcu_read_lock);
#include <urcu-call-rcu.h>
#include <urcu-defer.h>
#include <urcu-flavor.h>
#include <urcu-pointer.h>
#include <urcu/cds.h>
#include <urcu-qsbr.h>

#include "check.h"


/* What BIND does. */
#undef rcu_read_lock
#define rcu_read_lock()               \
    do {                              \
        locks++;                      \
        urcu_qsbr_read_lock();        \
    } while (0)
static int locks;
#include <urcu-qsbr.h>
#include <urcu/urcu-qsbr.h>
static void read_as_bind_does(void)
{
    urcu_qsbr_register_thread();
    rcu_read_lock();
    rcu_read_unlock();
    rcu_quiescent_state();
    urcu_qsbr_unregister_thread();
    CHECK(locks == 1);
}

/* A flavour of one's own making. */
#undef rcu_read_lock
#include <urcu/map/urcu-bp.h>
static DEFINE_RCU_FLAVOR(mine);
#include <urcu/map/clear.h>
#if defined(rcu_read_lock) || defined(call_rcu) || defined(synchronize_rcu) || defined(rcu_flavor) || \
    defined(start_poll_synchronize_rcu) || defined(rcu_barrier) || defined(defer_rcu) || defined(_rcu_read_lock)
#error "clear.h leaves names behind"
#endif

/* Every older name stands for one of the flavour's. */
#define IS(older, name) CHECK(strcmp(TEXT(older), name) == 0)
static void older_names(void)
{
    IS(rcu_read_lock_memb, "urcu_memb_read_lock");
    IS(_rcu_read_unlock_memb, "_urcu_memb_read_unlock");
    IS(rcu_register_thread_memb, "urcu_memb_register_thread");
    IS(rcu_init_memb, "urcu_memb_init");
    IS(synchronize_rcu_bp, "urcu_bp_synchronize_rcu");
    IS(call_rcu_bp, "urcu_bp_call_rcu");
    IS(rcu_barrier_qsbr, "urcu_qsbr_barrier");
    IS(rcu_quiescent_state_qsbr, "urcu_qsbr_quiescent_state");
    IS(rcu_flavor_qsbr, "urcu_qsbr_flavor");
    IS(rcu_init_qsbr, "rcu_init_qsbr");
    IS(rcu_defer_barrier_thread_memb, "urcu_memb_defer_barrier_thread");
    IS(defer_rcu_memb, "urcu_memb_defer_rcu");
    IS(create_call_rcu_data_memb, "urcu_memb_create_call_rcu_data");
    IS(rcu_bp_before_fork, "urcu_bp_before_fork");
    IS(rcu_bp_after_fork_child, "urcu_bp_after_fork_child");
    IS(urcu_register_rculfhash_atfork_memb, "urcu_memb_register_rculfhash_atfork");
    IS(rcu_gp_memb, "urcu_memb_gp");
}

static void sizes(void)
{
    CHECK(sizeof(struct rcu_head) == 16);
    CHECK(sizeof(struct urcu_atfork) == 32);
    CHECK(sizeof(struct urcu_gp_poll_state) == 8);
    CHECK(sizeof(struct rcu_flavor_struct) == 128);
    CHECK(offsetof(struct rcu_flavor_struct, update_start_poll_synchronize_rcu) == 112);
    CHECK(offsetof(struct rcu_head, func) == 8);
    CHECK(URCU_CALL_RCU_RT == 1 && URCU_CALL_RCU_PAUSED == 32);
}

int main(void)
{
    int *p = &locks, *q;

    begin();
    CHECK(strcmp(after_urcu, "urcu_memb_read_lock") == 0);
    CHECK(strcmp(after_bp, "urcu_bp_read_lock") == 0);
    CHECK(strcmp(after_all, "urcu_bp_read_lock") == 0);
    CHECK(strcmp(after_map, "urcu_memb_read_lock") == 0);
    read_as_bind_does();
    older_names();
    sizes();
    mine.read_lock();
    CHECK(urcu_bp_read_ongoing() == 1 && !urcu_memb_read_ongoing());
    mine.read_unlock();
    mine.update_synchronize_rcu();
    q = urcu_bp_dereference(p);
    CHECK(q == &locks);
    CHECK(urcu_bp_xchg_pointer(&p, NULL) == &locks && !p);
    CHECK(urcu_bp_cmpxchg_pointer(&p, NULL, q) == NULL && p == q);
    urcu_bp_set_pointer(&p, NULL);
    CHECK(rcu_dereference_bp(p) == NULL);
    return end("names");
}
