/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A C part of the Rust program whose sections are inlined from liburcu's headers, or are what facts.h has
 * in their place (FACTS). A program has both, each as a table of functions, PART.
 */
#ifdef FACTS
#define FLAVOUR memb
#include "../inlined/facts.h"
#else
#define _LGPL_SOURCE
#include <urcu.h>
#endif

#include <stddef.h>
#include <stdint.h>

/* As in part.c. */
struct value {
	struct rcu_head head;
	uint64_t number;
	uint64_t is_freed;
};

/* What the Rust part calls: struct Part there. */
struct part {
	void (*enroll)(void);
	void (*enter)(void);
	void (*leave)(void);
	int (*depth)(void);
	void (*unregister)(void);
	void (*synchronize)(void);
	void (*barrier)(void);
	void (*fork)(int step);
	uint64_t (*read)(struct value **place);
	void (*replace)(struct value **place, struct value *next, int waits);
	uint64_t (*freed)(void);
};
extern const struct part PART;

static void part_enroll(void) { rcu_register_thread(); }
static void part_enter(void) { rcu_read_lock(); }
static void part_leave(void) { rcu_read_unlock(); }
static int part_depth(void) { return rcu_read_ongoing(); }
static void part_unregister(void) { rcu_unregister_thread(); }
static void part_synchronize(void) { synchronize_rcu(); }
static void part_barrier(void) { rcu_barrier(); }

/* What liburcu asks for before a fork (0), and after it in the parent (1) and in the child (2). */
static void part_fork(int step)
{
	if (step == 0)
		call_rcu_before_fork();
	else if (step == 1)
		call_rcu_after_fork_parent();
	else
		call_rcu_after_fork_child();
}

/* Returns the number of the value that is published there; 0 if it was freed. */
static uint64_t part_read(struct value **place)
{
	const struct value *value;
	uint64_t number;
	int turn;

	rcu_read_lock();
	value = rcu_dereference(*place);
	number = __atomic_load_n(&value->number, __ATOMIC_RELAXED);
	for (turn = 0; turn < 20; turn++)
		__asm__ volatile("" ::: "memory");
	if (__atomic_load_n(&value->is_freed, __ATOMIC_RELAXED) != 0)
		number = 0;
	rcu_read_unlock();
	return number;
}

static uint64_t count_of_freed;

static void free_value(struct rcu_head *head)
{
	struct value *value = (struct value *)(void *)head;

	/* A callback may read, on a thread that has registered nothing. */
	rcu_read_lock();
	__atomic_store_n(&value->is_freed, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&count_of_freed, 1, __ATOMIC_RELAXED);
	rcu_read_unlock();
}

/* Publishes a value, and marks the old one as freed after a grace period. */
static void part_replace(struct value **place, struct value *next, int waits)
{
	struct value *old = rcu_xchg_pointer(place, next);

	if (!waits) {
		call_rcu(&old->head, free_value);
		return;
	}
	synchronize_rcu();
	__atomic_store_n(&old->is_freed, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&count_of_freed, 1, __ATOMIC_RELAXED);
}

static uint64_t part_freed(void)
{
	return __atomic_load_n(&count_of_freed, __ATOMIC_RELAXED);
}

const struct part PART = {
	part_enroll, part_enter, part_leave, part_depth, part_unregister, part_synchronize,
	part_barrier, part_fork, part_read, part_replace, part_freed,
};
