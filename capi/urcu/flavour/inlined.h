/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The words that sections access which were inlined from liburcu's headers, 0.13 to 0.15, and what
 * registers a thread as such a reader. Programs that were compiled with those headers find the words
 * by the names of liburcu's; those that are compiled with the headers of ours do not use them.
 *
 *     symbol              size   what it is
 *     gp                  128    copied by readers that enter, and the futex that they wake
 *     reader              256    thread-local: the count of the thread's open sections
 *                           8    bp: a pointer to it, null until the thread is registered
 *     has_sys_membarrier    4    1: readers execute no fence (memb, bp)
 *
 * An executable may have a copy of an object, which the loader makes from ours: so their first values
 * are constants, and all access goes by the global offset table. leeward's rcu/section/inlined.rs says what
 * inlined code does with the words, and waits for it.
 *
 * In qsbr a count is a copy of gp's word while the thread is online, and 0 while it is offline. Programs
 * that are compiled with the headers of ours are online by the slots instead: the functions that register
 * their threads have other symbols. A quiescent state of theirs, and being offline, counts for both.
 *
 * Sections of another processor are not served, where liburcu's words differ: such programs miss the
 * names, and do not start.
 */
#ifndef LEEWARD_URCU_FLAVOUR_INLINED_H
#define LEEWARD_URCU_FLAVOUR_INLINED_H

#include "base.h"
#include "sleep.h"

#ifdef SERVES_INLINED

/* How inlined readers are served: Served in leeward's rcu/section/inlined.rs. */
struct lee_1_inlined {
    void *common;
    void *(*reader)(void);
    uint32_t wakes; /* 0: by the futex; 1: nobody, and the thread has a pointer; 2: nobody, qsbr */
};

/* Of libleeward, for this library alone. */
void lee_1_inlined_serve(struct lee_domain *domain, const struct lee_1_inlined *served);
/*
 * Registers the calling thread, as an inlined reader, too. Returns 0 or ENOMEM. `is_watched` is false
 * if the thread is to call lee_1_inlined_leave() before it is gone: its exit has run.
 */
int lee_1_inlined_register(struct lee_domain *domain, bool *is_watched);
void lee_1_inlined_leave(struct lee_domain *domain);

#define GP LEE_1_URCU_NAME(gp)
#define READER LEE_1_URCU_NAME(reader)

struct lee_1_urcu_gp {
    LINE uint64_t copied; /* 1 in the lower half, the era in the upper */
    uint32_t futex;       /* ASLEEP_THERE: the leader of a grace period sleeps */
};
urcu_static_assert(sizeof(struct lee_1_urcu_gp) == 128, "gp", gp_size);
#define ASLEEP_THERE UINT32_MAX

EXPORT struct lee_1_urcu_gp GP = {(uint64_t)1 << 32 | 1, 0};

#ifdef LEE_1_URCU_IS_BP
EXPORT __thread uint64_t *READER;
#else
struct lee_1_urcu_reader {
    LINE uint64_t count;
    LINE unsigned char rest[128];
};
urcu_static_assert(sizeof(struct lee_1_urcu_reader) == 256, "reader", reader_size);
EXPORT __thread struct lee_1_urcu_reader READER;
#endif

#if defined(LEE_1_URCU_memb) || defined(LEE_1_URCU_bp)
/* Readers need no fence: a grace period of this library reaches them, or is refused. */
EXPORT int LEE_1_URCU_NAME(has_sys_membarrier) = 1;
#endif

/* Returns the calling thread's reader. */
static void *find_reader(void)
{
    return &READER;
}

/* Returns the calling thread's count; NULL: it has none. */
static inline uint64_t *own_count(void)
{
#ifdef LEE_1_URCU_IS_BP
    return READER;
#else
    return &READER.count;
#endif
}

/*
 * Returns true if the calling thread is registered as an inlined reader: its slot has the address of its
 * count (Slot in leeward's rcu/section/slot.rs). May return false of one that is, on a thread that exits.
 */
static inline bool is_reader(void)
{
#ifdef LEE_1_URCU_IS_BP
    return READER != NULL;
#else
    return LEE_1_URCU_SLOT->rest[6] == (uintptr_t)&READER.count;
#endif
}

static const struct lee_1_inlined served = {
    &GP,
    find_reader,
#if defined(LEE_1_URCU_IS_BP)
    1,
#elif defined(LEE_1_URCU_IS_QSBR)
    2,
#else
    0,
#endif
};

