/*
 * Userspace RCU: readers walk shared data without locks, fences or atomic
 * read-modify-writes; a writer publishes a new version, waits until every reader that
 * may hold the old one has left, and frees it.
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
 * A domain is a set of readers and writers: a grace period waits for the readers of
 * its own domain only. Four exist, and programs define more with LEE_DOMAIN():
 *
 *     domain     its readers                                        liburcu's
 *     lee_memb   execute no fence                                   memb
 *     lee_bp     execute no fence                                   bp
 *     lee_mb     execute full fences; writers make no system call   mb
 *     lee_qsbr   announce now and then that they hold nothing       qsbr
 *
 * Each has the functions that are declared below for lee_domain_ under its own name:
 * lee_domain_register(domain) is lee_memb_register(), and so on. Those of a domain are
 * inlined where that pays; those that take the domain as a value are not. For a domain
 * that is NULL, and for the NULL of a pointer that is not said to be optional, the
 * process ends with a line. Misuse writes a line to standard error.
 *
 * Link with -lleeward. lee_rcu(7) describes what a section protects and what it may
 * do, signals, fork and exit; lee_memory_model(7) the order of accesses;
 * lee_domains(7) helps to choose a domain.
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
	LEE_EXPEDITE = 2      /* it runs a grace period and the callbacks itself, and waits for readers for `time` at most */
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
 * lee_memb_register(3): make a thread a reader of an RCU domain.
 *
 * Registers the calling thread with the domain: it takes a slot, in which the thread's
 * sections are announced. A thread that reads without having registered is registered
 * by its first section, so that the call is needed only where that must not fail. To
 * register twice is to register once.
 *
 * In the domain lee_qsbr the thread is online after the call, and must call
 * lee_qsbr_quiescent() or lee_qsbr_offline() from then on: readers of that domain do
 * register.
 *
 * ENOMEM: the domain has no free slot, and the kernel gave no memory for more. The
 * first 16 readers of a domain need none.
 *
 * Cost. The first registration of a thread takes some tens of nanoseconds. A thread
 * that unregisters keeps its slot, idle, until it exits, so that to register again
 * takes a few.
 *
 * Signals. Both functions are async-signal-safe: they call no allocator of the
 * program, and take no lock.
 *
 * Fork. In the child, the slots of the threads that are not there are free.
 *
 * Thread exit. Slots are given back when the thread runs its thread-specific
 * destructors. A destructor that runs later and reads takes a slot for that section
 * alone; lee_memb_register() returns 0 there and takes none.
 *
 * See also lee_memb_read_lock(3), lee_rcu(7).
 */
int lee_domain_register(struct lee_domain *domain);

/*
 * Ends the calling thread's registration, and sections that are open. It does nothing
 * in a thread that is not registered; a thread that exits is unregistered without it.
 */
void lee_domain_unregister(struct lee_domain *domain);

/*
 * lee_memb_read_lock(3): open and close a read section of RCU.
 *
 * Opens a read section: what the thread reaches by lee_dereference() inside the
 * section is not freed before it is closed, provided that writers wait for a grace
 * period of the same domain before they free it. Sections nest to any depth; the
 * outermost one counts. A thread that is not registered is registered by its first
 * section.
 *
 * In the domain lee_qsbr it does nothing, and lee_memb_read_unlock() neither: its
 * readers are protected from lee_qsbr_online() until their next quiescent state.
 *
 * Errors. A section cannot fail. If there is no memory for the slot of a thread that
 * reads for the first time, the process ends with a line on standard error.
 * lee_memb_register() returns that error instead, and a thread that has registered
 * needs no memory.
 *
 * Cost. In lee_memb and lee_bp a section is a few loads and two stores to a line of
 * the thread's own: no fence, no atomic read-modify-write, and no call. In lee_mb the
 * two stores are full fences as well. But for a thread's first, sections are
 * wait-free.
 *
 * Memory ordering. A grace period waits for every section that began before it. A
 * section that begins later sees what the writer stored before it asked for the grace
 * period. See lee_memory_model(7).
 *
 * Signals. The functions are async-signal-safe in handlers that close what they open.
 * A thread's first section may be a handler's: it calls no allocator of the program.
 *
 * Fork. In the child the sections of the forking thread go on. Those of other threads
 * are over there, and what they protected is not protected in the child.
 *
 * Cancellation and thread exit. No function is a cancellation point. A thread that
 * exits inside a section, as one that is cancelled there does, ends it: writers do not
 * wait for threads that are gone. (In a program with Rust parts, a guard of Rust that
 * was leaked there keeps the section open.)
 *
 * See also LEE_DOMAIN(3), lee_memb_defer(3), lee_memb_synchronize(3),
 * lee_qsbr_quiescent(3), lee_domains(7), lee_rcu(7).
 */
