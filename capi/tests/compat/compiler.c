/* urcu/compiler.h. */
#include <limits.h>
#include <string.h>
#include <urcu/compiler.h>

#include "check.h"

struct inner {
    int value;
};

struct outer {
    char before;
    struct inner inner;
    int array[3];
};

static int calls;

static struct inner *once(struct inner *inner)
{
    calls++;
    return inner;
}

static int number(int value)
{
    calls++;
    return value;
}

static void members(void)
{
    struct outer outer;
    const struct outer *constant = &outer;
    struct inner *inner = &outer.inner;

    CHECK(caa_container_of(inner, struct outer, inner) == &outer);
    CHECK(caa_container_of(&constant->inner, struct outer, inner) == &outer);
    CHECK(caa_container_of(&outer.array[2], struct outer, array[2]) == &outer);
    calls = 0;
    CHECK(caa_container_of(once(inner), struct outer, inner) == &outer);
    CHECK(calls == 1);
    /* One inside the other. */
    CHECK(caa_container_of(&caa_container_of(&inner->value, struct inner, value)->value, struct inner, value) == inner);
#ifdef LEEWARD
    calls = 0;
    CHECK(caa_container_of_check_null(once(inner), struct outer, inner) == &outer);
    CHECK(caa_container_of_check_null(once(NULL), struct outer, inner) == NULL);
    CHECK(calls == 2);
    CHECK(caa_container_of_check_null(&constant->inner, struct outer, inner) == &outer);
#endif
}

static void numbers(void)
{
    int array[7];
    unsigned int big = UINT_MAX;
    unsigned char byte = 255;
    signed char small = -1;

    (void)array;
    CHECK(CAA_ARRAY_SIZE(array) == 7);
#if CAA_BITS_PER_LONG == 64
    CHECK(sizeof(long) == 8);
#else
    CHECK(sizeof(long) == 4);
#endif
    CHECK(caa_max(3, 4) == 4 && caa_max(4, 3) == 4 && caa_min(3, 4) == 3 && caa_min(4, 3) == 3);
    CHECK(caa_max(caa_min(1, 2), caa_max(caa_min(7, 9), 5)) == 7);
    calls = 0;
    CHECK(caa_max(number(1), number(2)) == 2 && caa_min(number(1), number(2)) == 1);
#ifdef LEEWARD
    CHECK(calls == 4);
#endif
    CHECK(caa_is_signed_type(int) && caa_is_signed_type(signed char) && caa_is_signed_type(long long));
    CHECK(!caa_is_signed_type(unsigned int) && !caa_is_signed_type(unsigned char));
    CHECK(caa_cast_long_keep_sign(small) == -1 && caa_cast_long_keep_sign(byte) == 255);
    CHECK(caa_cast_long_keep_sign(-5) == -5 && caa_cast_long_keep_sign(big) == (long)UINT_MAX);
}

CDS_DEPRECATED("for this test") int old_function(void);

#ifdef LEEWARD
urcu_static_assert(sizeof(char) == 1, "of the file", file_scope);
#endif

#define MIDDLE _middle_
#ifndef CAA_COMBINE_TOKENS
#define CAA_COMBINE_TOKENS(a, b) a_middle_
#endif

static void words(void)
{
    int CAA_COMBINE_TOKENS(a, MIDDLE) = 5;
    int __rcu *marked = &CAA_COMBINE_TOKENS(a, MIDDLE);
    volatile int *pointer;
    const void *erased = marked;

    CHECK(a_middle_ == 5 && *marked == 5);
    CHECK(caa_likely(a_middle_ == 5) && !caa_unlikely(marked == NULL));
    CHECK(caa_likely(4) == 1 && caa_unlikely(4) == 1);
    if (caa_unlikely(a_middle_ != 5))
        CHECK(0);
    CHECK(URCU_FORCE_CAST(const int *, erased) == marked);
    CMM_ACCESS_ONCE(*marked) = 6;
    cmm_barrier();
    CHECK(CMM_ACCESS_ONCE(a_middle_) == 6);
    CAA_BUILD_BUG_ON(sizeof(int) == 1);
    CHECK(CAA_BUILD_BUG_ON_ZERO(sizeof(int) == 1) == 0);
#ifdef LEEWARD
    urcu_static_assert(sizeof(char) == 1, "of the block", block_scope);
    pointer = cmm_cast_volatile(marked);
#else
    pointer = marked;
#endif
    CHECK(*pointer == 6);
}

/* A store that the barrier keeps apart from the next: the compiler may not drop the first. */
static int barrier_keeps(volatile int *seen)
{
    static int plain;

    plain = 1;
    cmm_barrier();
    *seen = plain;
    plain = 2;
    cmm_barrier();
    return *seen + plain;
}

int main(void)
{
    volatile int seen = 0;

    errno = UNTOUCHED;
    members();
    numbers();
    words();
    CHECK(barrier_keeps(&seen) == 3);
    return done("compiler");
}
