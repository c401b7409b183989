/*
 * Forks beside the first use of each family of functions: another thread is stopped at an instruction
 * of the library's, in a process in which nothing of it was used before, and the child uses
 * everything. A few places of each family: LEEWARD_STEPS of them evenly, and near the beginning.
 */
#include "rcu_domains.h"
#include "stepping.h"

#include <dlfcn.h>

#include <leeward/asym.h>
#include <leeward/barrier.h>
#include <leeward/cond.h>
#include <leeward/event.h>
#include <leeward/fence.h>
#include <leeward/map.h>
#include <leeward/mutex.h>
#include <leeward/once.h>
#include <leeward/queue.h>
#include <leeward/region.h>
#include <leeward/robust.h>
#include <leeward/rwlock.h>
#include <leeward/semaphore.h>
#include <leeward/stack.h>

/* musl's programs here are static, and have no other pthread_create to call. */
#if CAN_STEP && defined(__GLIBC__)

/* A time that has passed: a call that has to wait goes all the way, and does not. */
static const struct timespec PAST = {1, 0};

static void fences(void)
{
	lee_light();
	CHECK_EQ(lee_heavy(), 0);
}

static void count(struct lee_head *head)
{
	ADD(*(int *)(void *)(head + 1), 1);
}

/* Sections, a grace period, a cookie, and a callback of one domain. */
static void use_domain(const struct kind *d)
{
	struct {
		struct lee_head head;
		int ran;
	} object;
	struct lee_cookie cookie;

	object.ran = 0;
	CHECK_EQ(d->enroll(), 0);
	d->read_lock();
	CHECK(d->is_inside());
	d->read_unlock();
	CHECK_EQ(d->synchronize(), 0);
	d->unregister();
	cookie = d->start_poll();
	d->defer(&object.head, count);
	CHECK_EQ(d->barrier(), 0);
	CHECK_EQ(GET(object.ran), 1);
	EVENTUALLY(d->poll(cookie));
}

static void memb(void) { use_domain(&SECTIONS[0]); }
static void bp(void) { use_domain(&SECTIONS[1]); }
static void mb(void) { use_domain(&SECTIONS[2]); }
static void own_domain(void) { use_domain(&SECTIONS[3]); }
static void by_value(void) { use_domain(&SECTIONS[5]); }
static void qsbr(void) { use_domain(&QUIESCENT[0]); }

static int is_key(const struct lee_map_node *node, const void *key)
{
	return (const void *)node == key;
}

static void maps(void)
{
	struct lee_map_node nodes[40];
	struct lee_map *map = lee_map_new(&lee_memb, 4);
	unsigned long at;

	CHECK(map != NULL);
	lee_memb_read_lock();
	for (at = 0; at < 40; at++)
		CHECK_EQ(lee_map_add(map, at, &nodes[at]), 0);
	for (at = 0; at < 40; at++) {
		CHECK(lee_map_find(map, at, is_key, &nodes[at]) == &nodes[at]);
		CHECK_EQ(lee_map_remove(map, &nodes[at]), 0);
	}
	lee_memb_read_unlock();
	CHECK_EQ(lee_map_free(map), 0);
	CHECK_EQ(lee_memb_barrier(), 0);
}

static void queues(void)
{
	struct lee_queue queue = LEE_QUEUE_INIT, other = LEE_QUEUE_INIT;
	struct lee_node node, *popped;

	CHECK_EQ(lee_queue_timedpop(&queue, &popped, &PAST), ETIMEDOUT);
	CHECK(lee_queue_push(&queue, &node));
	CHECK_EQ(lee_queue_splice(&other, &queue), 0);
	CHECK(lee_queue_pop(&other) == &node);
}

static void stacks(void)
{
	struct lee_stack stack = LEE_STACK_INIT;
	struct lee_node nodes[2];

	CHECK(lee_stack_push(&stack, &nodes[0]));
	CHECK(!lee_stack_push_wait_free(&stack, &nodes[1]));
	CHECK(lee_stack_next(lee_stack_pop_all(&stack)) == &nodes[0]);
}

static void mutexes(void)
{
	struct lee_mutex mutex = LEE_MUTEX_INIT;
	struct lee_cond cond = LEE_COND_INIT;

	lee_mutex_lock(&mutex);
	CHECK_EQ(lee_mutex_timedlock(&mutex, &PAST), ETIMEDOUT);
	CHECK_EQ(lee_cond_timedwait(&cond, &mutex, &PAST), ETIMEDOUT);
	CHECK_EQ(lee_cond_broadcast(&cond), 0);
	lee_mutex_unlock_fair(&mutex);
}

static void rwlocks(void)
{
	struct lee_rwlock lock = LEE_RWLOCK_INIT;

	CHECK_EQ(lee_rwlock_rdlock(&lock), 0);
	CHECK_EQ(lee_rwlock_timedwrlock(&lock, &PAST), ETIMEDOUT);
	lee_rwlock_rdunlock(&lock);
	lee_rwlock_wrlock(&lock);
	CHECK_EQ(lee_rwlock_timedrdlock(&lock, &PAST), ETIMEDOUT);
	lee_rwlock_wrunlock(&lock);
}

static void asym_rwlocks(void)
{
	struct lee_asym_rwlock lock = LEE_ASYM_RWLOCK_INIT;

	CHECK_EQ(lee_asym_rwlock_rdlock(&lock), 0);
	lee_asym_rwlock_rdunlock(&lock);
	CHECK_EQ(lee_asym_rwlock_wrlock(&lock), 0);
	CHECK_EQ(lee_asym_rwlock_timedrdlock(&lock, &PAST), ETIMEDOUT);
	lee_asym_rwlock_wrunlock(&lock);
	CHECK_EQ(lee_asym_rwlock_rdlock(&lock), 0);
	lee_asym_rwlock_rdunlock(&lock);
}

