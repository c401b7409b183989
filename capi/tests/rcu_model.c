/*
 * The inline code of readers, in every schedule beside a writer, on a machine with store buffers.
 *
 * The builtins that the header uses are replaced by functions of a small machine while it is
 * included, so the code that runs here is the shipped one. The writer is the grace period of
 * docs/rcu.md, step by step. A store of the reader waits in two buffers: until the next compiler
 * fence in the compiler's, since the compiler may move it behind later loads; then in the
 * processor's. A heavy fence of the writer empties the processor's buffer; a full fence of the
 * reader empties both.
 */
#include "rcu_check.h"

#ifdef __GLIBC__
#include <ucontext.h>

static uint64_t model_load(const void *place, size_t size);
static void model_store(void *place, size_t size, uint64_t value, int order);
static uint64_t model_exchange(void *place, size_t size, uint64_t value, int order);
static void model_signal_fence(int order);
static void model_thread_fence(int order);

#define __atomic_load_n(place, order) ((__typeof__(*(place) + 0))model_load((place), sizeof *(place)))
#define __atomic_store_n(place, value, order) \
	model_store((void *)(place), sizeof *(place), (uint64_t)(value), (order))
#define __atomic_exchange_n(place, value, order) \
	((__typeof__(*(place) + 0))model_exchange((void *)(place), sizeof *(place), (uint64_t)(value), (order)))
#define __atomic_signal_fence(order) model_signal_fence(order)
#define __atomic_thread_fence(order) model_thread_fence(order)
#include <leeward/rcu.h>

/* What is otherwise the library's. */
struct lee_1_slot lee_1_unregistered;
#define LIBRARYS(name, slot, readers) \
	LEE_1_THREAD struct lee_1_slot *slot; \
	static struct lee_1_slot **name##_place(void) { return &slot; } \
	struct lee_domain name = {1, {0}, name##_place, readers, 1, {0}, #name}
LIBRARYS(lee_memb, lee_1_memb_slot, LEE_1_ASYMMETRIC);
LIBRARYS(lee_bp, lee_1_bp_slot, LEE_1_ASYMMETRIC);
LIBRARYS(lee_mb, lee_1_mb_slot, LEE_1_FULL);
LIBRARYS(lee_qsbr, lee_1_qsbr_slot, LEE_1_QSBR);

void lee_1_defined(struct lee_domain *domain, uint32_t readers)
{
	(void)domain;
	(void)readers;
}

LEE_DOMAIN(light);
LEE_DOMAIN_FULL(full);
LEE_DOMAIN_QSBR(quiet);

/* The pointer that the writer publishes: 0 or 1, an object's number. A word, to be one for both. */
static uint64_t pointer;
static void publish(uint64_t object)
{
	lee_publish(pointer, object);
}
static uint64_t dereference(void)
{
	return lee_dereference(pointer);
}
static uint64_t exchange(uint64_t object)
{
	return lee_exchange(pointer, object);
}

#undef __atomic_load_n
#undef __atomic_store_n
#undef __atomic_exchange_n
#undef __atomic_signal_fence
#undef __atomic_thread_fence

/* A store that has not reached memory. */
struct pending {
	void *place;
	size_t size;
	uint64_t value;
};

enum { ROOM = 16, CHOICES = 400, STACK = 64 << 10 };
/* The reader's stores, the oldest first: those before `issued` are in the processor's buffer. */
static struct pending pending[ROOM];
static int buffered, issued;

static struct lee_1_slot slot;
static uint64_t alive[8];

/* The two threads of the machine, and what the writer sleeps on. */
enum { READER, WRITER, FLUSH };
static ucontext_t scheduler, contexts[2];
static char stacks[2][STACK] __attribute__((__aligned__(64)));
static bool is_finished[2], is_asleep_now;
static int running;

/* What is explored. */
struct program {
	const char *name;
	void (*enter)(void), (*leave)(void);
	void (*quiesce)(void);
	struct lee_domain *domain;
	bool is_fenced;
	int sections, updates;
};
static const struct program *program;
/* The reader's stores are recorded, for the rules that no schedule shows on this machine. */
static int seen_orders[ROOM], seen_fences;
static bool is_recording;

static uint64_t read_memory(const void *place, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, place, size);
	return value;
}

