/*
 * One flavour of liburcu as a scheme. Compiled once for each flavour whose header is installed, with
 *   URCU_HEADER     the flavour's header, such as <urcu/urcu-memb.h>
 *   COMPARE_TABLE   the name of the table that this file exports
 *   COMPARE_QSBR    1 if readers announce quiescent states
 * The names without a prefix (rcu_read_lock, ...) are those that URCU_API_MAP gives to the flavour included. _LGPL_SOURCE is
 * the documented switch that inlines the read side into the program; URCU_INLINE_SMALL_FUNCTIONS is its newer form.
 */
#define _GNU_SOURCE
#define _LGPL_SOURCE
#define URCU_INLINE_SMALL_FUNCTIONS
#define URCU_API_MAP

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include URCU_HEADER
#include "scheme.h"

/* As large as the Rust schemes' node, and what call_rcu needs. */
struct node {
	uint64_t alive;
	uint64_t filler[7];
	struct rcu_head head;
};

/* The cell shares its cache lines with nothing, as every scheme's cell here. */
static struct node *published __attribute__((aligned(128)));
static char published_pad[128] __attribute__((aligned(128), unused));

static struct node *node_new(void)
{
	struct node *node = malloc(sizeof(*node));

	if (!node) {
		fputs("compare: out of memory\n", stderr);
		exit(1);
	}
	for (int i = 0; i < 7; i++)
		node->filler[i] = 0;
	__atomic_store_n(&node->alive, COMPARE_ALIVE, __ATOMIC_RELAXED);
	return node;
}

static void node_free(struct node *node)
{
	__atomic_store_n(&node->alive, COMPARE_POISON, __ATOMIC_RELAXED);
	free(node);
}

static void node_free_later(struct rcu_head *head)
{
	node_free(caa_container_of(head, struct node, head));
}

static __attribute__((noinline, cold)) void freed_under_reader(void)
{
	fputs("compare: a reader saw a freed node\n", stderr);
	abort();
}

static inline int stopped(const uint8_t *stop)
{
	return __atomic_load_n(stop, __ATOMIC_RELAXED);
}

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The section that every row measures: enter, load, check a field, leave. */
static inline __attribute__((always_inline)) void one_section(void)
{
	struct node *node;

	rcu_read_lock();
	node = rcu_dereference(published);
	if (__builtin_expect(__atomic_load_n(&node->alive, __ATOMIC_RELAXED) != COMPARE_ALIVE, 0))
		freed_under_reader();
	rcu_read_unlock();
}

static inline void batch_end(void)
{
#if COMPARE_QSBR
	rcu_quiescent_state();
#endif
}

/* The same batch at four alignments in a cache line: src/alignment.rs says why. */
#if defined(__x86_64__)
#define ALIGN(alignment) __asm__ volatile(".p2align 6\n\t.rept 16 * " #alignment "\n\tnop\n\t.endr")
#else
#define ALIGN(alignment)
#endif

/* `batch`: sections and nothing else. `job`: between two sections the reader counts and checks the stop flag. */
#define LOOPS_AT(alignment)                                                                                  \
	static __attribute__((noinline)) void batch_##alignment(void)                                              \
	{                                                                                                          \
		ALIGN(alignment);                                                                                        \
		for (int i = 0; i < COMPARE_BATCH; i++)                                                                  \
			one_section();                                                                                         \
		batch_end();                                                                                             \
	}                                                                                                          \
	static __attribute__((noinline)) uint64_t job_##alignment(const uint8_t *stop, uint64_t *tally, uint64_t done) \
	{                                                                                                          \
		ALIGN(alignment);                                                                                        \
		for (int i = 0; i < COMPARE_BATCH && !stopped(stop); i++) {                                              \
			one_section();                                                                                         \
			__atomic_store_n(tally, ++done, __ATOMIC_RELAXED);                                                     \
		}                                                                                                        \
		batch_end();                                                                                             \
		return done;                                                                                             \
	}

LOOPS_AT(0)
LOOPS_AT(1)
LOOPS_AT(2)
LOOPS_AT(3)

