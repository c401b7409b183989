/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/arch.h, leeward's: which processor this is, its fences, its pause hint and its cycle
 * counter. Everything is inlined, safe in signal handlers, and leaves errno alone.
 */
#ifndef LEEWARD_COMPAT_URCU_ARCH_H
#define LEEWARD_COMPAT_URCU_ARCH_H

#include <stdint.h>
#include <time.h>

#include "compiler.h"

#if defined(__x86_64__)
#define URCU_ARCH_X86 1
#define URCU_ARCH_AMD64 1
#elif defined(__i386__)
#define URCU_ARCH_X86 1
#elif defined(__powerpc64__)
#define URCU_ARCH_PPC 1
#define URCU_ARCH_PPC64 1
#elif defined(__powerpc__)
#define URCU_ARCH_PPC 1
#elif defined(__aarch64__)
#define URCU_ARCH_AARCH64 1
#elif defined(__arm__)
#define URCU_ARCH_ARM 1
#if __ARM_ARCH >= 7
#define URCU_ARCH_ARMV7 1
#endif
#elif defined(__s390x__)
#define URCU_ARCH_S390 1
#define URCU_ARCH_S390X 1
#elif defined(__s390__)
#define URCU_ARCH_S390 1
#elif defined(__riscv)
#define URCU_ARCH_RISCV 1
#elif defined(__loongarch__)
#define URCU_ARCH_LOONGARCH 1
#elif defined(__mips__)
#define URCU_ARCH_MIPS 1
#elif defined(__sparc__) && defined(__arch64__)
#define URCU_ARCH_SPARC64 1
#elif defined(__alpha__)
#define URCU_ARCH_ALPHA 1
#elif defined(__ia64__)
#define URCU_ARCH_IA64 1
#elif defined(__hppa__)
#define URCU_ARCH_HPPA 1
#elif defined(__m68k__)
#define URCU_ARCH_M68K 1
#elif defined(__nios2__)
#define URCU_ARCH_NIOS2 1
#endif

/*
 * The distance that keeps two variables from sharing a cache line, or a pair that is fetched at
 * once.
 */
#if defined(URCU_ARCH_X86) || defined(URCU_ARCH_S390)
#define CAA_CACHE_LINE_SIZE 128
#elif defined(URCU_ARCH_PPC) || defined(URCU_ARCH_SPARC64)
#define CAA_CACHE_LINE_SIZE 256
#else
#define CAA_CACHE_LINE_SIZE 64
#endif

/* 1 where an atomic read-modify-write is a full fence by itself, so that none has to follow it. */
#if defined(URCU_ARCH_X86) || defined(URCU_ARCH_S390)
#define LEE_1_URCU_RMW_IS_FENCE 1
#else
#define LEE_1_URCU_RMW_IS_FENCE 0
#endif

#define LEE_1_URCU_ASM(instruction) __asm__ __volatile__(instruction : : : "memory")

/*
 * The instructions, by processor: full, read and write fence with devices (mb, rmb, wmb), the same
 * between processors only (smp_...), and the hint of a spinning loop (relax). Assembly where it is
 * known, because the compiler's own fence is not always the cheapest, and is refused beside
 * ThreadSanitizer.
 */