static void write_memory(void *place, size_t size, uint64_t value)
{
	memcpy(place, &value, size);
}

/* What each thread has done and seen so far, as a number. */
static uint64_t history[2];

static void remember(uint64_t *number, uint64_t value)
{
	*number = (*number ^ value) * UINT64_C(0x9E3779B97F4A7C15);
	*number ^= *number >> 29;
}

/* Lets another thread of the machine run. */
static void step(void)
{
	remember(&history[running], 1);
	if (!is_recording)
		CHECK_EQ(swapcontext(&contexts[running], &scheduler), 0);
}

/* A value that the running thread has seen. */
static uint64_t seen(uint64_t value)
{
	remember(&history[running], value);
	return value;
}

/* The oldest store reaches memory. */
static void flush_one(void)
{
	write_memory(pending[0].place, pending[0].size, pending[0].value);
	buffered--;
	issued -= issued > 0;
	memmove(&pending[0], &pending[1], (size_t)buffered * sizeof *pending);
}

static void flush(int count)
{
	while (count-- > 0)
		flush_one();
}

static uint64_t model_load(const void *place, size_t size)
{
	int at;

	/* Words of the reader's own are nobody else's to change. */
	if (place != &slot.epoch && place != &slot.extra && place != &slot.owner)
		step();
	for (at = buffered; running == READER && at-- > 0;)
		if (pending[at].place == place)
			return seen(pending[at].value);
	return seen(read_memory(place, size));
}

static void model_store(void *place, size_t size, uint64_t value, int order)
{
	/* Nobody else looks at this word. */
	if (place == &slot.extra) {
		write_memory(place, size, value);
		return;
	}
	step();
	if (is_recording) {
		seen_orders[buffered] = order;
		CHECK(buffered < ROOM - 1);
	}
	CHECK(buffered < ROOM);
	pending[buffered].place = place;
	pending[buffered].size = size;
	pending[buffered].value = value;
	buffered++;
}

static uint64_t model_exchange(void *place, size_t size, uint64_t value, int order)
{
	uint64_t old;

	if (is_recording) {
		model_store(place, size, value, order);
		return read_memory(place, size);
	}
	step();
	flush(buffered);
	old = read_memory(place, size);
	write_memory(place, size, value);
	CHECK_EQ(order, __ATOMIC_SEQ_CST);
	return old;
}

static void model_signal_fence(int order)
{
	CHECK_EQ(order, __ATOMIC_SEQ_CST);
	issued = buffered;
	seen_fences++;
}

static void model_thread_fence(int order)
{
	CHECK_EQ(order, __ATOMIC_SEQ_CST);
	if (!is_recording)
		flush(buffered);
	seen_fences++;
}

/* What the inline code calls where it does not suffice; as the library does it. */
void lee_1_read_lock(struct lee_domain *domain)
{
	(void)domain;
	FAIL("the reader is registered");
}

void lee_1_read_unlock(struct lee_domain *domain)
{
	(void)domain;
	FAIL("the reader is registered");
}

/* A system call: all stores of the reader have reached memory. */
void lee_1_wake(struct lee_1_slot *woken)
{
	CHECK(woken == &slot);
	flush(buffered);
	slot.waited = 0;
	is_asleep_now = false;
}

void lee_1_quiescent(struct lee_domain *domain)
{
	uint64_t now;

	issued = buffered;
	step();
	now = seen(domain->lee_1_epoch);
	flush(buffered);
	slot.epoch = now;
	step();
	if (seen(slot.waited) != 0)
		lee_1_wake(&slot);
}

/* The reader: sections that reach the published object, which must not be freed in them. */
static void read_once(void)
{
	uint64_t object = dereference();

	step();
	if (!alive[object])
		complain("rcu_model: what was reached is freed: ", program->name);
}

static void reader(void)
{
	int section;

	for (section = 0; section < program->sections; section++) {
		if (program->quiesce != NULL) {
			read_once();
			program->quiesce();
			continue;
		}
		program->enter();
		read_once();
		/* A section within it is no more than a count. */
		program->enter();
		program->leave();
		read_once();
		program->leave();
	}
	/* QSBR: the reader goes offline, as the library does it. */
	if (program->quiesce != NULL) {
		flush(buffered);
		slot.epoch = 0;
		step();
		if (seen(slot.waited) != 0)
			lee_1_wake(&slot);
	}
	/* In the end the buffers are emptied. */
	issued = buffered;
	is_finished[READER] = true;
	CHECK_EQ(swapcontext(&contexts[READER], &scheduler), 0);
}

