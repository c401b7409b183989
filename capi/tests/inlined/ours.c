/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Readers of ours: a library that is compiled with the headers of this library, for a program whose
 * sections are inlined from liburcu's.
 */
#define _LGPL_SOURCE
#include HEADER

/* The beginning of torture.c's. */
struct box {
    int is_valid;
};

/* Returns 0 if a box was read that had been freed. */
__attribute__((__visibility__("default"))) int read_as_ours(struct box **from, int rounds);
int read_as_ours(struct box **from, int rounds)
{
    int is_fine = 1, i;

    for (i = 0; i < rounds; i++) {
        struct box *box;

        rcu_read_lock();
        box = rcu_dereference(*from);
        is_fine &= __atomic_load_n(&box->is_valid, __ATOMIC_RELAXED) == 1;
        rcu_read_lock();
        rcu_read_unlock();
        is_fine &= __atomic_load_n(&box->is_valid, __ATOMIC_RELAXED) == 1;
        rcu_read_unlock();
    }
    return is_fine;
}