void lee_domain_read_lock(struct lee_domain *domain);

/*
 * Closes the section that was opened last. When the outermost one closes and a writer
 * sleeps for it, the call wakes the writer by a system call and yields the processor
 * once.
 */
void lee_domain_read_unlock(struct lee_domain *domain);

/* Returns true inside a section of the domain; in a domain of QSBR, while the thread is online. */
bool lee_domain_is_inside(struct lee_domain *domain);

/*
 * lee_qsbr_quiescent(3): announce that a reader holds nothing.
 *
 * Readers of the domain lee_qsbr, and of domains that are defined with
 * LEE_DOMAIN_QSBR(), open no sections. A thread that is online is always reading, and
 * says now and then that it holds nothing: that suits the threads of an event loop,
 * which hold nothing between two events. In a domain of another kind the functions do
 * nothing.
 *
 * Errors. If there is no memory for the slot of a thread that was not registered,
 * lee_qsbr_online() ends the process with a line on standard error;
 * lee_qsbr_register() returns that error instead.
 *
 * Cost. A quiescent state is two loads and a comparison, inline. The first one after a
 * grace period began is a call, and executes a full fence.
 *
 * Memory ordering. A quiescent state that is the first after a grace period began is a
 * full fence. A grace period waits until every thread that was online when it began
 * has been quiescent or offline.
 *
 * Signals. A handler interrupts a thread that may be anywhere between two quiescent
 * states: it may read what the domain protects only if the thread is online, and must
 * not call lee_qsbr_quiescent(), because the thread that it interrupted may hold
 * something.
 *
 * Waiting for grace periods. lee_qsbr_synchronize() and lee_qsbr_barrier() take a
 * thread that is online offline for their time, so that it does not wait for itself.
 * What the thread held before such a call may be freed during it.
 *
 * Fork. The child's thread is online if the forking thread was.
 *
 * Cancellation and thread exit. No function is a cancellation point. A thread that
 * exits goes offline.
 *
 * See also lee_domains(7), lee_rcu(7).
 */

/*
 * Announces that the calling thread holds nothing that it reached in the domain. It
 * stores nothing unless a grace period has begun since the last call, and does nothing
 * in a thread that is not online.
 */
void lee_domain_quiescent(struct lee_domain *domain);

/*
 * Takes the calling thread out of what grace periods wait for; it must not reach
 * anything of the domain until it calls lee_qsbr_online(). A thread that is about to
 * block for long goes offline, or writers wait for it.
 */
void lee_domain_offline(struct lee_domain *domain);

/*
 * Makes the calling thread a reader again. It registers a thread that is not
 * registered, and does nothing in one that is online.
 */
void lee_domain_online(struct lee_domain *domain);

