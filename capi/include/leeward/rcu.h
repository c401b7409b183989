/*
 * Userspace RCU: readers walk shared data without locks, fences or atomic
 * read-modify-writes; a writer publishes a new version, waits until every reader
 * that may hold the old one has left, and frees it.
 *
 *     struct config { struct lee_head head; int port; };
 *     static struct config *current;
 *
 *     // A reader.
 *     lee_memb_read_lock();
 *     int port = lee_dereference(current)->port;
 *     lee_memb_read_unlock();
 *
 *     // A writer, which holds the lock of all writers.
 *     struct config *old = current;
 *     lee_publish(current, new);
 *     lee_memb_synchronize();         // or: lee_memb_defer(&old->head, free_config);
 *     free(old);
 *
 * A domain is a set of readers and writers: a grace period waits for the readers
 * of its own domain only. Four exist, and programs define more:
 *
 *     domain     its readers                                        liburcu's
 *     lee_memb   execute no fence                                   memb
 *     lee_bp     execute no fence                                   bp
 *     lee_mb     execute full fences; writers make no system call   mb
 *     lee_qsbr   announce now and then that they hold nothing       qsbr
 *
 *     LEE_DOMAIN(routes);             // in one source: execute no fence
 *     LEE_DOMAIN_FULL(rules);         // execute full fences
 *     LEE_DOMAIN_QSBR(jobs);          // announce quiescent states
 *     LEE_DECLARE_DOMAIN(routes);     // in a header that others include;
 *                                     // also _FULL and _QSBR
 *
 * Each of them declares the functions below with the domain's name in front:
 * lee_memb_read_lock(), routes_read_lock(). Code that is given a domain as a value
 * calls lee_domain_read_lock(domain) and so on, which are not inlined.
 *
 * A domain lives as long as the process: a library that defines one is linked with
 * -z nodelete, or never unloaded.
 *
 * No function changes errno. What is documented to return int returns 0, or
 * a positive number of <errno.h>; misuse writes a line to standard error, too.
 *
 * Link with -lleeward. lee_rcu(7) describes the memory model, signals and fork.
 */
#ifndef LEEWARD_RCU_H
#define LEEWARD_RCU_H

#include <stdbool.h>

#include "abi.h"

LEE_1_BEGIN

/*
 * The head of an object that is deferred: a member of the object, at any offset.
 * It needs no initialization. 16 bytes (on 64-bit systems).
 */
struct lee_head {
	struct lee_head *next;
	void (*func)(struct lee_head *head);
};

/* A grace period that was asked for: what lee_memb_start_poll returns. */
struct lee_cookie {
	uint64_t ticket;
};

/* A grace period that waits for long: what a function for stalls is told. */
struct lee_stall {
	uint32_t thread;          /* the reader's, as gettid() returns it; 0: unknown */
	uint32_t is_beyond_limit; /* 1: told by a caller beyond the domain's limit */
	uint64_t waited;          /* in nanoseconds */
};

/* What a domain has done so far, and what it holds. */
struct lee_stats {
	uint64_t grace_periods;    /* that have ended */
	uint64_t heavy_fences;     /* that were executed: calls of membarrier, mostly */
	uint64_t sleeps;           /* of writers, for a reader */
	uint64_t stalls;           /* that were reported */
	uint64_t readers;          /* that are registered */
	uint64_t callbacks_run;
	uint64_t callbacks_queued; /* and not run yet */
	uint64_t over_limit;       /* callers that went on beyond the limit */
	uint64_t lost;             /* callbacks that a child could not adopt */
	uint64_t reserved[7];      /* 0 */
};

/* What happens to a caller of lee_memb_defer when the limit is exceeded. */
enum lee_policy {
	LEE_WAIT = 0,         /* it waits for callbacks to run, for `time` at most */
	LEE_WAIT_FOREVER = 1, /* it waits for callbacks to run */
	LEE_EXPEDITE = 2      /* it runs callbacks itself, for `time` at most */
};