#if defined(URCU_ARCH_X86)
#if defined(__x86_64__)
#define LEE_1_URCU_SMP_MB() __asm__ __volatile__("lock; orl $0, (%%rsp)" : : : "memory", "cc")
#else
#define LEE_1_URCU_SMP_MB() __asm__ __volatile__("lock; orl $0, (%%esp)" : : : "memory", "cc")
#endif
#if defined(__SSE2__)
#define LEE_1_URCU_MB() LEE_1_URCU_ASM("mfence")
#define LEE_1_URCU_RMB() LEE_1_URCU_ASM("lfence")
#define LEE_1_URCU_WMB() LEE_1_URCU_ASM("sfence")
#else
#define LEE_1_URCU_MB() LEE_1_URCU_SMP_MB()
#define LEE_1_URCU_RMB() LEE_1_URCU_SMP_MB()
#define LEE_1_URCU_WMB() LEE_1_URCU_SMP_MB()
#endif
/* Loads are not reordered with loads, nor stores with stores. */
#define LEE_1_URCU_SMP_RMB() LEE_1_URCU_ASM("")
#define LEE_1_URCU_SMP_WMB() LEE_1_URCU_ASM("")
#define LEE_1_URCU_RELAX() LEE_1_URCU_ASM("pause")
#elif defined(URCU_ARCH_AARCH64)
#define LEE_1_URCU_MB() LEE_1_URCU_ASM("dsb sy")
#define LEE_1_URCU_RMB() LEE_1_URCU_ASM("dsb ld")
#define LEE_1_URCU_WMB() LEE_1_URCU_ASM("dsb st")
#define LEE_1_URCU_SMP_MB() LEE_1_URCU_ASM("dmb ish")
#define LEE_1_URCU_SMP_RMB() LEE_1_URCU_ASM("dmb ishld")
#define LEE_1_URCU_SMP_WMB() LEE_1_URCU_ASM("dmb ishst")
#define LEE_1_URCU_RELAX() LEE_1_URCU_ASM("yield")
#elif defined(URCU_ARCH_PPC)
#define LEE_1_URCU_MB() LEE_1_URCU_ASM("sync")
#define LEE_1_URCU_RMB() LEE_1_URCU_ASM("sync")
#define LEE_1_URCU_WMB() LEE_1_URCU_ASM("sync")
#define LEE_1_URCU_SMP_MB() LEE_1_URCU_ASM("sync")
#if defined(URCU_ARCH_PPC64)
#define LEE_1_URCU_SMP_RMB() LEE_1_URCU_ASM("lwsync")
#define LEE_1_URCU_SMP_WMB() LEE_1_URCU_ASM("lwsync")
#else
#define LEE_1_URCU_SMP_RMB() LEE_1_URCU_ASM("sync")
#define LEE_1_URCU_SMP_WMB() LEE_1_URCU_ASM("sync")
#endif
/* Low priority of the hardware thread, then medium again. */
#define LEE_1_URCU_RELAX() LEE_1_URCU_ASM("or 1,1,1; or 2,2,2")
#elif defined(URCU_ARCH_RISCV)
#define LEE_1_URCU_MB() LEE_1_URCU_ASM("fence iorw,iorw")
#define LEE_1_URCU_RMB() LEE_1_URCU_ASM("fence ir,ir")
#define LEE_1_URCU_WMB() LEE_1_URCU_ASM("fence ow,ow")
#define LEE_1_URCU_SMP_MB() LEE_1_URCU_ASM("fence rw,rw")
#define LEE_1_URCU_SMP_RMB() LEE_1_URCU_ASM("fence r,r")
#define LEE_1_URCU_SMP_WMB() LEE_1_URCU_ASM("fence w,w")
#define LEE_1_URCU_RELAX() LEE_1_URCU_ASM("")
#else
#define LEE_1_URCU_MB() __sync_synchronize()
#define LEE_1_URCU_RMB() __sync_synchronize()
#define LEE_1_URCU_WMB() __sync_synchronize()
#define LEE_1_URCU_SMP_MB() __sync_synchronize()
#define LEE_1_URCU_SMP_RMB() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define LEE_1_URCU_SMP_WMB() __atomic_thread_fence(__ATOMIC_RELEASE)
#define LEE_1_URCU_RELAX() LEE_1_URCU_ASM("")
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What caa_get_cycles() returns. */
typedef uint64_t caa_cycles_t;

#define LEE_1_URCU_FENCE(name, body)                                        \
    static inline __attribute__((__always_inline__)) void lee_1_urcu_##name(void) \
    {                                                                       \
        body;                                                               \
    }

LEE_1_URCU_FENCE(mb, LEE_1_URCU_MB())
LEE_1_URCU_FENCE(rmb, LEE_1_URCU_RMB())
LEE_1_URCU_FENCE(wmb, LEE_1_URCU_WMB())
LEE_1_URCU_FENCE(smp_mb, LEE_1_URCU_SMP_MB())
LEE_1_URCU_FENCE(smp_rmb, LEE_1_URCU_SMP_RMB())
LEE_1_URCU_FENCE(smp_wmb, LEE_1_URCU_SMP_WMB())
LEE_1_URCU_FENCE(relax, LEE_1_URCU_RELAX())

#if defined(URCU_ARCH_X86)
#define HAS_CAA_GET_CYCLES 1
/* Returns the time stamp counter. Successive calls are not ordered with what stands around them. */
static inline caa_cycles_t caa_get_cycles(void)
{
    uint32_t low, high;

    __asm__ __volatile__("rdtsc" : "=a"(low), "=d"(high));
    return (caa_cycles_t)high << 32 | low;
}
#elif defined(CLOCK_MONOTONIC)
#define HAS_CAA_GET_CYCLES 1
/* Returns the monotonic clock in nanoseconds. */
static inline caa_cycles_t caa_get_cycles(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (caa_cycles_t)now.tv_sec * 1000000000u + (caa_cycles_t)now.tv_nsec;
}
#endif

#ifdef __cplusplus
}
#endif

/* Full, read and write fence; device memory is included. */
#define cmm_mb() lee_1_urcu_mb()
#define cmm_rmb() lee_1_urcu_rmb()
#define cmm_wmb() lee_1_urcu_wmb()

/* Full, read and write fence between the program's threads. */
#define cmm_smp_mb() lee_1_urcu_smp_mb()
#define cmm_smp_rmb() lee_1_urcu_smp_rmb()
#define cmm_smp_wmb() lee_1_urcu_smp_wmb()

/* Orders a load with the loads through what it returned: only Alpha does not do so by itself. */
#if defined(URCU_ARCH_ALPHA)
#define cmm_read_barrier_depends() cmm_rmb()
#define cmm_smp_read_barrier_depends() cmm_smp_rmb()
#else
#define cmm_read_barrier_depends() ((void)0)
#define cmm_smp_read_barrier_depends() ((void)0)
#endif

/* Flushes for caches that are not coherent, which Linux runs on none of: compiler barriers. */
#define cmm_mc() cmm_barrier()
#define cmm_rmc() cmm_barrier()
#define cmm_wmc() cmm_barrier()
#define cmm_smp_mc() cmm_barrier()
#define cmm_smp_rmc() cmm_barrier()
#define cmm_smp_wmc() cmm_barrier()

/* Tells the processor that a loop spins here. Also a compiler barrier. */
#define caa_cpu_relax() lee_1_urcu_relax()

#endif
