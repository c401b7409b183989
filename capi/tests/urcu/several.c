/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Several flavours in one source, by their own names: each with all of its functions, and none
 * waits for another's readers.
 */
#include <urcu/urcu-memb.h>
#include <urcu/urcu-mb.h>
#include <urcu/urcu-qsbr.h>
#include <urcu/urcu-bp.h>
#include <urcu/urcu-signal.h>

#include "check.h"

#if defined(rcu_read_lock) || defined(call_rcu) || defined(URCU_API_MAP)
#error "short names without being asked for"
#endif

static int calls;

static void count(struct rcu_head *head)
{
    (void)head;
    ADD(calls, 1);
}

static void add(void *number)
{
    ADD(calls, *(int *)number);
}

/* One function that does everything for one flavour. */
#define DEFINE_EXERCISE(urcu)                                                              \
    static void urcu##_exercise(void)                                                      \
    {                                                                                      \
        static struct rcu_head heads[3];                                                   \
        struct urcu_gp_poll_state state;                                                   \
        struct call_rcu_data *worker;                                                      \
        int one = 1;                                                                       \
                                                                                           \
        calls = 0;                                                                         \
        urcu##_register_thread();                                                          \
        urcu##_read_lock();                                                                \
        CHECK(urcu##_read_ongoing());                                                      \
        urcu##_call_rcu(&heads[0], count);                                                 \
        urcu##_read_unlock();                                                              \
        urcu##_quiescent_state();                                                          \
        urcu##_synchronize_rcu();                                                          \
        worker = urcu##_create_call_rcu_data(0, -1);                                       \
        urcu##_set_thread_call_rcu_data(worker);                                           \
        CHECK(urcu##_get_thread_call_rcu_data() == worker);                                \
        CHECK(urcu##_get_call_rcu_data() == worker);                                       \
        CHECK(urcu##_get_default_call_rcu_data() != worker);                               \
        urcu##_call_rcu(&heads[1], count);                                                 \
        urcu##_barrier();                                                                  \
        CHECK(calls == 2);                                                                 \
        urcu##_set_thread_call_rcu_data(NULL);                                             \
        urcu##_call_rcu_data_free(worker);                                                 \
        CHECK(urcu##_get_cpu_call_rcu_data(0) == NULL);                                    \
        CHECK(urcu##_defer_register_thread() == 0);                                        \
        urcu##_defer_rcu(add, &one);                                                       \
        urcu##_defer_barrier();                                                            \
        CHECK(calls == 3);                                                                 \
        urcu##_defer_barrier_thread();                                                     \
        urcu##_defer_unregister_thread();                                                  \
        state = urcu##_start_poll_synchronize_rcu();                                       \
        urcu##_thread_offline();                                                           \
        EVENTUALLY(urcu##_poll_state_synchronize_rcu(state));                              \
        urcu##_thread_online();                                                            \
        exercise_value(&urcu##_flavor);                                                    \
        urcu##_unregister_thread();                                                        \
        urcu##_exit();                                                                     \
    }

/* The same by the flavour as a value. */
static void exercise_value(const struct rcu_flavor_struct *flavor)
{
    static struct rcu_head head;
    struct urcu_gp_poll_state state;
    int one = 1;

    calls = 0;
    flavor->unregister_thread();
    flavor->register_thread();
    flavor->read_lock();
    CHECK(flavor->read_ongoing());
    flavor->update_call_rcu(&head, count);
    flavor->update_defer_rcu(add, &one);
    flavor->read_unlock();
    flavor->read_quiescent_state();
    flavor->update_synchronize_rcu();
    state = flavor->update_start_poll_synchronize_rcu();
    flavor->thread_offline();
    EVENTUALLY(flavor->update_poll_state_synchronize_rcu(state));
    flavor->thread_online();
    flavor->barrier();
    CHECK(calls == 2);
}

DEFINE_EXERCISE(urcu_memb)
DEFINE_EXERCISE(urcu_mb)
DEFINE_EXERCISE(urcu_qsbr)
DEFINE_EXERCISE(urcu_bp)

static void flavours_do_not_wait_for_each_other(void)
{
    urcu_memb_register_thread();
    urcu_qsbr_register_thread();
    urcu_memb_read_lock();
    urcu_mb_read_lock();
    urcu_bp_synchronize_rcu();
    urcu_mb_read_unlock();
    urcu_mb_synchronize_rcu();
    urcu_qsbr_synchronize_rcu();
    urcu_bp_read_lock();
    urcu_memb_read_unlock();
    urcu_memb_synchronize_rcu();
    urcu_memb_barrier();
    urcu_bp_read_unlock();
    urcu_memb_unregister_thread();
    urcu_qsbr_unregister_thread();
    urcu_mb_unregister_thread();
}

int main(void)
{
    begin();
    urcu_memb_init();
    urcu_mb_init();
    urcu_bp_init();
    urcu_memb_exercise();
    urcu_mb_exercise();
    urcu_qsbr_exercise();
    urcu_bp_exercise();
    flavours_do_not_wait_for_each_other();
    /* The older flavour signal is memb. */
    urcu_signal_register_thread();
    urcu_signal_read_lock();
    CHECK(urcu_memb_read_ongoing() == 1);
    urcu_signal_read_unlock();
    urcu_signal_synchronize_rcu();
    urcu_signal_unregister_thread();
    return end("several");
}