/* A bound on what is deferred and has not run. There is none by default. */
struct lee_limit {
	uint64_t callbacks;
	uint64_t time; /* in nanoseconds */
	uint32_t policy;
	uint32_t reserved; /* 0 */
};

/*
 * A reader's words. Programs neither read nor write them.
 *
 * epoch   0: outside; else the domain's epoch when the section began
 * extra   bits 0-62: sections within the first; bit 63: take the slow path
 * waited  1: a writer sleeps until the reader leaves
 * owner   0: no thread's (the slot of threads that are not registered)
 */
struct lee_1_slot {
	LEE_1_ALIGNED(128) uint64_t epoch;
	uint64_t extra;
	uint32_t waited;
	uint32_t thread;
	uint64_t owner;
	uint64_t rest[12];
};
LEE_1_ASSERT(sizeof(struct lee_1_slot) == 128, "the slot is a part of the binary interface");

/* The slot of every thread that is not registered. */
extern struct lee_1_slot lee_1_unregistered;

#define LEE_1_DOMAIN_SIZE 6144

/* A domain. Programs use its address only. */
struct lee_domain {
	/* Readers copy it; alone on its lines. */
	LEE_1_ALIGNED(128) uint64_t lee_1_epoch;
	uint64_t lee_1_gap[15];
	/* Finds the calling thread's variable, which holds its slot's address. */
	struct lee_1_slot **(*lee_1_place)(void);
	/* LEE_1_ASYMMETRIC, LEE_1_FULL or LEE_1_QSBR */
	uint32_t lee_1_readers;
	uint32_t lee_1_version;
	unsigned char lee_1_rest[LEE_1_DOMAIN_SIZE - 152];
	/* What reports call it. */
	LEE_1_ALIGNED(8) const char *lee_1_name;
};
LEE_1_ASSERT(sizeof(struct lee_domain) == LEE_1_DOMAIN_SIZE, "the domain is a part of the binary interface");

#define LEE_1_ASYMMETRIC 0
#define LEE_1_FULL 1
#define LEE_1_QSBR 2

/*
 * The functions for code that is given a domain as a value; each says what its
 * namesake of a domain does. Not inlined. For a domain that is NULL, and for the NULL
 * of a pointer that is not said to be optional, the process ends with a line.
 */

/*
 * Registers the calling thread. A thread that reads without having registered is
 * registered by its first section, so that this is only needed where that must not
 * fail; except for QSBR's readers, who are online from this call on.
 *
 * Returns 0, or ENOMEM. The first 16 readers of a domain need no memory, and more
 * take theirs from the kernel: no allocator is called. Async-signal-safe. A thread
 * that exits is unregistered.
 */
int lee_domain_register(struct lee_domain *domain);

/*
 * Unregisters the calling thread, if it is registered. Sections that are open end.
 */
void lee_domain_unregister(struct lee_domain *domain);

/*
 * Opens a section: nothing that is reached by lee_dereference in it is freed until
 * it is closed, if writers wait for grace periods of this domain. Sections nest. In
 * a domain of QSBR it does nothing.
 *
 * Wait-free, but for a thread's first. Async-signal-safe in handlers that close
 * what they open. Without memory for the first section of a thread the process
 * ends; lee_domain_register returns that error beforehand.
 *
 * Memory ordering: a grace period waits for every section that began before it. All
 * others see what the writer stored before it asked for that grace period.
 */
void lee_domain_read_lock(struct lee_domain *domain);

/*
 * Closes a section. When the outermost one closes and a writer sleeps for it, makes
 * a system call that wakes the writer, and yields the processor once.
 */
void lee_domain_read_unlock(struct lee_domain *domain);

/* Returns true inside a section; in a domain of QSBR, while the thread is online. */
bool lee_domain_is_inside(struct lee_domain *domain);

/*
 * QSBR: announces that the calling thread holds nothing that it reached in the
 * domain. Nothing is stored unless a grace period has begun since the last call.
 * Does nothing in a thread that is not online.
 */
void lee_domain_quiescent(struct lee_domain *domain);

/*
 * QSBR: takes the calling thread out of what grace periods wait for, until
 * lee_domain_online. It must not reach anything of the domain meanwhile.
 */