/*
 * lee_memb_synchronize(3): wait for a grace period.
 *
 * Waits until every read section of the domain that was open when the call began has
 * ended, and every reader of QSBR that was online has been quiescent or offline. What
 * the caller unlinked before the call is then reachable by no reader, and may be
 * freed. Sections that begin during the call are not waited for.
 *
 * The calling thread need not be registered. A thread that is online in a domain of
 * QSBR is offline during the call. Several threads that call at the same time share
 * grace periods: two serve them all.
 *
 * After an error, which is returned at once, nothing may be freed.
 *
 * EDEADLK: the caller is inside a section of the domain, and would wait for itself. A
 * line on standard error says so.
 * ENOSYS: no heavy fence is possible: the kernel, or a sandbox, refuses membarrier(2)
 * and everything that could serve in its place (see lee_heavy()). This does not happen
 * in lee_mb and lee_qsbr, which need no such fence.
 *
 * Cost. In lee_memb and lee_bp the call makes one of membarrier(2) if there are
 * readers: microseconds, or more on virtual machines whose interrupts are slow. In
 * lee_mb and lee_qsbr it makes no system call, unless the writer sleeps for a reader.
 *
 * Memory ordering. The call is a full fence before and after. What the caller stored
 * before it is visible to all sections that it did not wait for, and what was done in
 * the sections that it waited for happens before its return. See lee_memory_model(7).
 *
 * Locks. A lock that is held during the call must not be waited for in a section of
 * the same domain: the section would wait for the caller, and the caller for the
 * section.
 *
 * Long readers. A grace period that waits for longer than the stall limit reports the
 * reader that it waits for; see lee_memb_set_stall_limit().
 *
 * Signals. The function is not async-signal-safe. A handler that runs during the call
 * does not end it.
 *
 * Fork. A grace period under way is forgotten in the child, where no reader of another
 * thread is left to wait for.
 *
 * See also lee_memb_defer(3), lee_memb_read_lock(3), lee_memb_start_poll(3),
 * lee_rcu(7).
 */
int lee_domain_synchronize(struct lee_domain *domain);

/*
 * lee_memb_start_poll(3): ask for a grace period without waiting for it.
 *
 * A cookie belongs to the domain that made it. It is 8 bytes, may be copied, and need
 * not be given back. Both functions may be called inside sections, and by threads that
 * are not registered. As long as a caller of lee_memb_poll() stays in a section that
 * was open when the cookie was made, the answer is false.
 *
 * Errors. Neither function fails. Where no heavy fence is possible (see lee_heavy())
 * the answer stays false.
 *
 * Memory ordering. After lee_memb_poll() has returned true, what was done in the
 * sections that the grace period waited for happens before what the caller does next.
 *
 * Signals. The functions are not async-signal-safe.
 *
 * Fork. A cookie that was made before a fork is good in both processes.
 *
 * See also lee_memb_defer(3), lee_memb_synchronize(3), lee_rcu(7).
 */

/*
 * Asks for a grace period, and returns a cookie for it at once. The domain's worker
 * thread runs it; the first call in a process starts that thread.
 */
struct lee_cookie lee_domain_start_poll(struct lee_domain *domain);

/*
 * Returns true if a grace period has passed since the cookie was made, and from then
 * on always. It never waits for a reader.
 */
bool lee_domain_poll(struct lee_domain *domain, struct lee_cookie cookie);

