/* urcu/arch.h and urcu/system.h. */
#include <string.h>
#include <urcu/arch.h>
#include <urcu/system.h>

#include "check.h"

struct large {
    char bytes[40];
};

struct lines {
    int first;
    char apart[CAA_CACHE_LINE_SIZE];
    int second;
};

static void shared(void)
{
    char c = 1;
    short s = 2;
    int i = 3;
    long l = 4;
    double d = 5.5;
    int *p = &i;
    const int constant = 8;
    volatile int v = 9;
    int array[2] = { 1, 2 };

    CHECK(CMM_LOAD_SHARED(c) == 1 && CMM_LOAD_SHARED(s) == 2 && CMM_LOAD_SHARED(i) == 3 && CMM_LOAD_SHARED(l) == 4);
    CHECK(CMM_LOAD_SHARED(d) > 5.4 && CMM_LOAD_SHARED(p) == &i && CMM_LOAD_SHARED(constant) == 8);
    CHECK(CMM_LOAD_SHARED(v) == 9 && CMM_LOAD_SHARED(array[CMM_LOAD_SHARED(array[0])]) == 2);
    CHECK(_CMM_LOAD_SHARED(i) == 3);
    CHECK(CMM_STORE_SHARED(c, 11) == 11 && CMM_STORE_SHARED(s, 12) == 12 && CMM_STORE_SHARED(i, 13) == 13);
    CHECK(_CMM_STORE_SHARED(l, 14) == 14 && CMM_STORE_SHARED(d, 1.5) < 1.6 && CMM_STORE_SHARED(p, NULL) == NULL);
    CHECK(c == 11 && s == 12 && i == 13 && l == 14 && p == NULL);
    CMM_STORE_SHARED(v, 15);
    CMM_STORE_SHARED(i, CMM_LOAD_SHARED(v));
    CHECK(i == 15);
}

/* A structure of any size: C only, since C++ has no copy of a volatile one. */
static void structures(void)
{
#ifndef __cplusplus
    struct large from, to;

    memset(&from, 7, sizeof(from));
    memset(&to, 0, sizeof(to));
    CMM_STORE_SHARED(to, CMM_LOAD_SHARED(from));
    CHECK(memcmp(&from, &to, sizeof(to)) == 0);
#endif
}

static void fences(void)
{
    cmm_mb();
    cmm_rmb();
    cmm_wmb();
    cmm_smp_mb();
    cmm_smp_rmb();
    cmm_smp_wmb();
    cmm_read_barrier_depends();
    cmm_smp_read_barrier_depends();
    cmm_mc();
    cmm_rmc();
    cmm_wmc();
    cmm_smp_mc();
    cmm_smp_rmc();
    cmm_smp_wmc();
    caa_cpu_relax();
}

static void cycles(void)
{
#ifdef HAS_CAA_GET_CYCLES
    caa_cycles_t first = caa_get_cycles(), later = first;
    int tries;

    CHECK(sizeof(caa_cycles_t) == 8);
    for (tries = 0; later == first && tries < 100000000; tries++)
        later = caa_get_cycles();
    CHECK(later != first);
#endif
}

static void processor(void)
{
    CHECK((CAA_CACHE_LINE_SIZE & (CAA_CACHE_LINE_SIZE - 1)) == 0);
    CHECK(offsetof(struct lines, second) - offsetof(struct lines, first) >= CAA_CACHE_LINE_SIZE);
#if defined(__x86_64__)
    CHECK(CAA_CACHE_LINE_SIZE == 128);
    CHECK(URCU_ARCH_X86 == 1 && URCU_ARCH_AMD64 == 1);
#elif defined(__aarch64__)
    CHECK(CAA_CACHE_LINE_SIZE == 64);
    CHECK(URCU_ARCH_AARCH64 == 1);
#elif defined(__powerpc64__)
    CHECK(CAA_CACHE_LINE_SIZE == 256);
    CHECK(URCU_ARCH_PPC == 1 && URCU_ARCH_PPC64 == 1);
#endif
}

int main(void)
{
    errno = UNTOUCHED;
    shared();
    structures();
    fences();
    cycles();
    processor();
    return done("arch");
}