/* Before constructors that may have sections. What registers a thread does it, too. */
__attribute__((__constructor__(101))) static void serve_inlined(void)
{
    lee_1_inlined_serve(DOMAIN, &served);
}

/*
 * The end of threads that registered after libleeward's exit for them had run, in a destructor that
 * came later: another round of destructors, as long as the C library has one.
 */
static pthread_key_t late_exit;

static void leave_late(void *unused)
{
    (void)unused;
    lee_1_inlined_leave(DOMAIN);
}

static void make_late_exit(void)
{
    /* A failure leaves a number that no key has. */
    if (pthread_key_create(&late_exit, leave_late) != 0)
        late_exit = (pthread_key_t)-1;
}

COLD static void watch_late(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_late_exit);
    pthread_setspecific(late_exit, &late_exit);
}

/* Registers the calling thread, as a reader of both kinds. Returns 0 or ENOMEM. */
static inline int register_reader(void)
{
    bool is_watched = true;
    int error = errno, result;

    serve_inlined();
    result = lee_1_inlined_register(DOMAIN, &is_watched);
    if (!is_watched)
        watch_late();
    errno = error;
    return result;
}

/* Ends that the calling thread is a reader, of both kinds. */
static inline void unregister_reader(void)
{
    lee_1_inlined_leave(DOMAIN);
    LEE_1_URCU_DOMAIN(unregister)();
}

#ifdef LEE_1_URCU_IS_BP
/* Called by inlined code that finds no pointer. */
EXPORT void LEE_1_URCU_NAME(register)(void)
{
    if (register_reader() != 0)
        give_up("there is no memory for a reader of " NAME(register));
}
#endif

#ifdef LEE_1_URCU_IS_QSBR
/* Returns true if the calling thread is online by inlined code. */
static inline bool is_online_inlined(void)
{
    /* Relaxed: the thread's own word. */
    return (uint32_t)__atomic_load_n(&READER.count, __ATOMIC_RELAXED) != 0;
}

/* Announces that the calling thread, which is registered, is online, and holds nothing. */
static inline void go_online_inlined(void)
{
    /* Release: what was read before is over. SeqCst: leeward's pair A, with full fences. */
    __atomic_store_n(&READER.count, __atomic_load_n(&GP.copied, __ATOMIC_RELAXED), __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* The functions of programs that call liburcu's, and may have others inlined. */
#define BY_CALL(type, name) EXPORT type by_call_##name(void)
void by_call_register_thread(void) __asm__("urcu_qsbr_register_thread");
void by_call_unregister_thread(void) __asm__("urcu_qsbr_unregister_thread");
int by_call_read_ongoing(void) __asm__("urcu_qsbr_read_ongoing");
void by_call_read_lock(void) __asm__("urcu_qsbr_read_lock");
void by_call_read_unlock(void) __asm__("urcu_qsbr_read_unlock");
void by_call_quiescent_state(void) __asm__("urcu_qsbr_quiescent_state");
void by_call_thread_offline(void) __asm__("urcu_qsbr_thread_offline");
void by_call_thread_online(void) __asm__("urcu_qsbr_thread_online");

BY_CALL(void, thread_online)
{
    if (caa_unlikely(!is_reader()) && register_reader() != 0)
        give_up("there is no memory for a reader of " NAME(register_thread));
    if (!is_online_inlined())
        go_online_inlined();
}

BY_CALL(void, register_thread)
{
    by_call_thread_online();
}

BY_CALL(void, unregister_thread)
{
    unregister_reader();
}

BY_CALL(int, read_ongoing)
{
    return is_online_inlined() || rcu_read_ongoing();
}

BY_CALL(void, read_lock)
{
    rcu_read_lock();
}

BY_CALL(void, read_unlock)
{
    rcu_read_unlock();
}

BY_CALL(void, quiescent_state)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    /* Relaxed, both: a stale era only makes the next call announce. */
    if (is_online_inlined() &&
        __atomic_load_n(&READER.count, __ATOMIC_RELAXED) != __atomic_load_n(&GP.copied, __ATOMIC_RELAXED))
        go_online_inlined();
    rcu_quiescent_state();
}

BY_CALL(void, thread_offline)
{
    /* Of both kinds. */
    rcu_thread_offline();
}

#else

static inline bool is_online_inlined(void)
{
    return false;
}

static inline void go_online_inlined(void)
{
}

/* The barrier that inlined code executes beside a section: leeward's pairs A and C. */
static inline void reader_fence(void)
{
#ifdef LEE_1_URCU_mb
    lee_1_light(LEE_1_FULL);
#else
    lee_1_light(LEE_1_ASYMMETRIC);
#endif
}

/* Wakes the leader of a grace period, if it sleeps. */
static inline void wake_leader(void)
{
#ifndef LEE_1_URCU_IS_BP
    int error = errno;

    /* Relaxed, both: pair C orders the load, and the wake is a system call. */
    if (caa_likely(__atomic_load_n(&GP.futex, __ATOMIC_RELAXED) != ASLEEP_THERE))
        return;
    __atomic_store_n(&GP.futex, 0, __ATOMIC_RELAXED);
    /* Without the private flag, as inlined code wakes. */
    syscall(LEE_1_URCU_NR_FUTEX, &GP.futex, FUTEX_WAKE, 1, NULL, NULL, 0);
    errno = error;
#endif
}

/*
 * Stores the calling thread's count: `depth` sections of the present era, or none.
 * Release, as every store of x86-64; inlined code and the leader of a grace period rely on it.
 */
static inline void begin_sections(uint64_t *count, uint32_t depth)
{
    /* Relaxed: an old era only makes a grace period wait needlessly. */
    uint64_t copied = __atomic_load_n(&GP.copied, __ATOMIC_RELAXED);

    __atomic_store_n(count, copied + (depth - 1), __ATOMIC_RELEASE);
    reader_fence();
}

static inline void end_sections(uint64_t *count, uint64_t before)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(count, before - (uint32_t)before, __ATOMIC_RELEASE);
    reader_fence();
    wake_leader();
}

