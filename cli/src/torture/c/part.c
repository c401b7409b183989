/*
 * The C part of `leeward torture c`: readers and writers of the four domains, with what
 * <leeward/rcu.h> has the compiler inline. part.rs declares the same for Rust.
 */
#include <leeward/rcu.h>

enum { ROOTS = 64, PLACES = 1 << 14, WORDS = 32 };

/* A published name, alone on its line. */
struct line {
	uint64_t name __attribute__((__aligned__(64)));
};

/* The objects of a domain, by arena.rs: a name's object is at its number modulo PLACES. */
struct objects {
	const struct line *roots;
	const uint64_t (*words)[WORDS];
	/* What is told when an object is not what its name says. */
	void (*report)(uint64_t name, uint64_t word);
};

/* What the Rust part calls in a domain. */
struct part {
	int (*enroll)(void);
	void (*unregister)(void);
	void (*enter)(void);
	void (*leave)(void);
	void (*online)(void);
	void (*offline)(void);
	void (*quiescent)(void);
	int (*synchronize)(void);
	struct lee_cookie (*start_poll)(void);
	bool (*poll)(struct lee_cookie cookie);
	void (*defer)(struct lee_head *head, void (*func)(struct lee_head *head));
	int (*barrier)(void);
	/* Reads so many times. */
	void (*spell)(const struct objects *objects, uint64_t *random, unsigned count);
};

extern const struct part leeward_torture_memb, leeward_torture_bp, leeward_torture_mb, leeward_torture_qsbr;

/* xorshift64*: a number that is not 0 determines those that follow. */
static uint64_t next(uint64_t *random)
{
	*random ^= *random >> 12;
	*random ^= *random << 25;
	*random ^= *random >> 27;
	return *random * UINT64_C(0x2545F4914F6CDD1D) >> 20;
}

/* Computes for about so many nanoseconds, without memory. */
static void think(uint64_t turns)
{
	while (turns-- != 0)
		__asm__ volatile("" : "+r"(turns));
}

static uint64_t look(const struct objects *objects, uint64_t random)
{
	return lee_dereference(objects->roots[random % ROOTS].name);
}

/* Checks that the object of that name is alive: two words in each of its lines. */
static void check(const struct objects *objects, uint64_t name)
{
	static const unsigned char canaries[] = {0, 7, 9, 15, 16, 23, 26, 31};
	const uint64_t *words = objects->words[name % PLACES];
	unsigned i;

	for (i = 0; i < sizeof canaries; i++) {
		const unsigned at = canaries[i];
		const uint64_t word = __atomic_load_n(&words[at], __ATOMIC_RELAXED);
		uint64_t expected = name * UINT64_C(0x9e3779b97f4a7c15);

		if (at != 0)
			expected = expected << at | expected >> (64 - at);
		if (word != (expected ^ at)) {
			objects->report(name, word);
			return;
		}
	}
}

/* How long a section lasts: seldom long. */
static uint64_t pause_of(uint64_t *random)
{
	return next(random) % (next(random) % 8 == 0 ? 2000 : 400);
}

/* Sections, some with another one within, which ends before they do. */
#define SECTIONS(domain) \
	static void domain##_spell(const struct objects *objects, uint64_t *random, unsigned count) \
	{ \
		while (count-- != 0) { \
			const uint64_t wait = pause_of(random), choice = next(random), other = next(random); \
			uint64_t first, second; \
\
			domain##_read_lock(); \
			first = look(objects, choice); \
			think(wait); \
			if (choice % 128 < 32) { \
				domain##_read_lock(); \
				second = look(objects, other); \
				think(wait); \
				domain##_read_unlock(); \
				check(objects, second); \
			} \
			check(objects, first); \
			domain##_read_unlock(); \
		} \
	}

/* What is held between two quiescent states. */
#define QUIESCENT_STATES(domain) \
	static void domain##_spell(const struct objects *objects, uint64_t *random, unsigned count) \
	{ \
		while (count-- != 0) { \
			const uint64_t wait = pause_of(random); \
			const uint64_t first = look(objects, next(random)), second = look(objects, next(random)); \
\
			think(wait); \
			check(objects, first); \
			check(objects, second); \
			domain##_quiescent(); \
		} \
	}

/* The functions of a domain, as functions. */
#define FUNCTIONS(domain) \
	static int domain##_enroll(void) { return domain##_register(); } \
	static void domain##_retire(void) { domain##_unregister(); } \
	static void domain##_enter(void) { domain##_read_lock(); } \
	static void domain##_leave(void) { domain##_read_unlock(); } \
	static int domain##_waits(void) { return domain##_synchronize(); } \
	static struct lee_cookie domain##_asks(void) { return domain##_start_poll(); } \
	static bool domain##_polls(struct lee_cookie cookie) { return domain##_poll(cookie); } \
	static void domain##_defers(struct lee_head *head, void (*func)(struct lee_head *head)) \
	{ \
		domain##_defer(head, func); \
	} \
	static int domain##_drains(void) { return domain##_barrier(); }

#define PART(domain, online, offline, quiescent) \
	{ \
		domain##_enroll, domain##_retire, domain##_enter, domain##_leave, online, offline, quiescent, \
			domain##_waits, domain##_asks, domain##_polls, domain##_defers, domain##_drains, domain##_spell \
	}

SECTIONS(lee_memb)
SECTIONS(lee_bp)
SECTIONS(lee_mb)
QUIESCENT_STATES(lee_qsbr)
FUNCTIONS(lee_memb)
FUNCTIONS(lee_bp)
FUNCTIONS(lee_mb)
FUNCTIONS(lee_qsbr)

static void goes_online(void) { lee_qsbr_online(); }
static void goes_offline(void) { lee_qsbr_offline(); }
static void is_quiescent(void) { lee_qsbr_quiescent(); }
/* Readers with sections are neither online nor offline. */
static void nothing(void) { }

const struct part leeward_torture_memb = PART(lee_memb, nothing, nothing, nothing);
const struct part leeward_torture_bp = PART(lee_bp, nothing, nothing, nothing);
const struct part leeward_torture_mb = PART(lee_mb, nothing, nothing, nothing);
const struct part leeward_torture_qsbr = PART(lee_qsbr, goes_online, goes_offline, is_quiescent);
