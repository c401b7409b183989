/* urcu/uatomic.h: every operation on every size, with and without an order. */
#include <limits.h>
#include <stdint.h>
#include <urcu/uatomic.h>

#include "check.h"

static int calls;

/* Evaluated once, wherever it stands. */
static int counted(int value)
{
    calls++;
    return value;
}

/* One type, with the operations of 0.13. */
#define WITHOUT_ORDER(type)                                                                    \
    do {                                                                                       \
        type x = 5;                                                                            \
        type *at = &x;                                                                         \
        calls = 0;                                                                             \
        CHECK(uatomic_read(at) == 5);                                                          \
        uatomic_set(at, counted(9));                                                           \
        CHECK(x == 9);                                                                         \
        uatomic_add(at, counted(3));                                                           \
        CHECK(x == 12);                                                                        \
        uatomic_sub(at, counted(4));                                                           \
        CHECK(x == 8);                                                                         \
        uatomic_inc(at);                                                                       \
        CHECK(x == 9);                                                                         \
        uatomic_dec(at);                                                                       \
        CHECK(x == 8);                                                                         \
        uatomic_or(at, counted(3));                                                            \
        CHECK(x == 11);                                                                        \
        uatomic_and(at, counted(6));                                                           \
        CHECK(x == 2);                                                                         \
        CHECK(uatomic_add_return(at, counted(40)) == 42 && x == 42);                           \
        CHECK(uatomic_sub_return(at, counted(2)) == 40 && x == 40);                            \
        CHECK(uatomic_xchg(at, counted(17)) == 40 && x == 17);                                 \
        CHECK(uatomic_cmpxchg(at, counted(16), counted(3)) == 17 && x == 17);                  \
        CHECK(uatomic_cmpxchg(at, counted(17), counted(3)) == 17 && x == 3);                   \
        CHECK(calls == 12);                                                                    \
        /* Negative values keep their sign in every type, and wrap as it does. */              \
        uatomic_add(at, -1);                                                                   \
        CHECK(x == 2);                                                                         \
        CHECK(uatomic_add_return(at, -2) == 0);                                                \
        uatomic_set(at, -1);                                                                   \
        CHECK(x == (type)-1 && uatomic_read(at) == (type)-1);                                  \
        CHECK(uatomic_add_return(at, 1) == 0);                                                 \
        CHECK(uatomic_sub_return(at, 1) == (type)-1);                                          \
        CHECK(uatomic_cmpxchg(at, -1, 1) == (type)-1 && x == 1);                               \
        CHECK(uatomic_xchg(at, -1) == 1 && x == (type)-1);                                     \
        uatomic_and(at, ~(type)1);                                                             \
        CHECK(x == (type)-2);                                                                  \
        /* The result has the type of what is at the address. */                               \
        CHECK(sizeof(uatomic_read(at)) == sizeof(type));                                       \
        CHECK(sizeof(uatomic_xchg(at, 1)) == sizeof(type));                                    \
        CHECK(sizeof(uatomic_cmpxchg(at, 1, 1)) == sizeof(type));                              \
        CHECK(sizeof(uatomic_add_return(at, 1)) == sizeof(type));                              \
        CHECK((uatomic_read(at) < 1) == ((type)-1 < (type)1));                                 \
    } while (0)

#ifdef LEEWARD
/*
 * One type and one order of a read-modify-write; `load` and `store` are orders that those may have.
 */