COLD static void register_by_section(void)
{
    if (register_reader() != 0)
        give_up("there is no memory for a reader's slot; " NAME(register_thread) " was not called");
}

/*
 * The sections of programs that call them. They count as inlined ones, since a program may do both, and
 * ask by either if a section is open. A thread that has not registered is registered by its first.
 */
EXPORT void rcu_read_lock(void)
{
    uint64_t *count, own;

    if (caa_unlikely(!is_reader()))
        register_by_section();
    count = own_count();
    own = __atomic_load_n(count, __ATOMIC_RELAXED);
    if (caa_likely((uint32_t)own == 0))
        begin_sections(count, 1);
    else
        __atomic_store_n(count, own + 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

EXPORT void rcu_read_unlock(void)
{
    uint64_t *count = own_count();
    uint64_t own = count ? __atomic_load_n(count, __ATOMIC_RELAXED) : 0;

    if (caa_likely((uint32_t)own == 1))
        end_sections(count, own);
    else if ((uint32_t)own != 0)
        __atomic_store_n(count, own - 1, __ATOMIC_RELAXED);
    else
        /* Without a section of this kind: one of the header of ours, or none. */
        _rcu_read_unlock();
}

/* Sections of both kinds. */
EXPORT int rcu_read_ongoing(void)
{
    uint64_t *count = own_count();
    uint64_t own = count ? __atomic_load_n(count, __ATOMIC_RELAXED) : 0;

    return (int)((uint32_t)own & INT_MAX) + _rcu_read_ongoing();
}

/* Ends the inlined sections of the calling thread. Returns how many there were, for resume_inlined(). */
static inline uint32_t suspend_inlined(void)
{
    uint64_t *count = own_count();
    /* Relaxed: the thread's own word. */
    uint64_t before = count ? __atomic_load_n(count, __ATOMIC_RELAXED) : 0;

    if ((uint32_t)before != 0)
        end_sections(count, before);
    return (uint32_t)before;
}

/* Begins that many inlined sections, one within the other. */
static inline void resume_inlined(uint32_t depth)
{
    if (depth != 0)
        begin_sections(own_count(), depth);
}

#endif

#else

static inline int register_reader(void)
{
    return LEE_1_URCU_DOMAIN(register)();
}

static inline void unregister_reader(void)
{
    LEE_1_URCU_DOMAIN(unregister)();
}

static inline uint32_t suspend_inlined(void)
{
    return 0;
}

static inline void resume_inlined(uint32_t depth)
{
    (void)depth;
}

static inline bool is_online_inlined(void)
{
    return false;
}

static inline void go_online_inlined(void)
{
}

#ifdef LEE_1_URCU_IS_QSBR
/* The symbols by which programs for liburcu call these. */
EXPORT void by_call_register_thread(void) __asm__("urcu_qsbr_register_thread");
EXPORT void by_call_register_thread(void)
{
    rcu_register_thread();
}

EXPORT void by_call_unregister_thread(void) __asm__("urcu_qsbr_unregister_thread");
EXPORT void by_call_unregister_thread(void)
{
    rcu_unregister_thread();
}
#endif

#endif

#endif