static void scheme_open(void)
{
	published = node_new();
}

static void scheme_close(void)
{
	struct node *node = published;

	published = NULL;
	node_free(node);
}

static uint64_t scheme_section(uint64_t n, uint32_t alignment)
{
	static void (*const batches[4])(void) = { batch_0, batch_1, batch_2, batch_3 };
	void (*const batch)(void) = batches[alignment & 3];
	uint64_t began, took;

	rcu_register_thread();
	one_section();
	began = now_ns();
	for (uint64_t done = 0; done < n; done += COMPARE_BATCH)
		batch();
	took = now_ns() - began;
	rcu_unregister_thread();
	return took;
}

static void scheme_read(const uint8_t *stop, uint64_t *tally)
{
	uint64_t done = 0;

	rcu_register_thread();
	while (!stopped(stop)) {
		done = job_0(stop, tally, done);
		done = job_1(stop, tally, done);
		done = job_2(stop, tally, done);
		done = job_3(stop, tally, done);
	}
	rcu_unregister_thread();
}

static void scheme_dwell(const uint8_t *stop, uint64_t *tally, uint64_t inside_ns)
{
	uint64_t done = 0;

	rcu_register_thread();
	while (!stopped(stop)) {
		struct node *node;
		uint64_t until;

		rcu_read_lock();
		node = rcu_dereference(published);
		until = now_ns() + inside_ns;
		while (now_ns() < until)
			;
		if (__atomic_load_n(&node->alive, __ATOMIC_RELAXED) != COMPARE_ALIVE)
			freed_under_reader();
		rcu_read_unlock();
		batch_end();
		__atomic_store_n(tally, ++done, __ATOMIC_RELAXED);
	}
	rcu_unregister_thread();
}

static void scheme_write(const uint8_t *stop, uint64_t *tally)
{
	uint64_t done = 0;

	while (!stopped(stop)) {
		struct node *old = rcu_xchg_pointer(&published, node_new());

		synchronize_rcu();
		node_free(old);
		__atomic_store_n(tally, ++done, __ATOMIC_RELAXED);
	}
}

static void scheme_retire(const uint8_t *stop, uint64_t *tally)
{
	uint64_t done = 0;

	rcu_register_thread();
	while (!stopped(stop)) {
		struct node *old = rcu_xchg_pointer(&published, node_new());

		call_rcu(&old->head, node_free_later);
		batch_end();
		__atomic_store_n(tally, ++done, __ATOMIC_RELAXED);
	}
	rcu_unregister_thread();
}

static void scheme_retire_one(void)
{
	struct node *old;

	rcu_register_thread();
	old = rcu_xchg_pointer(&published, node_new());
	call_rcu(&old->head, node_free_later);
	rcu_unregister_thread();
}

static void scheme_hold(compare_during during, void *arg)
{
	struct node *node;

	rcu_register_thread();
	rcu_read_lock();
	node = rcu_dereference(published);
	during(arg);
	if (__atomic_load_n(&node->alive, __ATOMIC_RELAXED) != COMPARE_ALIVE)
		freed_under_reader();
	rcu_read_unlock();
	rcu_unregister_thread();
}

static void scheme_rest(compare_during during, void *arg)
{
	rcu_register_thread();
	one_section(); /* bp registers at its first section */
#if COMPARE_QSBR
	rcu_thread_offline();
#endif
	during(arg);
#if COMPARE_QSBR
	rcu_thread_online();
#endif
	rcu_unregister_thread();
}

static void scheme_synchronize(void)
{
	synchronize_rcu();
}

static void scheme_barrier(void)
{
	rcu_barrier();
}

const struct compare_scheme COMPARE_TABLE = {
	.open = scheme_open,
	.close = scheme_close,
	.section = scheme_section,
	.read = scheme_read,
	.dwell = scheme_dwell,
	.write = scheme_write,
	.retire = scheme_retire,
	.retire_one = scheme_retire_one,
	.hold = scheme_hold,
	.rest = scheme_rest,
	.synchronize = scheme_synchronize,
	.barrier = scheme_barrier,
};