/*
 * lee_memb_defer(3): call a function after a grace period.
 *
 * Has func(head) called once, after a grace period, by the domain's worker thread.
 * Callbacks run in the order in which they were deferred. The struct lee_head is a
 * member of the object that is to be freed, at any offset. It needs no initialization,
 * and is the library's from the call until `func` begins, which may free the object or
 * defer the same head again.
 *
 * The call never fails, and never waits, unless lee_memb_set_limit() has set a limit.
 * It may be made inside sections, in callbacks and under any lock, and by threads that
 * are not registered.
 *
 * A head that is queued must not be deferred again before its function began:
 * callbacks would be lost, or called too early. The process ends with a line on
 * standard error that names the head, by the call itself if no other head was deferred
 * in between, else when the head's turn comes. (Not in programs that are built with a
 * thread sanitizer, where each call has a head of its own.) It ends so, too, if `head`
 * or `func` is NULL, or `head` at an odd address.
 *
 * Cost. The call executes two atomic operations, and a system call if the worker
 * sleeps. Of callbacks that follow one another within 300 microseconds it is not
 * woken: they run up to a millisecond later, in batches. Nothing is allocated.
 *
 * The worker. The first call starts the domain's worker, a thread that is named
 * `leeward-rcu` and has a stack of 2 MiB. It blocks all signals that are not caused by
 * its own instructions, apart from SIGURG and the real-time signals, by one of which a
 * heavy fence may reach it. It is not inside a section, and is online in a domain of
 * QSBR. If no thread can be started, a caller of lee_memb_barrier() runs the callbacks
 * itself.
 *
 * Callbacks may read, defer, and wait for grace periods. A callback that is slow
 * delays all later ones of its domain. A callback must not throw an exception, nor
 * leave by longjmp(3) or pthread_exit(3): for an exception and for the end of its
 * thread the process ends with a line on standard error.
 *
 * Exit of the process. Callbacks that are still queued when the process exits do not
 * run. Programs that need them call lee_memb_barrier() before.
 *
 * Unloading code. A library that is unloaded by dlclose(3) calls the barrier of each
 * domain in which it deferred functions of its own, after it has stopped deferring.
 *
 * Memory ordering. What was done in the sections that the grace period waited for
 * happens before `func` is called, and what the callbacks did happens before
 * lee_memb_barrier() returns.
 *
 * Signals. Neither function is async-signal-safe.
 *
 * Fork. The child has a copy of what was queued, and runs it as the parent does,
 * unless lee_memb_set_child_adopts() says otherwise. fork(2) waits for a callback that
 * runs at that moment, for 100 milliseconds at most.
 *
 * See also lee_memb_stats(3), lee_memb_synchronize(3), lee_rcu_hpp(3), lee_rcu(7).
 */
void lee_domain_defer(struct lee_domain *domain, struct lee_head *head, void (*func)(struct lee_head *head));

/*
 * Waits until every callback that any thread deferred before the call has returned. A
 * thread that is online in a domain of QSBR is offline during the call. An error is
 * returned at once.
 *
 * EDEADLK: the caller is inside a section of the domain, or is a callback of it, and
 * would wait for itself. A line on standard error says so.
 * ENOSYS: something is queued, and no heavy fence is possible (see lee_heavy()).
 * Callbacks stay queued then: nothing is freed without a grace period.
 */
int lee_domain_barrier(struct lee_domain *domain);

/*
 * lee_memb_stats(3): count what an RCU domain has done.
 *
 * Stores what the domain has done so far, and what it holds. Each number is right by
 * itself; they are not taken at one instant. Of `stalls` see
 * lee_memb_set_stall_limit(), of `over_limit` lee_memb_set_limit(), and of `lost`
 * lee_memb_set_child_adopts(). `reserved` has zeros, of which later versions may make
 * use.
 *
 * Fork. The child starts from a copy of its parent's numbers.
 *
 * See also lee_memb_defer(3), lee_rcu(7).
 */
void lee_domain_stats(struct lee_domain *domain, struct lee_stats *stats);

/*
 * lee_memb_set_stall_limit(3): report grace periods that wait for long.
 *
 * Sets after how many nanoseconds (`after`) a grace period reports the reader that it
 * waits for, and again after each further such time, and the function (`tell`) that is
 * told; NULL means a line on standard error that names the thread. If `after` is 0,
 * nothing is reported. The default is 10 seconds and NULL.
 *
 * A reader that does not leave its section, or is online and not quiescent, stalls the
 * grace periods of its domain: nothing is freed.
 *
 * `is_beyond_limit` is 1 if the thread that waits is a caller of lee_memb_defer()
 * beyond the limit of lee_memb_set_limit(). `tell` runs on the thread that waits,
 * which may be the domain's worker, inside the grace period: it must neither wait for
 * a grace period of the domain nor defer in it, nor wait for a thread that does. The
 * process ends with a line if it throws or ends its thread. What it is given is gone
 * when it returns.
 *
 * Signals. The function is not async-signal-safe.
 *
 * Fork. The child of a fork has its parent's limit and function.
 *
 * See also gettid(2), lee_memb_stats(3), lee_memb_synchronize(3), lee_rcu(7).
 */