void lee_domain_offline(struct lee_domain *domain);

/* QSBR: ends lee_domain_offline. Registers the thread, if it is not registered. */
void lee_domain_online(struct lee_domain *domain);

/*
 * Waits until every section that was open when the call began has ended. A thread
 * that is online (QSBR) is offline meanwhile. A full fence before and after.
 *
 * Returns 0; or, at once: EDEADLK inside a section of the domain, where the call
 * would wait for itself; ENOSYS where no heavy fence is possible (lee_heavy).
 * Not async-signal-safe.
 */
int lee_domain_synchronize(struct lee_domain *domain);

/*
 * Asks for a grace period without waiting for it. The calling thread need not be
 * registered.
 */
struct lee_cookie lee_domain_start_poll(struct lee_domain *domain);

/*
 * Returns true if a grace period has passed since the cookie was made, from then on
 * always. Never waits for a reader.
 */
bool lee_domain_poll(struct lee_domain *domain, struct lee_cookie cookie);

/*
 * Calls func(head) once, after a grace period, on the domain's worker thread; in
 * the order of the calls. The worker blocks the signals that are not synchronous,
 * but for SIGURG and the real-time ones; it is not inside a section, and online
 * (QSBR).
 *
 * The head is the library's from the call until func begins, which may free or
 * reuse it. Never fails and never waits, unless a limit was set; may be called in
 * sections, in callbacks, and under any lock. Cost: two atomic operations, and a
 * system call if the worker sleeps; the first call starts the worker. (Of callbacks
 * that follow one another closely it is not woken: they run up to 1 ms later.) Not
 * async-signal-safe.
 *
 * The process ends with a line if head or func is NULL, if head is at an odd address,
 * or if func throws or ends its thread; and if a head is deferred again before func
 * began with it: in that call, or when the head's turn comes.
 */
void lee_domain_defer(struct lee_domain *domain, struct lee_head *head, void (*func)(struct lee_head *head));

/*
 * Waits until every callback that was deferred before the call, by any thread, has
 * returned. A thread that is online (QSBR) is offline meanwhile.
 *
 * Returns 0; or, at once: EDEADLK inside a section or a callback of the domain;
 * ENOSYS where no heavy fence is possible and something is queued.
 */
int lee_domain_barrier(struct lee_domain *domain);

/* Stores what the domain has done so far. */
void lee_domain_stats(struct lee_domain *domain, struct lee_stats *stats);

/*
 * Sets after how many nanoseconds a grace period reports the reader that it waits
 * for, and again after each further such time, and the function that is told; NULL:
 * a line on standard error. 0 reports nothing. The default is 10 seconds and NULL.
 *
 * The function runs on the thread that waits, inside the grace period: it must not
 * wait for one, nor defer. The process ends with a line if it throws or ends its thread.
 */
void lee_domain_set_stall_limit(struct lee_domain *domain, uint64_t after, void (*tell)(const struct lee_stall *stall));

/*
 * Bounds what is deferred and has not run; NULL: no bound, which is the default.
 * Returns 0, or EINVAL for an unknown policy.
 */
int lee_domain_set_limit(struct lee_domain *domain, const struct lee_limit *limit);

/*
 * Sets whether the child of a fork runs the callbacks that it inherits, which is
 * the default; the parent runs its own in any case. fork() waits for a callback
 * that runs at that moment, for 100 ms at most.
 */
void lee_domain_set_child_adopts(struct lee_domain *domain, bool adopts);

/*
 * Called when a definition of a domain is loaded, with its kind of readers. Ends the process where
 * the domain that the name stands for is of another kind.
 */
void lee_1_defined(struct lee_domain *domain, uint32_t readers) LEE_1_COLD;
/* What the inline functions call where they do not suffice. */
void lee_1_read_lock(struct lee_domain *domain) LEE_1_COLD;
void lee_1_read_unlock(struct lee_domain *domain) LEE_1_COLD;
void lee_1_quiescent(struct lee_domain *domain) LEE_1_COLD;
void lee_1_wake(struct lee_1_slot *slot) LEE_1_COLD;

