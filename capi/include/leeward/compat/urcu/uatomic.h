/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/uatomic.h, leeward's: atomic operations on integers and pointers in place, named by their
 * address, with the operations and orders of liburcu 0.13 and of 0.15.
 *
 * Every argument is evaluated once. A value is converted to the type at the address, so that
 * negative values keep their sign. Each operation takes its memory order as an optional last
 * argument; where none is given the order is the one in the table. The forms that end in _mo
 * require it.
 *
 *   uatomic_read, uatomic_load       (addr [, mo])           the value; relaxed
 *   uatomic_set, uatomic_store       (addr, v [, mo])        nothing; relaxed
 *   uatomic_add, _sub, _or, _and     (addr, v [, mo])        nothing; relaxed is promised
 *   uatomic_inc, _dec                (addr [, mo])           nothing; relaxed is promised
 *   uatomic_add_return, _sub_return  (addr, v [, mo])        the new value; a full fence
 *   uatomic_xchg                     (addr, v [, mo])        the old value; a full fence
 *   uatomic_cmpxchg                  (addr, old, new [, mo [, mo on failure]])
 *                                                            the value found; a full fence if it
 *                                                            was old, else relaxed
 *
 * An address is aligned to its size. A size that the processor has no operation for does not
 * compile; UATOMIC_HAS_ATOMIC_{BYTE,SHORT,INT,LLONG} tell which there are. All are safe in signal
 * handlers and leave errno alone.
 */
#ifndef LEEWARD_COMPAT_URCU_UATOMIC_H
#define LEEWARD_COMPAT_URCU_UATOMIC_H

#include "compiler.h"
#include "leeward/atomic.h"
#include "system.h"

/* Loads and stores. */
#define uatomic_load_mo(addr, mo)                                                                    \
    LEE_1_URCU_THEN(LEE_1_URCU_TYPE(addr), __atomic_load_n(LEE_1_URCU_AT(addr), LEE_1_URCU_ORDER(mo)), \
                    LEE_1_URCU_FENCE_LOAD(mo))
#define uatomic_store_mo(addr, v, mo)                                                                       \
    (__atomic_store_n(LEE_1_URCU_AT(addr), (LEE_1_URCU_TYPE(addr))(v), LEE_1_URCU_ORDER(mo)), \
     lee_1_urcu_fence_if(LEE_1_URCU_FENCE_RMW(mo)))
#define uatomic_read_mo(addr, mo) uatomic_load_mo(addr, mo)
#define uatomic_set_mo(addr, v, mo) uatomic_store_mo(addr, v, mo)

/* The operations that return nothing. `op` is fetch_add and its like. */
#define LEE_1_URCU_VOID(op, addr, v, mo)                                                                 \
    ((void)__atomic_##op(LEE_1_URCU_AT(addr), (LEE_1_URCU_TYPE(addr))(v), LEE_1_URCU_ORDER(mo)), \
     lee_1_urcu_fence_if(LEE_1_URCU_FENCE_RMW(mo)))
#define uatomic_add_mo(addr, v, mo) LEE_1_URCU_VOID(fetch_add, addr, v, mo)
#define uatomic_sub_mo(addr, v, mo) LEE_1_URCU_VOID(fetch_sub, addr, v, mo)
#define uatomic_or_mo(addr, mask, mo) LEE_1_URCU_VOID(fetch_or, addr, mask, mo)
#define uatomic_and_mo(addr, mask, mo) LEE_1_URCU_VOID(fetch_and, addr, mask, mo)
#define uatomic_inc_mo(addr, mo) LEE_1_URCU_VOID(fetch_add, addr, 1, mo)
#define uatomic_dec_mo(addr, mo) LEE_1_URCU_VOID(fetch_sub, addr, 1, mo)

