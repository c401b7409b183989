/*
 * A signal at every instruction, one after the other: the processor's trap flag single-steps the
 * thread, and before one of the instructions the handler of the trap does what a program's signal
 * handler may do. Nothing here is left to luck. On x86-64.
 */
#include "rcu_domains.h"

#include "stepping.h"

#if CAN_STEP
/* The domain of the test that runs. */
static const struct kind *d;

/* Runs `body` once for each of its instructions, with `handler` before that one, and `afterwards`. */
static void at_every_instruction(void (*handler)(void), void (*body)(void), void (*afterwards)(void))
{
	uint64_t at;

	for (at = 1; stepped(at, handler, body) >= at; at++)
		afterwards();
	afterwards();
	CHECK(at > 8);
}

/* The same on a thread of its own each time, which has no slot yet. */
struct first {
	void (*handler)(void), (*body)(void), (*afterwards)(void);
	uint64_t at, steps;
};

static void *for_the_first_time(void *argument)
{
	struct first *first = (struct first *)argument;

	first->steps = stepped(first->at, first->handler, first->body);
	first->afterwards();
	return NULL;
}

static void at_every_first_instruction(void (*handler)(void), void (*body)(void), void (*afterwards)(void))
{
	struct first first = {handler, body, afterwards, 0, 0};

	do {
		first.at++;
		check_join(check_start(for_the_first_time, &first));
		CHECK_EQ(stats_of(d).readers, 0);
		CHECK_EQ(d->synchronize(), 0);
	} while (first.steps >= first.at);
	CHECK(first.at > 30);
}

/* A handler's sections, nested, at any instruction. */
static void handler_reads(void)
{
	const bool was_inside = d->is_inside();

	d->read_lock();
	CHECK(d->is_inside());
	d->read_lock();
	d->read_unlock();
	CHECK(d->is_inside());
	d->read_unlock();
	CHECK_EQ(d->is_inside(), was_inside);
	d->read_lock();
	d->read_unlock();
	CHECK_EQ(d->is_inside(), was_inside);
}

static void handler_registers(void)
{
	CHECK_EQ(d->enroll(), 0);
	if (d->readers != LEE_1_QSBR)
		handler_reads();
}

static void body_sections(void)
{
	d->read_lock();
	d->read_lock();
	d->read_unlock();
	d->read_unlock();
}

static void body_section(void)
{
	d->read_lock();
	d->read_unlock();
}

static void body_lock(void) { d->read_lock(); }
static void body_unlock(void) { d->read_unlock(); }
static void body_online(void) { go_online(d); }
static void body_enroll(void) { CHECK_EQ(d->enroll(), 0); }
static void body_unregister(void) { d->unregister(); }
static void body_synchronize(void) { CHECK_EQ(d->synchronize(), 0); }

/* Nobody is inside any more: a grace period ends, and did not sleep. */
static void is_outside(void)
{
	CHECK(!d->is_inside());
	CHECK_EQ(d->synchronize(), 0);
}

/* The thread has one slot, and none after it has unregistered; then it is inside no section. */
static void has_one_slot(void)
{
	CHECK_EQ(stats_of(d).readers, 1);
	d->unregister();
	CHECK_EQ(stats_of(d).readers, 0);
	is_outside();
}

/* The interrupted section protects from its first moment to its last. */
static void is_protected(void)
{
	struct lee_cookie cookie = d->start_poll();
	uint64_t start = now_ns();

	CHECK(d->is_inside());
	while (now_ns() - start < 200000)
		CHECK(!d->poll(cookie));
	d->read_unlock();
	is_outside();
}

static void registers_again(void)
{
	is_outside();
	d->unregister();
	CHECK_EQ(stats_of(d).readers, 0);
	CHECK_EQ(d->enroll(), 0);
}

static void relocks(void)
{
	is_outside();
	d->read_lock();
}

static void nothing(void)
{
}

/* The slots that an interrupted registration took must not stay behind, online. */
static void was_online_once(void)
{
	CHECK(d->is_inside());
	has_one_slot();
}

static void the_first_section(bool is_thorough)
{
	at_every_first_instruction(handler_reads, body_section, has_one_slot);
	if (!is_thorough)
		return;
	at_every_first_instruction(handler_registers, body_enroll, has_one_slot);
	at_every_first_instruction(handler_reads, body_lock, is_protected);
}

static void *later_sections(void *argument)
{
	(void)argument;
	CHECK_EQ(d->enroll(), 0);
	at_every_instruction(handler_reads, body_sections, is_outside);
	at_every_instruction(handler_registers, body_lock, is_protected);
	d->read_lock();
	at_every_instruction(handler_registers, body_unlock, relocks);
	d->read_unlock();
	at_every_instruction(handler_reads, body_unregister, registers_again);
	/* Registered again, after it had unregistered. */
	d->unregister();
	at_every_instruction(handler_reads, body_sections, has_one_slot);
	at_every_instruction(handler_registers, body_enroll, has_one_slot);
	CHECK_EQ(stats_of(d).readers, 0);
	return NULL;
}

static void *synchronizing(void *argument)
{
	(void)argument;
	at_every_instruction(handler_reads, body_synchronize, nothing);
	return NULL;
}

/* The end of a thread: a destructor of the test's runs after the library's. */
static pthread_key_t key;
static uint64_t end_at;
static bool reads_there;

static void late_destructor(void *argument)
{
	uint64_t so_far = steps;

	(void)argument;
	step_off();
	if (reads_there)
		so_far = stepped(end_at, handler_reads, body_section);
	CHECK(!d->is_inside());
	SET(steps, so_far);
}

static void *ends(void *argument)
{
	(void)argument;
	CHECK_EQ(pthread_setspecific(key, &key), 0);
	d->read_lock();
	d->read_unlock();
	if (!reads_there) {
		steps = 0;
		act_at = end_at;
		step_on();
	}
	return NULL;
}

/* Interrupts the end of a thread, or its sections in a destructor, at every instruction. */
static void a_thread_that_ends(bool reads)
{
	act = handler_reads;
	reads_there = reads;
	for (end_at = 1;; end_at++) {
		check_join(check_start(ends, NULL));
		CHECK_EQ(stats_of(d).readers, 0);
		CHECK_EQ(d->synchronize(), 0);
		if (end_at > steps)
			break;
	}
	CHECK(end_at > 30);
}

int main(void)
{
	rcu_begin();
	install_stepping();
	CHECK_EQ(pthread_key_create(&key, late_destructor), 0);
	FOR_EACH(one, SECTIONS) {
		const bool is_thorough = one == SECTIONS;

		/* One of each kind: a step takes its time. */
		if (one->domain == &lee_bp || one->domain == &own_full || strstr(one->name, "lee_memb as") != NULL)
			continue;
		d = one;
		/* Starts what a domain starts once. */
		CHECK_EQ(d->synchronize(), 0);
		check_join(check_start(later_sections, NULL));
		if (is_thorough || one->domain == &lee_mb)
			the_first_section(is_thorough);
		if (is_thorough) {
			a_thread_that_ends(true);
			a_thread_that_ends(false);
			check_join(check_start(synchronizing, NULL));
		}
	}
	FOR_EACH(one, QUIESCENT) {
		d = one;
		at_every_first_instruction(handler_registers, one == QUIESCENT ? body_enroll : body_online, was_online_once);
	}
	return check_end("rcu_stepping");
}
#else
int main(void)
{
	rcu_begin();
	printf("rcu_stepping: skipped: the trap flag is x86-64's, and sanitizers' instructions are not ours\n");
	return check_end("rcu_stepping");
}
#endif