static void set(void *number)
{
	*(int *)number = 1;
}

static void small_locks(void)
{
	struct lee_semaphore semaphore = LEE_SEMAPHORE_INIT(0);
	struct lee_event event = LEE_EVENT_INIT;
	struct lee_once once = LEE_ONCE_INIT;
	struct lee_barrier barrier;
	int is_done = 0;

	CHECK_EQ(lee_semaphore_timedwait(&semaphore, &PAST), ETIMEDOUT);
	CHECK_EQ(lee_semaphore_post(&semaphore), 0);
	lee_semaphore_wait(&semaphore);
	CHECK_EQ(lee_event_timedwait(&event, &PAST), ETIMEDOUT);
	lee_event_set(&event);
	lee_event_wait(&event);
	CHECK_EQ(lee_barrier_init(&barrier, 2), 0);
	CHECK_EQ(lee_barrier_timedwait(&barrier, &PAST), ETIMEDOUT);
	CHECK_EQ(lee_once_call(&once, set, &is_done), 0);
	CHECK(is_done && lee_once_is_done(&once));
}

static void robust_mutexes(void)
{
	static struct lee_robust_mutex mutex;
	int error;

	/* In the child it may be locked, by the other thread, which is not there. */
	memset((void *)&mutex, 0, sizeof mutex);
	error = lee_robust_mutex_lock(&mutex);
	CHECK(error == 0 || error == ENOTSUP);
	if (error == 0)
		CHECK_EQ(lee_robust_mutex_unlock(&mutex), 0);
}

static void regions(void)
{
	struct lee_region region = LEE_REGION_INIT;

	CHECK_EQ(lee_region_create(&region, sizeof(long), 1, NULL, NULL), 0);
	*(long *)region.value = 7;
	lee_region_close(&region);
}

struct family {
	const char *name;
	void (*use)(void);
};

#define FAMILY(use) {#use, use}
static const struct family FAMILIES[] = {
	FAMILY(fences), FAMILY(memb), FAMILY(bp), FAMILY(mb), FAMILY(own_domain), FAMILY(by_value), FAMILY(qsbr),
	FAMILY(maps), FAMILY(queues), FAMILY(stacks), FAMILY(mutexes), FAMILY(rwlocks), FAMILY(asym_rwlocks),
	FAMILY(small_locks), FAMILY(robust_mutexes), FAMILY(regions),
};
#define FAMILIES_COUNT (sizeof FAMILIES / sizeof *FAMILIES)

static const struct family *family;
static uint64_t place;

/* What the processes share. */
static uint64_t *count_of_steps;

/*
 * The library's call comes here: the C library blocks the signal of a step while it starts a thread,
 * and a new thread would begin with the trap flag.
 */
static __thread bool is_stepping;

#ifdef __cplusplus
extern "C"
#endif
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *), void *argument)
#ifdef __cplusplus
	noexcept(true)
#endif
{
	typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	create *next;
	int result;

	if (is_stepping)
		step_off();
	*(void **)(void *)&next = dlsym(RTLD_NEXT, "pthread_create");
	result = next(thread, attributes, work, argument);
	if (is_stepping)
		step_on();
	return result;
}

/* Counts the library's instructions only: one that the C library stops at may hold what fork takes. */
static void find_the_library(void)
{
	FILE *maps_file = fopen("/proc/self/maps", "re");
	unsigned long from, to;
	char line[500];

	CHECK(maps_file != NULL);
	while (counts_to == 0 && fgets(line, sizeof line, maps_file) != NULL)
		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && (uintptr_t)lee_domain_synchronize >= from &&
		    (uintptr_t)lee_domain_synchronize < to) {
			counts_from = from;
			counts_to = to;
		}
	fclose(maps_file);
	CHECK(counts_to != 0);
}

static int is_held, has_ended;

static void hold(void)
{
	SET(is_held, 1);
	for (;;)
		pause();
}

static void *uses_first(void *unused)
{
	(void)unused;
	is_stepping = true;
	*count_of_steps = stepped(place, hold, family->use);
	is_stepping = false;
	SET(has_ended, 1);
	return NULL;
}

static bool counts_steps(void)
{
	place = 0;
	uses_first(NULL);
	return true;
}

static bool uses_all(void)
{
	size_t at;

	for (at = 0; at < FAMILIES_COUNT; at++)
		FAMILIES[at].use();
	return true;
}

static bool forks_beside(void)
{
	pthread_t thread = check_start(uses_first, NULL);

	(void)thread;
	EVENTUALLY(GET(is_held) || GET(has_ended));
	IN_CHILD(uses_all);
	return true;
}

/* Stops the thread before that instruction, of so many. */
static void is_tried(uint64_t at, uint64_t all)
{
	if (at < 1 || at > all)
		return;
	place = at;
	IN_CHILD(forks_beside);
}

int main(void)
{
	const char *text = getenv("LEEWARD_STEPS");
	const uint64_t places = text != NULL && *text != 0 ? strtoull(text, NULL, 10) : 4;

	rcu_begin();
	install_stepping();
	find_the_library();
	count_of_steps = (uint64_t *)check_shared(sizeof *count_of_steps);
	for (family = FAMILIES; family != FAMILIES + FAMILIES_COUNT; family++) {
		uint64_t all, at;

		IN_CHILD(counts_steps);
		all = *count_of_steps;
		printf("%s: %llu instructions\n", family->name, (unsigned long long)all);
		for (at = 1; at < places; at++)
			is_tried(at * all / places, all);
		for (at = 1; at < all; at *= 8)
			is_tried(at, all);
	}
	return check_end("first_use");
}

#else

int main(void)
{
	return check_end("first_use");
}

#endif