/* The operations that return a value. `op` is add_fetch, sub_fetch or exchange_n. */
#define LEE_1_URCU_VALUE(op, addr, v, mo)                                                                   \
    LEE_1_URCU_THEN(LEE_1_URCU_TYPE(addr),                                                                  \
                    __atomic_##op(LEE_1_URCU_AT(addr), (LEE_1_URCU_TYPE(addr))(v), LEE_1_URCU_ORDER(mo)), \
                    LEE_1_URCU_FENCE_RMW(mo))
#define uatomic_add_return_mo(addr, v, mo) LEE_1_URCU_VALUE(add_fetch, addr, v, mo)
#define uatomic_sub_return_mo(addr, v, mo) LEE_1_URCU_VALUE(sub_fetch, addr, v, mo)
#define uatomic_xchg_mo(addr, v, mo) LEE_1_URCU_VALUE(exchange_n, addr, v, mo)
#define uatomic_cmpxchg_mo(addr, old, _new, mos, mof) LEE_1_URCU_CMPXCHG(addr, old, _new, mos, mof)

/*
 * The order of add, or and their like when none is given. Where each of them is a full fence
 * anyway, the compiler is told so: programs written there rely on it, and it costs nothing.
 * ThreadSanitizer is told what is promised.
 */
#if LEE_1_URCU_RMW_IS_FENCE && !defined(LEE_1_URCU_TSAN)
#define LEE_1_URCU_UNORDERED CMM_SEQ_CST
#else
#define LEE_1_URCU_UNORDERED CMM_RELAXED
#endif

/* The forms without an order. */
#define LEE_1_URCU_LOAD(addr) uatomic_load_mo(addr, CMM_RELAXED)
#define LEE_1_URCU_STORE(addr, v) uatomic_store_mo(addr, v, CMM_RELAXED)
#define LEE_1_URCU_ADD(addr, v) uatomic_add_mo(addr, v, LEE_1_URCU_UNORDERED)
#define LEE_1_URCU_SUB(addr, v) uatomic_sub_mo(addr, v, LEE_1_URCU_UNORDERED)
#define LEE_1_URCU_OR(addr, mask) uatomic_or_mo(addr, mask, LEE_1_URCU_UNORDERED)
#define LEE_1_URCU_AND(addr, mask) uatomic_and_mo(addr, mask, LEE_1_URCU_UNORDERED)
#define LEE_1_URCU_INC(addr) uatomic_inc_mo(addr, LEE_1_URCU_UNORDERED)
#define LEE_1_URCU_DEC(addr) uatomic_dec_mo(addr, LEE_1_URCU_UNORDERED)
#define LEE_1_URCU_ADD_RETURN(addr, v) uatomic_add_return_mo(addr, v, CMM_SEQ_CST_FENCE)
#define LEE_1_URCU_SUB_RETURN(addr, v) uatomic_sub_return_mo(addr, v, CMM_SEQ_CST_FENCE)
#define LEE_1_URCU_XCHG(addr, v) uatomic_xchg_mo(addr, v, CMM_SEQ_CST_FENCE)
#define LEE_1_URCU_CMPXCHG_3(addr, old, _new) LEE_1_URCU_CMPXCHG(addr, old, _new, CMM_SEQ_CST_FENCE, CMM_RELAXED)
#define LEE_1_URCU_CMPXCHG_4(addr, old, _new, mos) LEE_1_URCU_CMPXCHG(addr, old, _new, mos, CMM_RELAXED)

/* By the number of arguments: the form with the order, or the one without. */
#define LEE_1_URCU_1_OR_2(with, without, ...) LEE_1_URCU_3RD(__VA_ARGS__, with, without, ~)(__VA_ARGS__)
#define LEE_1_URCU_2_OR_3(with, without, ...) LEE_1_URCU_4TH(__VA_ARGS__, with, without, ~)(__VA_ARGS__)

