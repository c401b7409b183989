/*
 * Domains of every kind as tables of functions, for tests that are the same for all: the inline
 * functions by the domain's name, or the functions for domains as values.
 */
#ifndef RCU_DOMAINS_H
#define RCU_DOMAINS_H

#include "rcu_check.h"

#include <leeward/rcu.h>

/* A domain and its functions, whose wrappers have the inline code in them. */
struct kind {
	const char *name;
	struct lee_domain *domain;
	int readers;
	void (*read_lock)(void);
	void (*read_unlock)(void);
	bool (*is_inside)(void);
	int (*enroll)(void);
	void (*unregister)(void);
	int (*synchronize)(void);
	struct lee_cookie (*start_poll)(void);
	bool (*poll)(struct lee_cookie);
	void (*defer)(struct lee_head *, void (*)(struct lee_head *));
	int (*barrier)(void);
	void (*stats)(struct lee_stats *);
	void (*set_stall_limit)(uint64_t, void (*)(const struct lee_stall *));
	int (*set_limit)(const struct lee_limit *);
	void (*set_child_adopts)(bool);
};

#define KIND_WRAPPERS(name) \
	static CHECK_UNUSED void name##_t_read_lock(void) { name##_read_lock(); } \
	static CHECK_UNUSED void name##_t_read_unlock(void) { name##_read_unlock(); } \
	static CHECK_UNUSED bool name##_t_is_inside(void) { return name##_is_inside(); } \
	static CHECK_UNUSED int name##_t_enroll(void) { return name##_register(); } \
	static CHECK_UNUSED void name##_t_unregister(void) { name##_unregister(); } \
	static CHECK_UNUSED int name##_t_synchronize(void) { return name##_synchronize(); } \
	static CHECK_UNUSED struct lee_cookie name##_t_start_poll(void) { return name##_start_poll(); } \
	static CHECK_UNUSED bool name##_t_poll(struct lee_cookie cookie) { return name##_poll(cookie); } \
	static CHECK_UNUSED void name##_t_defer(struct lee_head *head, void (*func)(struct lee_head *)) \
	{ \
		name##_defer(head, func); \
	} \
	static CHECK_UNUSED int name##_t_barrier(void) { return name##_barrier(); } \
	static CHECK_UNUSED void name##_t_stats(struct lee_stats *stats) { name##_stats(stats); } \
	static CHECK_UNUSED void name##_t_set_stall_limit(uint64_t after, void (*tell)(const struct lee_stall *)) \
	{ \
		name##_set_stall_limit(after, tell); \
	} \
	static CHECK_UNUSED int name##_t_set_limit(const struct lee_limit *limit) { return name##_set_limit(limit); } \
	static CHECK_UNUSED void name##_t_set_child_adopts(bool adopts) { name##_set_child_adopts(adopts); } \
	typedef struct lee_domain name##_t_semicolon

#define KIND(name, readers) \
	{ \
		#name, &name, readers, name##_t_read_lock, name##_t_read_unlock, name##_t_is_inside, name##_t_enroll, \
			name##_t_unregister, name##_t_synchronize, name##_t_start_poll, name##_t_poll, name##_t_defer, \
			name##_t_barrier, name##_t_stats, name##_t_set_stall_limit, name##_t_set_limit, \
			name##_t_set_child_adopts \
	}

/* Wrappers of the functions for a domain as a value, in the same shape. */
#define KIND_BY_VALUE(name) \
	static CHECK_UNUSED void name##_v_read_lock(void) { lee_domain_read_lock(&name); } \
	static CHECK_UNUSED void name##_v_read_unlock(void) { lee_domain_read_unlock(&name); } \
	static CHECK_UNUSED bool name##_v_is_inside(void) { return lee_domain_is_inside(&name); } \
	typedef struct lee_domain name##_v_semicolon

#define KIND_AS_VALUE(name, readers) \
	{ \
		#name " as a value", &name, readers, name##_v_read_lock, name##_v_read_unlock, name##_v_is_inside, \
			name##_t_enroll, name##_t_unregister, name##_t_synchronize, name##_t_start_poll, \
			name##_t_poll, name##_t_defer, name##_t_barrier, name##_t_stats, name##_t_set_stall_limit, \
			name##_t_set_limit, name##_t_set_child_adopts \
	}

/* Own domains of each kind. */
LEE_DOMAIN(own);
LEE_DOMAIN_FULL(own_full);
LEE_DOMAIN_QSBR(own_qsbr);