/* The writer's half of a pair: where readers execute no fence, it reaches them. */
static void heavy(void)
{
	step();
	if (!program->is_fenced)
		flush(issued);
}

static bool is_blocking(uint64_t epoch)
{
	step();
	seen(slot.epoch);
	return slot.epoch != 0 && slot.epoch < epoch;
}

static void writer(void)
{
	int update;

	for (update = 0; update < program->updates; update++) {
		const uint64_t old = pointer;

		pointer = old + 1;
		heavy();
		program->domain->lee_1_epoch++;
		while (is_blocking(program->domain->lee_1_epoch)) {
			slot.waited = 1;
			heavy();
			if (!is_blocking(program->domain->lee_1_epoch))
				break;
			if (seen(slot.waited) == 1) {
				is_asleep_now = true;
				step();
			}
		}
		slot.waited = 0;
		alive[old] = 0;
	}
	is_finished[WRITER] = true;
	CHECK_EQ(swapcontext(&contexts[WRITER], &scheduler), 0);
}

static void begin(int thread, void (*function)(void))
{
	CHECK_EQ(getcontext(&contexts[thread]), 0);
	contexts[thread].uc_stack.ss_sp = stacks[thread];
	contexts[thread].uc_stack.ss_size = STACK;
	contexts[thread].uc_link = NULL;
	makecontext(&contexts[thread], function, 0);
	is_finished[thread] = false;
}

/* The choices of this run, and of how many each was one. */
static int choice[CHOICES], options[CHOICES];

/* The states that were seen, by a number each. */
enum { STATES = 1 << 20 };
static uint64_t states[STATES];
static long known_states;

/* Returns true if the machine has been in its present state before. */
static bool is_known_state(void)
{
	uint64_t number = 1;
	size_t at;
	int store;

	remember(&number, history[READER]);
	remember(&number, history[WRITER]);
	remember(&number, slot.epoch);
	remember(&number, slot.extra);
	remember(&number, slot.waited);
	remember(&number, program->domain->lee_1_epoch);
	remember(&number, pointer);
	for (at = 0; at < sizeof alive / sizeof *alive; at++)
		remember(&number, alive[at]);
	for (store = 0; store < buffered; store++) {
		remember(&number, (uint64_t)(uintptr_t)pending[store].place);
		remember(&number, pending[store].value);
	}
	remember(&number, (uint64_t)buffered);
	remember(&number, (uint64_t)issued);
	remember(&number, (uint64_t)(is_asleep_now | is_finished[READER] << 1 | is_finished[WRITER] << 2));
	number |= number == 0;
	for (at = number % STATES; states[at] != 0; at = (at + 1) % STATES)
		if (states[at] == number)
			return true;
	states[at] = number;
	known_states++;
	CHECK(known_states < STATES / 2);
	return false;
}

/* Runs the program once by the choices made so far, and by the first option from there on. */
static int run_once(int known)
{
	int made = 0;

	history[READER] = history[WRITER] = 1;

	memset(&slot, 0, sizeof slot);
	slot.owner = 16;
	memset(alive, 0xff, sizeof alive);
	pointer = 0;
	buffered = issued = 0;
	is_asleep_now = false;
	program->domain->lee_1_epoch = 1;
	/* A reader of QSBR is online. */
	slot.epoch = program->quiesce != NULL;
	*program->domain->lee_1_place() = &slot;
	begin(READER, reader);
	begin(WRITER, writer);
	for (;;) {
		int possible[3], count = 0;

		if (!is_finished[READER])
			possible[count++] = READER;
		if (!is_finished[WRITER] && !is_asleep_now)
			possible[count++] = WRITER;
		if (buffered > 0)
			possible[count++] = FLUSH;
		if (count == 0)
			break;
		CHECK(made < CHOICES);
		if (made >= known) {
			if (is_known_state())
				return made;
			choice[made] = 0;
		}
		options[made] = count;
		running = possible[choice[made++]];
		if (running == FLUSH)
			flush_one();
		else
			CHECK_EQ(swapcontext(&scheduler, &contexts[running]), 0);
	}
	if (is_asleep_now)
		complain("rcu_model: a wake-up is lost: ", program->name);
	return made;
}

