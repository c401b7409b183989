/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The flavour's header, and what all files of a flavour use: reports of misuse, and errno left
 * alone.
 */
#ifndef LEEWARD_URCU_FLAVOUR_BASE_H
#define LEEWARD_URCU_FLAVOUR_BASE_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((__visibility__("default")))
#define COLD __attribute__((__cold__, __noinline__))
#define LINE __attribute__((__aligned__(128)))
#if defined(__x86_64__) && defined(__LP64__)
#define SERVES_INLINED
#endif
#if defined(SERVES_INLINED) && defined(LEE_1_URCU_qsbr)
/* The header's functions serve this library; behind liburcu's names are others (inlined.h). */
#define LEE_1_URCU_READER __attribute__((__unused__)) static inline
static inline int urcu_qsbr_read_ongoing(void) __asm__("lee_1_own_read_ongoing");
static inline void urcu_qsbr_read_lock(void) __asm__("lee_1_own_read_lock");
static inline void urcu_qsbr_read_unlock(void) __asm__("lee_1_own_read_unlock");
static inline void urcu_qsbr_quiescent_state(void) __asm__("lee_1_own_quiescent_state");
static inline void urcu_qsbr_thread_offline(void) __asm__("lee_1_own_thread_offline");
static inline void urcu_qsbr_thread_online(void) __asm__("lee_1_own_thread_online");
#elif defined(SERVES_INLINED)
/* Programs for liburcu find functions that count as their inlined sections do (inlined.h). */
#define LEE_1_URCU_READER __attribute__((__unused__)) static inline
#define LEE_1_URCU_READER_NAME(name) lee_1_own_##name
#else
/* The readers' functions of the header are the library's. */
#define LEE_1_URCU_READER EXPORT
#define LEE_1_URCU_READER_NAME(name) name
#endif

#include LEE_1_URCU_HEADER
#include <urcu/futex.h>

/* The domain of <leeward/rcu.h>. */
#define DOMAIN_(flavour) lee_##flavour
#define DOMAIN_OF(flavour) DOMAIN_(flavour)
#define DOMAIN (&DOMAIN_OF(LEE_1_URCU_FLAVOUR))

#define TEXT_(name) #name
#define TEXT(name) TEXT_(name)
/* The name of a function as text, as programs know it: "urcu_memb_barrier". */
#define NAME(name) TEXT(LEE_1_URCU_NAME(name))

/* Programs have these compiled in. */
urcu_static_assert(sizeof(struct rcu_head) == sizeof(struct lee_head), "rcu_head is a lee_head", rcu_head_size);
urcu_static_assert(offsetof(struct rcu_head, func) == offsetof(struct lee_head, func), "rcu_head is a lee_head",
                   rcu_head_func);

/* Writes a line to standard error. */
COLD static void report(const char *what)
{
    char line[256] = "leeward: ";
    int error = errno;
    size_t length = strlen(line), room = sizeof(line) - length - 1;
    size_t more = strnlen(what, room);

    memcpy(line + length, what, more);
    line[length + more] = '\n';
    (void)!syscall(SYS_write, 2, line, length + more + 1);
    errno = error;
}

/* Ends the process, where the caller cannot be told and going on would free what readers use. */
COLD __attribute__((__noreturn__)) static void give_up(const char *what)
{
    report(what);
    abort();
}

/* True if the calling thread is registered, by a call or by a section. */
#define IS_REGISTERED (LEE_1_URCU_SLOT != &lee_1_unregistered)

/*
 * Returns how many guards of Rust the calling thread has open: ForC in leeward's rcu/section/for_c.rs. Nothing here
 * may end what they protect.
 */
static inline uint64_t guards_of_rust(void)
{
    return LEE_1_URCU_SLOT->rest[4];
}

#if defined(SERVES_INLINED) && !defined(LEE_1_URCU_IS_QSBR)
void rcu_read_lock(void);
void rcu_read_unlock(void);
int rcu_read_ongoing(void);
#endif
/* qsbr, in inlined.h. */
static inline bool is_online_inlined(void);
static inline void go_online_inlined(void);

/* Returns true in a section; never in qsbr, where a waiting thread goes offline. */
static inline bool is_in_section(void)
{
#ifdef LEE_1_URCU_IS_QSBR
    return false;
#else
    return rcu_read_ongoing() != 0;
#endif
}

/*
 * qsbr: takes the calling thread offline while it waits. Returns how it was online: 1: by our functions,
 * 2: by inlined ones.
 */
static inline int go_offline(void)
{
#ifdef LEE_1_URCU_IS_QSBR
    int was_online = (rcu_read_ongoing() ? 1 : 0) | (is_online_inlined() ? 2 : 0);

    if (was_online)
        rcu_thread_offline();
    return was_online;
#else
    return 0;
#endif
}

/* qsbr: takes the calling thread online again, as it was. */
static inline void come_back(int was_online)
{
    if (was_online & 1)
        rcu_thread_online();
    if (was_online & 2)
        go_online_inlined();
}

/* Queues a callback for the domain's worker, which is the default one. */
static inline void call_by_default(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
    LEE_1_URCU_DOMAIN(defer)((struct lee_head *)head, (void (*)(struct lee_head *))(void (*)(void))func);
}

#endif
