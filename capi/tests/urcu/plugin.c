/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A library that plugin_host.c loads by dlopen: it uses RCU in whatever threads call it.
 */
#include "check.h"

static struct rcu_head heads[100];
static int calls;

static void count(struct rcu_head *head)
{
    (void)head;
    ADD(calls, 1);
}

#ifdef __cplusplus
extern "C"
#endif
__attribute__((__visibility__("default"))) int plugin(void);
int plugin(void)
{
    struct call_rcu_data *worker = create_call_rcu_data(0, -1);
    int i;

    rcu_read_lock();
    set_thread_call_rcu_data(worker);
    for (i = 0; i < 100; i++)
        call_rcu(&heads[i], count);
    set_thread_call_rcu_data(NULL);
    rcu_read_unlock();
    rcu_quiescent_state();
    synchronize_rcu();
    call_rcu_data_free(worker);
    /* Before the code of the callbacks goes away. */
    rcu_barrier();
    CHECK(calls == 100);
    return calls;
}
