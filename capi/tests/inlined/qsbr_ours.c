/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What ours.c is for the other flavours, for qsbr: threads of ours, which come and go.
 */
#include <urcu-qsbr.h>

/* The beginning of qsbr.c's. */
struct box {
    int is_valid;
};

/* Returns 0 if a box was read that had been freed, or a thread was not online. */
__attribute__((__visibility__("default"))) int read_as_ours(struct box **from, int rounds);
int read_as_ours(struct box **from, int rounds)
{
    int is_fine, i;

    rcu_register_thread();
    is_fine = rcu_read_ongoing();
    for (i = 0; i < rounds; i++) {
        struct box *box;

        rcu_read_lock();
        box = rcu_dereference(*from);
        is_fine &= __atomic_load_n(&box->is_valid, __ATOMIC_RELAXED) == 1;
        is_fine &= __atomic_load_n(&box->is_valid, __ATOMIC_RELAXED) == 1;
        rcu_read_unlock();
        rcu_quiescent_state();
        if (i % 100 == 0) {
            rcu_thread_offline();
            is_fine &= !rcu_read_ongoing();
            rcu_thread_online();
            is_fine &= rcu_read_ongoing();
        }
    }
    rcu_unregister_thread();
    return is_fine;
}
