/*
 * The C part of a Rust program: readers and writers, inline, in domains that the Rust part reads and
 * writes, too.
 */
#include <leeward/rcu.h>

#include <stdlib.h>

/* A value that both parts publish and read. */
struct value {
	struct lee_head head;
	uint64_t number;
	uint64_t is_freed;
};

void part_enter(void);
void part_leave(void);
bool part_is_inside(void);
void part_unregister(void);
int part_synchronize(void);
uint64_t part_read(struct value *const *place);
void part_replace(struct value **place, struct value *next, bool waits);
uint64_t part_freed(void);
void part_online(void);
void part_offline(void);
void part_quiescent(void);
bool part_is_online(void);

void part_enter(void) { lee_memb_read_lock(); }
void part_leave(void) { lee_memb_read_unlock(); }
bool part_is_inside(void) { return lee_memb_is_inside(); }
void part_unregister(void) { lee_memb_unregister(); }
int part_synchronize(void) { return lee_memb_synchronize(); }

/* Returns the number of the value that is published there; 0 if it was freed. */
uint64_t part_read(struct value *const *place)
{
	const struct value *value;
	uint64_t number;
	int turn;

	lee_memb_read_lock();
	value = lee_dereference(*place);
	number = __atomic_load_n(&value->number, __ATOMIC_RELAXED);
	for (turn = 0; turn < 20; turn++)
		__asm__ volatile("" ::: "memory");
	if (__atomic_load_n(&value->is_freed, __ATOMIC_RELAXED) != 0)
		number = 0;
	lee_memb_read_unlock();
	return number;
}

static uint64_t freed;

static void free_value(struct lee_head *head)
{
	struct value *value = (struct value *)(void *)head;

	__atomic_store_n(&value->is_freed, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&freed, 1, __ATOMIC_RELAXED);
}

/* Publishes a value, and marks the old one as freed after a grace period. */
void part_replace(struct value **place, struct value *next, bool waits)
{
	struct value *old = lee_exchange(*place, next);

	if (!waits)
		lee_memb_defer(&old->head, free_value);
	else if (lee_memb_synchronize() == 0)
		free_value(&old->head);
}

uint64_t part_freed(void)
{
	return __atomic_load_n(&freed, __ATOMIC_RELAXED);
}

void part_online(void) { lee_qsbr_online(); }
void part_offline(void) { lee_qsbr_offline(); }
void part_quiescent(void) { lee_qsbr_quiescent(); }
bool part_is_online(void) { return lee_qsbr_is_inside(); }