#define WITH_ORDER(type, mo, load, store)                                                      \
    do {                                                                                       \
        type x = 5;                                                                            \
        type *at = &x;                                                                         \
        calls = 0;                                                                             \
        CHECK(uatomic_read(at, load) == 5 && uatomic_load(at, load) == 5);                     \
        CHECK(uatomic_load_mo(at, load) == 5 && uatomic_read_mo(at, load) == 5);               \
        uatomic_set(at, counted(1), store);                                                    \
        CHECK(x == 1);                                                                         \
        uatomic_store(at, counted(2), store);                                                  \
        CHECK(x == 2);                                                                         \
        uatomic_set_mo(at, counted(3), store);                                                 \
        CHECK(x == 3);                                                                         \
        uatomic_store_mo(at, counted(4), store);                                               \
        CHECK(x == 4);                                                                         \
        uatomic_add(at, counted(3), mo);                                                       \
        uatomic_add_mo(at, counted(1), mo);                                                    \
        CHECK(x == 8);                                                                         \
        uatomic_sub(at, counted(2), mo);                                                       \
        uatomic_sub_mo(at, counted(1), mo);                                                    \
        CHECK(x == 5);                                                                         \
        uatomic_inc(at, mo);                                                                   \
        uatomic_inc_mo(at, mo);                                                                \
        CHECK(x == 7);                                                                         \
        uatomic_dec(at, mo);                                                                   \
        uatomic_dec_mo(at, mo);                                                                \
        CHECK(x == 5);                                                                         \
        uatomic_or(at, counted(2), mo);                                                        \
        uatomic_or_mo(at, counted(8), mo);                                                     \
        CHECK(x == 15);                                                                        \
        uatomic_and(at, counted(14), mo);                                                      \
        uatomic_and_mo(at, counted(7), mo);                                                    \
        CHECK(x == 6);                                                                         \
        CHECK(uatomic_add_return(at, counted(1), mo) == 7);                                    \
        CHECK(uatomic_add_return_mo(at, counted(1), mo) == 8);                                 \
        CHECK(uatomic_sub_return(at, counted(1), mo) == 7);                                    \
        CHECK(uatomic_sub_return_mo(at, counted(1), mo) == 6);                                 \
        CHECK(uatomic_xchg(at, counted(2), mo) == 6);                                          \
        CHECK(uatomic_xchg_mo(at, counted(1), mo) == 2);                                       \
        CHECK(calls == 18);                                                                    \
        CHECK(uatomic_cmpxchg(at, counted(1), counted(2), mo) == 1);                           \
        CHECK(uatomic_cmpxchg(at, counted(1), counted(3), mo) == 2);                           \
        CHECK(uatomic_cmpxchg(at, counted(2), counted(3), mo, CMM_RELAXED) == 2);              \
        CHECK(uatomic_cmpxchg_mo(at, counted(3), counted(4), mo, CMM_RELAXED) == 3);           \
        CHECK(uatomic_cmpxchg_mo(at, counted(3), counted(5), mo, CMM_RELAXED) == 4);           \
        CHECK(calls == 28 && x == 4);                                                          \
    } while (0)

#define WITH_ORDERS(type)                                                                      \
    do {                                                                                       \
        WITH_ORDER(type, CMM_RELAXED, CMM_RELAXED, CMM_RELAXED);                               \
        WITH_ORDER(type, CMM_ACQUIRE, CMM_ACQUIRE, CMM_RELAXED);                               \
        WITH_ORDER(type, CMM_CONSUME, CMM_CONSUME, CMM_RELAXED);                               \
        WITH_ORDER(type, CMM_RELEASE, CMM_RELAXED, CMM_RELEASE);                               \
        WITH_ORDER(type, CMM_ACQ_REL, CMM_ACQUIRE, CMM_RELEASE);                               \
        WITH_ORDER(type, CMM_SEQ_CST, CMM_SEQ_CST, CMM_SEQ_CST);                               \
        WITH_ORDER(type, CMM_SEQ_CST_FENCE, CMM_SEQ_CST_FENCE, CMM_SEQ_CST_FENCE);             \
    } while (0)
#else
#define WITH_ORDERS(type) ((void)0)
#endif

static void integers(void)
{
    WITHOUT_ORDER(int);
    WITHOUT_ORDER(unsigned int);
    WITHOUT_ORDER(long);
    WITHOUT_ORDER(unsigned long);
    WITH_ORDERS(int);
    WITH_ORDERS(unsigned long);
#ifdef UATOMIC_HAS_ATOMIC_BYTE
    WITHOUT_ORDER(signed char);
    WITHOUT_ORDER(unsigned char);
    WITH_ORDERS(signed char);
#endif
#ifdef UATOMIC_HAS_ATOMIC_SHORT
    WITHOUT_ORDER(short);
    WITHOUT_ORDER(unsigned short);
    WITH_ORDERS(unsigned short);
#endif
#ifdef UATOMIC_HAS_ATOMIC_LLONG
    WITHOUT_ORDER(int64_t);
    WITHOUT_ORDER(uint64_t);
    WITH_ORDERS(int64_t);
#endif
#if defined(LEEWARD) && (defined(__x86_64__) || defined(__aarch64__))
#if !defined(UATOMIC_HAS_ATOMIC_BYTE) || !defined(UATOMIC_HAS_ATOMIC_SHORT)
#error "this processor has operations for bytes and shorts"
#endif
#if !defined(UATOMIC_HAS_ATOMIC_INT) || !defined(UATOMIC_HAS_ATOMIC_LLONG)
#error "this processor has operations for ints and longs"
#endif
#endif
}

/* Neighbours stay as they are, and operations on parts carry into nothing. */
static void neighbours(void)
{
#ifdef UATOMIC_HAS_ATOMIC_BYTE
    unsigned char bytes[3] = { 1, 255, 1 };

    uatomic_inc(&bytes[1]);
    CHECK(bytes[0] == 1 && bytes[1] == 0 && bytes[2] == 1);
    uatomic_sub(&bytes[1], 1);
    CHECK(bytes[0] == 1 && bytes[1] == 255 && bytes[2] == 1);
#endif
}