void lee_domain_set_stall_limit(struct lee_domain *domain, uint64_t after, void (*tell)(const struct lee_stall *stall));

/*
 * lee_memb_set_limit(3): bound what is deferred and has not run.
 *
 * Sets how many callbacks may be queued, and what happens to a caller of
 * lee_memb_defer() that exceeds that. Writers that defer faster than callbacks run
 * would fill the memory. There is no limit by default, and NULL takes a limit away.
 *
 * The limit is a goal, not a wall: the callback is queued first, and its caller is
 * held up afterwards, as an enum lee_policy says. A caller whose time is over goes on,
 * and is counted as `over_limit` (lee_memb_stats()). A caller inside a section or a
 * callback of the domain never waits.
 *
 * A caller that may wait must hold no lock that a callback takes, or that a reader
 * waits for inside a section; with LEE_WAIT_FOREVER that would be a deadlock,
 * otherwise a delay of `time`.
 *
 * EINVAL: the policy is none of the three. The limit has not changed.
 *
 * Signals. The function is not async-signal-safe.
 *
 * Fork. The child of a fork has its parent's limit.
 *
 * See also lee_rcu(7).
 */
int lee_domain_set_limit(struct lee_domain *domain, const struct lee_limit *limit);

/*
 * lee_memb_set_child_adopts(3): choose whether children run inherited callbacks.
 *
 * Sets whether the child of fork(2) runs the callbacks that it inherits, which is the
 * default. The parent runs its own in any case.
 *
 * The child has a copy of every callback that was queued with lee_memb_defer(), and of
 * every object that they would free. It runs its copies after a grace period of its
 * own, on a worker that is started before fork(2) returns there. That serves a program
 * that defers, forks, and goes on as the child, as a daemon does.
 *
 * If `adopts` is false, children forget what they inherit; its memory stays allocated
 * in them. That is right where callbacks do something that must happen once, such as
 * to write to a file, rather than once in each process.
 *
 * A fork must find no callback in its middle. fork(2) waits for one that runs, for 100
 * milliseconds at most; one that runs for longer is lost to the child, which counts it
 * as `lost` (lee_memb_stats()). Children of vfork(2), _Fork() and clone(2) run no fork
 * handler, and adopt nothing.
 *
 * Signals. The function is not async-signal-safe.
 *
 * See also lee_rcu(7).
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
 * lee_dereference(3): load and publish pointers that RCU protects.
 *
 * Loads a pointer that writers publish, for use inside a read section. What is read
 * through the result comes after the load. The value has the type of `p`, which is an
 * lvalue of any pointer type, and is evaluated once, here as in the other macros.
 *
 * Memory ordering. lee_dereference() is a relaxed load. Every processor orders a load
 * after the one that its address came from, and the compilers keep that order as long
 * as the address is computed from the loaded value. Code that compares the loaded
 * pointer with a known address, and then reads through it, may be compiled to read
 * through the known one; load with __ATOMIC_ACQUIRE where that is needed. Under a
 * thread sanitizer the load is an acquire. lee_publish() is a store with release, and
 * lee_exchange() acquires and releases.
 *
 * C++. The macros serve plain pointers. For `std::atomic<T *>` use its member
 * functions, with acquire and release.
 *
 * Signals, fork. The macros are async-signal-safe, and have no state that a fork could
 * copy.
 *
 * See also lee_memb_read_lock(3), lee_memb_synchronize(3), lee_memory_model(7).
 */
#define lee_dereference(p) __atomic_load_n(&(p), LEE_1_CONSUME)

/*
 * Stores a pointer. What the thread stored before is visible to every reader that
 * loads it. It has no value.
 */
#define lee_publish(p, value) __atomic_store_n(&(p), (value), __ATOMIC_RELEASE)