/* Runs it by all choices. */
static void explore(const struct program *one)
{
	long runs = 0;
	int known = 0;

	program = one;
	known_states = 0;
	memset(states, 0, sizeof states);
	do {
		int made = run_once(known);

		runs++;
		while (made > 0 && choice[made - 1] + 1 == options[made - 1])
			made--;
		known = made;
		if (known > 0)
			choice[known - 1]++;
	} while (known > 0);
	printf("%s: %ld schedules, %ld states\n", one->name, runs, known_states);
	CHECK(known_states > 100);
}

/* The inline functions of a domain, as functions. */
#define SECTIONS_OF(name) \
	static void name##_enter(void) { name##_read_lock(); } \
	static void name##_leave(void) { name##_read_unlock(); } \
	typedef struct lee_domain name##_semicolon
#define QUIESCENT_STATES_OF(name) \
	static void name##_quiesce(void) { name##_quiescent(); } \
	typedef struct lee_domain name##_semicolon
SECTIONS_OF(light);
SECTIONS_OF(full);
SECTIONS_OF(lee_memb);
SECTIONS_OF(lee_bp);
SECTIONS_OF(lee_mb);
QUIESCENT_STATES_OF(quiet);
QUIESCENT_STATES_OF(lee_qsbr);

/*
 * Orders that this machine keeps by itself, and others do not: the announcements are releases, and
 * so are publications.
 */
static bool is_release(int order)
{
	return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static void the_rules(void (*enter)(void), void (*leave)(void), struct lee_domain *domain)
{
	int at;

	is_recording = true;
	running = READER;
	memset(&slot, 0, sizeof slot);
	slot.owner = 16;
	*domain->lee_1_place() = &slot;
	buffered = 0;
	enter();
	CHECK(buffered == 1 && pending[0].place == &slot.epoch && pending[0].value == domain->lee_1_epoch);
	leave();
	CHECK(buffered == 2 && pending[1].place == &slot.epoch && pending[1].value == 0);
	for (at = 0; at < buffered; at++)
		CHECK(is_release(seen_orders[at]));
	/* Nothing that was read in the section moves behind its end: a compiler fence, and the release. */
	buffered = seen_fences = 0;
	enter();
	at = seen_fences;
	leave();
	CHECK(seen_fences >= at + 2);
	buffered = 0;
	publish(3);
	CHECK(buffered == 1 && pending[0].place == &pointer && is_release(seen_orders[0]));
	buffered = 0;
	exchange(4);
	CHECK(buffered == 1 && (seen_orders[0] == __ATOMIC_ACQ_REL || seen_orders[0] == __ATOMIC_SEQ_CST));
	is_recording = false;
}

int main(void)
{
	const struct program programs[] = {
		{"an own domain, one section", light_enter, light_leave, NULL, &light, false, 1, 2},
		{"an own domain, two sections", light_enter, light_leave, NULL, &light, false, 2, 2},
		{"an own domain with full fences, one section", full_enter, full_leave, NULL, &full, true, 1, 2},
		{"an own domain with full fences, two sections", full_enter, full_leave, NULL, &full, true, 2, 2},
		{"an own domain of QSBR", NULL, NULL, quiet_quiesce, &quiet, true, 3, 2},
		{"lee_memb", lee_memb_enter, lee_memb_leave, NULL, &lee_memb, false, 2, 1},
		{"lee_bp", lee_bp_enter, lee_bp_leave, NULL, &lee_bp, false, 2, 1},
		{"lee_mb", lee_mb_enter, lee_mb_leave, NULL, &lee_mb, true, 2, 1},
		{"lee_qsbr", NULL, NULL, lee_qsbr_quiesce, &lee_qsbr, true, 2, 1},
	};
	size_t at;

	rcu_begin();
	for (at = 0; at < sizeof programs / sizeof *programs; at++) {
		if (programs[at].enter != NULL)
			the_rules(programs[at].enter, programs[at].leave, programs[at].domain);
		explore(&programs[at]);
	}
	return check_end("rcu_model");
}
#else
int main(void)
{
	rcu_begin();
	printf("rcu_model: skipped: there are no contexts in this C library\n");
	return check_end("rcu_model");
}
#endif
