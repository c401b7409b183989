/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A program that defines a flavour's function itself, as those do that link code which registers
 * threads, and want none of it.
 */
#include "check.h"

static int calls;

void rcu_register_thread_memb(void);
void rcu_register_thread_memb(void)
{
    calls++;
}

void rcu_unregister_thread_memb(void);
void rcu_unregister_thread_memb(void)
{
    calls++;
}

int main(void)
{
    begin();
    rcu_register_thread();
    rcu_read_lock();
    rcu_read_unlock();
    synchronize_rcu();
    rcu_unregister_thread();
    CHECK(calls == 2);
    return end("stub");
}