KIND_WRAPPERS(lee_memb);
KIND_WRAPPERS(lee_bp);
KIND_WRAPPERS(lee_mb);
KIND_WRAPPERS(lee_qsbr);
KIND_WRAPPERS(own);
KIND_WRAPPERS(own_full);
KIND_WRAPPERS(own_qsbr);
KIND_BY_VALUE(lee_memb);
KIND_BY_VALUE(lee_mb);
KIND_BY_VALUE(own);

/* The domains whose readers open sections. */
static const struct kind SECTIONS[] CHECK_UNUSED = {
	KIND(lee_memb, LEE_1_ASYMMETRIC), KIND(lee_bp, LEE_1_ASYMMETRIC), KIND(lee_mb, LEE_1_FULL),
	KIND(own, LEE_1_ASYMMETRIC), KIND(own_full, LEE_1_FULL), KIND_AS_VALUE(lee_memb, LEE_1_ASYMMETRIC),
	KIND_AS_VALUE(lee_mb, LEE_1_FULL), KIND_AS_VALUE(own, LEE_1_ASYMMETRIC),
};

/* The domains whose readers announce quiescent states. */
static const struct kind QUIESCENT[] CHECK_UNUSED = {
	KIND(lee_qsbr, LEE_1_QSBR), KIND(own_qsbr, LEE_1_QSBR),
};

#define FOR_EACH(d, table) \
	for (const struct kind *d = table; d != table + sizeof table / sizeof *table; d++)

/* Goes online, offline and quiescent in a domain of QSBR. */
static CHECK_UNUSED void go_online(const struct kind *d)
{
	d->domain == &own_qsbr ? own_qsbr_online() : lee_qsbr_online();
}

static CHECK_UNUSED void go_offline(const struct kind *d)
{
	d->domain == &own_qsbr ? own_qsbr_offline() : lee_qsbr_offline();
}

static CHECK_UNUSED void quiesce(const struct kind *d)
{
	d->domain == &own_qsbr ? own_qsbr_quiescent() : lee_qsbr_quiescent();
}

static CHECK_UNUSED struct lee_stats stats_of(const struct kind *d)
{
	struct lee_stats stats;

	d->stats(&stats);
	return stats;
}

/* A thread that is inside a section (online) from inside_begin to inside_end. */
struct inside {
	const struct kind *domain;
	pthread_t thread;
	int state; /* 1: inside; 2: asked to leave */
	int id;
};

static CHECK_UNUSED void *inside_thread(void *argument)
{
	struct inside *inside = (struct inside *)argument;
	const struct kind *d = inside->domain;

	SET(inside->id, thread_id());
	/* A thread's first section is none of the inline code's. */
	CHECK_EQ(d->enroll(), 0);
	if (d->readers != LEE_1_QSBR)
		d->read_lock();
	SET(inside->state, 1);
	while (GET(inside->state) != 2)
		sleep_us(20);
	if (d->readers == LEE_1_QSBR)
		d->unregister();
	else
		d->read_unlock();
	return NULL;
}

static CHECK_UNUSED void inside_begin(struct inside *inside, const struct kind *d)
{
	inside->domain = d;
	inside->state = 0;
	inside->thread = check_start(inside_thread, inside);
	EVENTUALLY(GET(inside->state) == 1);
}

static CHECK_UNUSED void inside_end(struct inside *inside)
{
	SET(inside->state, 2);
	check_join(inside->thread);
}

/* A thread that calls synchronize: `done` is 1 once that has returned, with `result`. */
struct waiter {
	const struct kind *domain;
	pthread_t thread;
	int id;
	int done;
	int result;
};

static CHECK_UNUSED void *waiter_thread(void *argument)
{
	struct waiter *waiter = (struct waiter *)argument;

	SET(waiter->id, thread_id());
	waiter->result = waiter->domain->synchronize();
	SET(waiter->done, 1);
	return NULL;
}

static CHECK_UNUSED void waiter_begin(struct waiter *waiter, const struct kind *d)
{
	memset(waiter, 0, sizeof *waiter);
	waiter->domain = d;
	waiter->thread = check_start(waiter_thread, waiter);
}

static CHECK_UNUSED void waiter_end(struct waiter *waiter)
{
	EVENTUALLY(GET(waiter->done));
	check_join(waiter->thread);
	CHECK_EQ(waiter->result, 0);
}

/* Starts a waiter, and waits until it sleeps inside its grace period. */
static CHECK_UNUSED void waiter_asleep(struct waiter *waiter, const struct kind *d)
{
	uint64_t sleeps = stats_of(d).sleeps;

	waiter_begin(waiter, d);
	EVENTUALLY(stats_of(d).sleeps > sleeps);
}

#endif