/*
 * Stores a pointer, as lee_publish() does, and returns the one that it replaced, so
 * that several writers need no lock to replace the same object.
 */
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

/*
 * LEE_DOMAIN(3): define an RCU domain of one's own.
 *
 *     LEE_DOMAIN(routes);             // in one source: its readers execute no fence
 *     LEE_DOMAIN_FULL(rules);         // they execute full fences
 *     LEE_DOMAIN_QSBR(jobs);          // they announce quiescent states
 *
 *     LEE_DECLARE_DOMAIN(names);      // in a header that several sources include,
 *     LEE_DEFINE_DOMAIN(names);       // and in one of them
 *
 * A domain is a set of readers and writers: a grace period waits for the readers of
 * its own domain only, and each domain has its own queue of callbacks and its own
 * worker thread. The library has four, among which lee_domains(7) helps to choose. A
 * program that has several sets of data, whose readers should not wait for each other,
 * defines a domain for each.
 *
 * The macros stand outside of functions and are followed by a semicolon. A name is
 * that of a variable, a struct lee_domain, for the functions that take a domain as an
 * argument; and the domain has all functions of this header that begin with
 * `lee_memb_` here, under that name: routes_register(), routes_read_lock(),
 * routes_defer() and so on. With LEE_DOMAIN_FULL() the readers execute full fences, so
 * that writers make no system call. With LEE_DOMAIN_QSBR() they announce quiescent
 * states, and there are routes_quiescent(), routes_offline() and routes_online(), too.
 * A declaration and a definition must be of the same kind.
 *
 * Size. A domain is 6,144 bytes of zeros but for a few words, and 8 bytes of
 * thread-local storage in each thread.
 *
 * Lifetime. It needs no initialization, and lives as long as the process: it must not
 * be defined in a library that is unloaded by dlclose(3), unless that library was
 * linked with -z nodelete.
 *
 * Thread-local storage. The thread-local word is found as initial-exec: in a program,
 * and in a library that it links, that is a load or two. A library that is loaded by
 * dlopen(3) takes the word from a reserve that glibc keeps for this. For a C library
 * that keeps none, such as musl, define LEE_TLS_MODEL as "global-dynamic" before the
 * first header is included.
 *
 * Names. The name must not be that of another global symbol.
 *
 * See also lee_memb_defer(3), lee_memb_read_lock(3), lee_memb_synchronize(3),
 * lee_qsbr_quiescent(3), lee_rcu(7).
 */

/* Declares a domain that several source files use, in a header. */
#define LEE_DECLARE_DOMAIN(name) \
	LEE_1_DECLARE(name); LEE_1_SECTIONS(name, name##_1_slot, LEE_1_ASYMMETRIC) LEE_1_SEMICOLON
#define LEE_DECLARE_DOMAIN_FULL(name) \
	LEE_1_DECLARE(name); LEE_1_SECTIONS(name, name##_1_slot, LEE_1_FULL) LEE_1_SEMICOLON
#define LEE_DECLARE_DOMAIN_QSBR(name) \
	LEE_1_DECLARE(name); LEE_1_QUIESCENT_STATES(name, name##_1_slot) LEE_1_SEMICOLON
/*
 * Defines such a domain, in one of the sources, which may include the header. The name
 * is a global symbol, so that programs and other shared libraries can use the domain
 * of a library. Where two libraries define the same name, both have one domain, and
 * the process ends as soon as both are loaded if they define it for different kinds of
 * readers.
 */
#define LEE_DEFINE_DOMAIN(name) LEE_1_DEFINE(name, LEE_1_ASYMMETRIC)
#define LEE_DEFINE_DOMAIN_FULL(name) LEE_1_DEFINE(name, LEE_1_FULL)
#define LEE_DEFINE_DOMAIN_QSBR(name) LEE_1_DEFINE(name, LEE_1_QSBR)
/*
 * Declares and defines a domain that one source file uses, and that others of the same
 * program or shared library may declare. No other program and no other library sees
 * it, and those that have the same name have domains of their own.
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