#define uatomic_load(...) LEE_1_URCU_1_OR_2(uatomic_load_mo, LEE_1_URCU_LOAD, __VA_ARGS__)
#define uatomic_read(...) LEE_1_URCU_1_OR_2(uatomic_load_mo, LEE_1_URCU_LOAD, __VA_ARGS__)
#define uatomic_store(...) LEE_1_URCU_2_OR_3(uatomic_store_mo, LEE_1_URCU_STORE, __VA_ARGS__)
#define uatomic_set(...) LEE_1_URCU_2_OR_3(uatomic_store_mo, LEE_1_URCU_STORE, __VA_ARGS__)
#define uatomic_add(...) LEE_1_URCU_2_OR_3(uatomic_add_mo, LEE_1_URCU_ADD, __VA_ARGS__)
#define uatomic_sub(...) LEE_1_URCU_2_OR_3(uatomic_sub_mo, LEE_1_URCU_SUB, __VA_ARGS__)
#define uatomic_or(...) LEE_1_URCU_2_OR_3(uatomic_or_mo, LEE_1_URCU_OR, __VA_ARGS__)
#define uatomic_and(...) LEE_1_URCU_2_OR_3(uatomic_and_mo, LEE_1_URCU_AND, __VA_ARGS__)
#define uatomic_inc(...) LEE_1_URCU_1_OR_2(uatomic_inc_mo, LEE_1_URCU_INC, __VA_ARGS__)
#define uatomic_dec(...) LEE_1_URCU_1_OR_2(uatomic_dec_mo, LEE_1_URCU_DEC, __VA_ARGS__)
#define uatomic_add_return(...) LEE_1_URCU_2_OR_3(uatomic_add_return_mo, LEE_1_URCU_ADD_RETURN, __VA_ARGS__)
#define uatomic_sub_return(...) LEE_1_URCU_2_OR_3(uatomic_sub_return_mo, LEE_1_URCU_SUB_RETURN, __VA_ARGS__)
#define uatomic_xchg(...) LEE_1_URCU_2_OR_3(uatomic_xchg_mo, LEE_1_URCU_XCHG, __VA_ARGS__)
#define uatomic_cmpxchg(...)                                                                              \
    LEE_1_URCU_6TH(__VA_ARGS__, uatomic_cmpxchg_mo, LEE_1_URCU_CMPXCHG_4, LEE_1_URCU_CMPXCHG_3, ~)(__VA_ARGS__)

/*
 * Fences that make the operations of relaxed order full fences: before, after, or both. Nothing
 * but the compiler has to be held where the operation is a fence.
 */
#if LEE_1_URCU_RMW_IS_FENCE
#define LEE_1_URCU_BESIDE_UATOMIC() cmm_barrier()
#else
#define LEE_1_URCU_BESIDE_UATOMIC() cmm_smp_mb()
#endif
#define cmm_smp_mb__before_uatomic_and() LEE_1_URCU_BESIDE_UATOMIC()
#define cmm_smp_mb__after_uatomic_and() LEE_1_URCU_BESIDE_UATOMIC()
#define cmm_smp_mb__before_uatomic_or() LEE_1_URCU_BESIDE_UATOMIC()
#define cmm_smp_mb__after_uatomic_or() LEE_1_URCU_BESIDE_UATOMIC()
#define cmm_smp_mb__before_uatomic_add() LEE_1_URCU_BESIDE_UATOMIC()
#define cmm_smp_mb__after_uatomic_add() LEE_1_URCU_BESIDE_UATOMIC()
#define cmm_smp_mb__before_uatomic_sub() LEE_1_URCU_BESIDE_UATOMIC()
#define cmm_smp_mb__after_uatomic_sub() LEE_1_URCU_BESIDE_UATOMIC()
#define cmm_smp_mb__before_uatomic_inc() LEE_1_URCU_BESIDE_UATOMIC()
#define cmm_smp_mb__after_uatomic_inc() LEE_1_URCU_BESIDE_UATOMIC()
#define cmm_smp_mb__before_uatomic_dec() LEE_1_URCU_BESIDE_UATOMIC()
#define cmm_smp_mb__after_uatomic_dec() LEE_1_URCU_BESIDE_UATOMIC()

#endif
