/*
 * One operation a function, for run's look at the instructions. full_: a full fence must be among
 * them, or an operation that is one. none_: no fence, and no operation that is one. Compiled, never
 * run.
 */
#include <urcu/pointer.h>
#include <urcu/uatomic.h>

int x;
int *p;

void full_mb(void) { cmm_mb(); }
void full_smp_mb(void) { cmm_smp_mb(); }
int full_xchg(void) { return uatomic_xchg(&x, 1); }
int full_cmpxchg(void) { return uatomic_cmpxchg(&x, 1, 2); }
int full_add_return(void) { return uatomic_add_return(&x, 1); }
int full_sub_return(void) { return uatomic_sub_return(&x, 1); }
int *full_xchg_pointer(int *v) { return rcu_xchg_pointer(&p, v); }
int *full_cmpxchg_pointer(int *v) { return rcu_cmpxchg_pointer(&p, v, NULL); }
void full_store(void) { uatomic_store(&x, 1, CMM_SEQ_CST_FENCE); }
int full_load(void) { return uatomic_load(&x, CMM_SEQ_CST_FENCE); }
int full_failure(void) { return uatomic_cmpxchg(&x, 1, 2, CMM_RELAXED, CMM_SEQ_CST_FENCE); }
void full_or(void) { uatomic_or(&x, 1, CMM_SEQ_CST_FENCE); }
void full_before_and(void) { cmm_smp_mb__before_uatomic_and(); uatomic_and(&x, 1); }
void full_after_and(void) { uatomic_and(&x, 1); cmm_smp_mb__after_uatomic_and(); }
void full_before_or(void) { cmm_smp_mb__before_uatomic_or(); uatomic_or(&x, 1); }
void full_after_or(void) { uatomic_or(&x, 1); cmm_smp_mb__after_uatomic_or(); }
void full_before_add(void) { cmm_smp_mb__before_uatomic_add(); uatomic_add(&x, 2); }
void full_after_add(void) { uatomic_add(&x, 2); cmm_smp_mb__after_uatomic_add(); }
void full_before_sub(void) { cmm_smp_mb__before_uatomic_sub(); uatomic_sub(&x, 2); }
void full_after_sub(void) { uatomic_sub(&x, 2); cmm_smp_mb__after_uatomic_sub(); }
void full_before_inc(void) { cmm_smp_mb__before_uatomic_inc(); uatomic_inc(&x); }
void full_after_inc(void) { uatomic_inc(&x); cmm_smp_mb__after_uatomic_inc(); }
void full_before_dec(void) { cmm_smp_mb__before_uatomic_dec(); uatomic_dec(&x); }
void full_after_dec(void) { uatomic_dec(&x); cmm_smp_mb__after_uatomic_dec(); }
/* An operation that changes nothing is a fence nevertheless. */
void full_add_nothing(void) { cmm_smp_mb__before_uatomic_add(); uatomic_add(&x, 0); }

int none_read(void) { return uatomic_read(&x); }
void none_set(void) { uatomic_set(&x, 1); }
int none_acquire(void) { return uatomic_load(&x, CMM_ACQUIRE); }
void none_release(void) { uatomic_store(&x, 1, CMM_RELEASE); }
int none_load_shared(void) { return CMM_LOAD_SHARED(x); }
void none_store_shared(void) { CMM_STORE_SHARED(x, 1); }
int *none_dereference(void) { return rcu_dereference(p); }
void none_assign(int *v) { rcu_assign_pointer(p, v); }
void none_barrier(void) { cmm_barrier(); }
void none_depends(void) { cmm_smp_read_barrier_depends(); }