LEE_1_END

/* What programs are told that are built with the thread sanitizer. */
#include "tsan.h"

LEE_1_BEGIN

/*
 * Every processor orders a load after the one that its address came from, and the
 * compilers keep that. Thread sanitizers see the order with an acquire only.
 */
#ifdef LEE_1_TSAN
#define LEE_1_CONSUME __ATOMIC_ACQUIRE
#else
#define LEE_1_CONSUME __ATOMIC_RELAXED
#endif

/*
 * Loads a pointer that writers publish, for use inside a section. The argument is
 * an lvalue and evaluated once; what is read through the result comes after the
 * load.
 */
#define lee_dereference(p) __atomic_load_n(&(p), LEE_1_CONSUME)

/*
 * Publishes a pointer: what was stored before is visible to readers that load it.
 */
#define lee_publish(p, value) __atomic_store_n(&(p), (value), __ATOMIC_RELEASE)

/* Publishes a pointer, and returns the one that was there. */
#define lee_exchange(p, value) __atomic_exchange_n(&(p), (value), __ATOMIC_ACQ_REL)

/*
 * Pair A and C of docs/orderings.md, the reader's halves: the compiler keeps the
 * order that the writer's heavy fence makes the processor keep; in a domain with
 * full fences the processor does.
 */
LEE_1_INLINE void lee_1_light(int readers)
{
	if (readers == LEE_1_ASYMMETRIC)
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	else
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/*
 * Stores a slot's epoch, with release, and executes the light fence.
 *
 * Entering (a nonzero epoch) is the reader's half of pair A: the writer unlinks, executes a heavy
 * fence, and then loads the epochs.
 * - If the heavy fence comes before the store, the loads in the section find what was published.
 * - If it comes after the store, the writer finds the reader inside, and waits for it.
 *
 * Leaving (0) is the reader's half of pair C, with the load of `waited` that follows: a writer about
 * to sleep stores `waited`, executes a heavy fence, and then loads the epoch once more.
 * - If the heavy fence comes before the store, the reader finds `waited`, and wakes the writer.
 * - If it comes after the store, the writer finds the reader gone, and does not sleep.
 *
 * Without the light fence the compiler may exchange the store and the load after it; then both can
 * miss the other's.
 */
LEE_1_INLINE void lee_1_announce(struct lee_1_slot *slot, uint64_t epoch, int readers)
{
#if defined(__x86_64__)
	if (readers != LEE_1_ASYMMETRIC) {
		/* An exchange is a full fence, and cheaper than a store and a fence. */
		__atomic_exchange_n(&slot->epoch, epoch, __ATOMIC_SEQ_CST);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		return;
	}
#endif
	__atomic_store_n(&slot->epoch, epoch, __ATOMIC_RELEASE);
	lee_1_light(readers);
}

LEE_1_INLINE void lee_1_enter(struct lee_domain *domain, struct lee_1_slot *slot, int readers)
{
	if (LEE_1_LIKELY(__atomic_load_n(&slot->epoch, __ATOMIC_RELAXED) == 0)) {
		lee_1_announce(slot, __atomic_load_n(&domain->lee_1_epoch, __ATOMIC_RELAXED), readers);
	} else {
		uint64_t extra = __atomic_load_n(&slot->extra, __ATOMIC_RELAXED);

		/* Bit 63: not registered, or a thread that exits. */
		if (LEE_1_LIKELY((int64_t)extra >= 0))
			__atomic_store_n(&slot->extra, extra + 1, __ATOMIC_RELAXED);
		else
			lee_1_read_lock(domain);
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

LEE_1_INLINE void lee_1_leave(struct lee_domain *domain, struct lee_1_slot *slot, int readers)
{
	uint64_t extra = __atomic_load_n(&slot->extra, __ATOMIC_RELAXED);

	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (LEE_1_LIKELY(extra == 0)) {
		lee_1_announce(slot, 0, readers);
		if (LEE_1_UNLIKELY(__atomic_load_n(&slot->waited, __ATOMIC_RELAXED) != 0))
			lee_1_wake(slot);
	} else if (LEE_1_LIKELY((int64_t)extra > 0)) {
		__atomic_store_n(&slot->extra, extra - 1, __ATOMIC_RELAXED);
	} else {
		lee_1_read_unlock(domain);
	}
}

LEE_1_INLINE bool lee_1_is_inside(struct lee_1_slot *slot)
{
	return __atomic_load_n(&slot->epoch, __ATOMIC_RELAXED) != 0 &&
	       __atomic_load_n(&slot->owner, __ATOMIC_RELAXED) != 0;
}

/* Announces a quiescent state, if a grace period has begun since the last one. */
LEE_1_INLINE void lee_1_quiesce(struct lee_domain *domain, struct lee_1_slot *slot)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (LEE_1_UNLIKELY(__atomic_load_n(&domain->lee_1_epoch, __ATOMIC_RELAXED) !=
			   __atomic_load_n(&slot->epoch, __ATOMIC_RELAXED)))
		lee_1_quiescent(domain);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* The functions that are the same in every domain. */
#define LEE_1_FUNCTIONS(name) \
	LEE_1_INLINE int name##_register(void) { return lee_domain_register(&name); } \
	LEE_1_INLINE void name##_unregister(void) { lee_domain_unregister(&name); } \
	LEE_1_INLINE int name##_synchronize(void) { return lee_domain_synchronize(&name); } \
	LEE_1_INLINE struct lee_cookie name##_start_poll(void) { return lee_domain_start_poll(&name); } \
	LEE_1_INLINE bool name##_poll(struct lee_cookie cookie) { return lee_domain_poll(&name, cookie); } \
	LEE_1_INLINE void name##_defer(struct lee_head *head, void (*func)(struct lee_head *)) \
	{ \
		lee_domain_defer(&name, head, func); \
	} \
	LEE_1_INLINE int name##_barrier(void) { return lee_domain_barrier(&name); } \
	LEE_1_INLINE void name##_stats(struct lee_stats *stats) { lee_domain_stats(&name, stats); } \
	LEE_1_INLINE void name##_set_stall_limit(uint64_t after, void (*tell)(const struct lee_stall *)) \
	{ \
		lee_domain_set_stall_limit(&name, after, tell); \
	} \
	LEE_1_INLINE int name##_set_limit(const struct lee_limit *limit) { return lee_domain_set_limit(&name, limit); } \
	LEE_1_INLINE void name##_set_child_adopts(bool adopts) { lee_domain_set_child_adopts(&name, adopts); }

#ifndef LEE_1_TSAN
/* The functions of a domain whose readers open sections. */
#define LEE_1_SECTIONS(name, slot, readers) \
	LEE_1_INLINE void name##_read_lock(void) { lee_1_enter(&name, slot, readers); } \
	LEE_1_INLINE void name##_read_unlock(void) { lee_1_leave(&name, slot, readers); } \
	LEE_1_INLINE bool name##_is_inside(void) { return lee_1_is_inside(slot); } \
	LEE_1_FUNCTIONS(name)

/* The functions of a domain of QSBR. Sections cost nothing, and promise nothing. */
#define LEE_1_QUIESCENT_STATES(name, slot) \
	LEE_1_INLINE void name##_read_lock(void) { __atomic_signal_fence(__ATOMIC_SEQ_CST); } \
	LEE_1_INLINE void name##_read_unlock(void) { __atomic_signal_fence(__ATOMIC_SEQ_CST); } \
	LEE_1_INLINE bool name##_is_inside(void) { return lee_1_is_inside(slot); } \
	LEE_1_INLINE void name##_quiescent(void) { lee_1_quiesce(&name, slot); } \
	LEE_1_INLINE void name##_offline(void) { lee_domain_offline(&name); } \
	LEE_1_INLINE void name##_online(void) { lee_domain_online(&name); } \
	LEE_1_FUNCTIONS(name)
#endif

/* The words of a program's own domain. */
#define LEE_1_DECLARE(name) \
	extern struct lee_domain name; \
	extern LEE_1_THREAD struct lee_1_slot *name##_1_slot
#define LEE_1_DEFINE(name, readers) \
	LEE_1_DECLARE(name); \
	LEE_1_THREAD struct lee_1_slot *name##_1_slot = &lee_1_unregistered; \
	static struct lee_1_slot **name##_1_place(void) { return &name##_1_slot; } \
	__attribute__((__constructor__)) static void name##_1_loaded(void) { lee_1_defined(&name, readers); } \
	struct lee_domain name = {1, {0}, name##_1_place, readers, 1, {0}, #name}
/* Keeps the name within the program or shared library: another one's is another domain. */
#define LEE_1_HIDE(name) \
	extern __attribute__((__visibility__("hidden"))) struct lee_domain name; \
	extern __attribute__((__visibility__("hidden"))) LEE_1_THREAD struct lee_1_slot *name##_1_slot

#define LEE_DECLARE_DOMAIN(name) \
	LEE_1_DECLARE(name); LEE_1_SECTIONS(name, name##_1_slot, LEE_1_ASYMMETRIC) LEE_1_SEMICOLON
#define LEE_DECLARE_DOMAIN_FULL(name) \
	LEE_1_DECLARE(name); LEE_1_SECTIONS(name, name##_1_slot, LEE_1_FULL) LEE_1_SEMICOLON
#define LEE_DECLARE_DOMAIN_QSBR(name) \
	LEE_1_DECLARE(name); LEE_1_QUIESCENT_STATES(name, name##_1_slot) LEE_1_SEMICOLON
/*
 * Defines a domain; in one source. LEE_DECLARE_DOMAIN may stand before it. The name is a global
 * symbol: of all programs and shared libraries of a process that define it so, one has it. The
 * process ends at once if two such definitions are of different kinds.
 */
#define LEE_DEFINE_DOMAIN(name) LEE_1_DEFINE(name, LEE_1_ASYMMETRIC)
#define LEE_DEFINE_DOMAIN_FULL(name) LEE_1_DEFINE(name, LEE_1_FULL)
#define LEE_DEFINE_DOMAIN_QSBR(name) LEE_1_DEFINE(name, LEE_1_QSBR)
/*
 * Declares and defines a domain that one source uses, and others of the same program or shared
 * library may declare. No other program or library sees it, also where one has the same name.
 */
#define LEE_DOMAIN(name) LEE_1_HIDE(name); LEE_DEFINE_DOMAIN(name); LEE_DECLARE_DOMAIN(name)
#define LEE_DOMAIN_FULL(name) LEE_1_HIDE(name); LEE_DEFINE_DOMAIN_FULL(name); LEE_DECLARE_DOMAIN_FULL(name)
#define LEE_DOMAIN_QSBR(name) LEE_1_HIDE(name); LEE_DEFINE_DOMAIN_QSBR(name); LEE_DECLARE_DOMAIN_QSBR(name)
/* Absorbs the `;` that is written after a macro whose expansion ends in a function body. */
#define LEE_1_SEMICOLON struct lee_1_slot

extern struct lee_domain lee_memb;
extern struct lee_domain lee_bp;
extern struct lee_domain lee_mb;
extern struct lee_domain lee_qsbr;
extern LEE_1_THREAD struct lee_1_slot *lee_1_memb_slot;
extern LEE_1_THREAD struct lee_1_slot *lee_1_bp_slot;
extern LEE_1_THREAD struct lee_1_slot *lee_1_mb_slot;
extern LEE_1_THREAD struct lee_1_slot *lee_1_qsbr_slot;

LEE_1_SECTIONS(lee_memb, lee_1_memb_slot, LEE_1_ASYMMETRIC)
LEE_1_SECTIONS(lee_bp, lee_1_bp_slot, LEE_1_ASYMMETRIC)
LEE_1_SECTIONS(lee_mb, lee_1_mb_slot, LEE_1_FULL)
LEE_1_QUIESCENT_STATES(lee_qsbr, lee_1_qsbr_slot)

LEE_1_END

#endif