struct incomplete;

static void pointers(void)
{
    int a = 1, b = 2;
    int *p = &a;
    const char *text = "text", *old;
    struct incomplete *opaque = NULL;
    void *plain = NULL;

    CHECK(*uatomic_read(&p) == 1);
    uatomic_set(&p, &b);
    CHECK(p == &b);
    CHECK(uatomic_xchg(&p, NULL) == &b && p == NULL);
    CHECK(uatomic_cmpxchg(&p, &a, &b) == NULL && p == NULL);
    CHECK(uatomic_cmpxchg(&p, NULL, &a) == NULL && p == &a);
    old = uatomic_xchg(&text, "other");
    CHECK(old[0] == 't' && uatomic_read(&text)[0] == 'o');
    CHECK(uatomic_read(&opaque) == NULL);
    CHECK(uatomic_cmpxchg(&plain, NULL, &a) == NULL && uatomic_read(&plain) == &a);
#ifdef LEEWARD
    uatomic_store(&p, &b, CMM_RELEASE);
    CHECK(uatomic_load(&p, CMM_CONSUME) == &b);
#endif
}

/* Constant and volatile objects, members, elements, and one operation inside another. */
static void lvalues(void)
{
    const int constant = 4;
    volatile unsigned long v = 6;
    struct {
        long count;
    } s = { 1 }, *to = &s;
    int array[3] = { 2, 0, 7 };

#ifdef LEEWARD
    CHECK(uatomic_load(&constant) == 4 && uatomic_load(&constant, CMM_ACQUIRE) == 4);
#endif
    CHECK(uatomic_read(&constant) == 4);
    uatomic_add(&v, 2);
    CHECK(uatomic_add_return(&v, 1) == 9 && uatomic_xchg(&v, 3) == 9 && uatomic_cmpxchg(&v, 3, 4) == 3);
    uatomic_set(&to->count, uatomic_read(&to->count) + 1);
    CHECK(s.count == 2);
    CHECK(uatomic_read(&array[uatomic_read(&array[0])]) == 7);
    CHECK(uatomic_add_return(&array[1], uatomic_add_return(&array[0], 1)) == 3);
    CHECK(uatomic_xchg(array, uatomic_xchg(array + 1, 8)) == 3 && array[0] == 3 && array[1] == 8);
    if (uatomic_cmpxchg(array, 3, 5) == 3)
        uatomic_inc(array);
    else
        uatomic_dec(array);
    CHECK(array[0] == 6);
}

static void barriers(void)
{
    int x = 0;

    cmm_smp_mb__before_uatomic_and();
    uatomic_and(&x, 1);
    cmm_smp_mb__after_uatomic_and();
    cmm_smp_mb__before_uatomic_or();
    uatomic_or(&x, 1);
    cmm_smp_mb__after_uatomic_or();
    cmm_smp_mb__before_uatomic_add();
    uatomic_add(&x, 4);
    cmm_smp_mb__after_uatomic_add();
    cmm_smp_mb__before_uatomic_sub();
    uatomic_sub(&x, 2);
    cmm_smp_mb__after_uatomic_sub();
    cmm_smp_mb__before_uatomic_inc();
    uatomic_inc(&x);
    cmm_smp_mb__after_uatomic_inc();
    cmm_smp_mb__before_uatomic_dec();
    uatomic_dec(&x);
    cmm_smp_mb__after_uatomic_dec();
    CHECK(x == 3);
}

static void names(void)
{
#ifdef LEEWARD
    enum cmm_memorder order = CMM_ACQUIRE;

    CHECK(order == 2);
    CHECK(CMM_RELAXED == 0 && CMM_CONSUME == 1 && CMM_RELEASE == 3 && CMM_ACQ_REL == 4 && CMM_SEQ_CST == 5);
    CHECK(CMM_SEQ_CST_FENCE == 6);
    CHECK((int)CMM_SEQ_CST == __ATOMIC_SEQ_CST && (int)CMM_ACQUIRE == __ATOMIC_ACQUIRE);
    /* Programs look for these by #ifdef. */
#if !defined(uatomic_load) || !defined(uatomic_store) || !defined(uatomic_read) || !defined(uatomic_cmpxchg)
#error "a macro of uatomic.h is none"
#endif
#endif
}

int main(void)
{
    errno = UNTOUCHED;
    integers();
    neighbours();
    pointers();
    lvalues();
    barriers();
    names();
    return done("uatomic");
}
