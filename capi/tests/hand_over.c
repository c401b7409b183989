/*
 * Two processes hand locks in a region on to one another, and are killed while they
 * have them. hand_over.rs plays the other side in Rust:
 *
 *     hand_over PATH SIDE ROUNDS DEATHS     plays the side 0 or 1 in the region PATH
 *     hand_over                             plays both sides
 *
 * A side is a keeper, whose workers are killed and replaced. There are three games:
 *
 * - By turns. In its turn a worker locks the robust mutex, knows what it must be told
 *   (the death of the other side's worker, in half of the turns), repairs, changes the
 *   first half of the account, gives the turn on, and is killed or changes the second
 *   half and unlocks.
 * - At random. Workers of both sides lock and unlock as fast as they can, and are
 *   killed after a random time, wherever they are.
 * - In peace: both sides count under the shared mutex, and take turns by the condition
 *   variable.
 */
#include "check.h"

#include <leeward/region.h>
#include <leeward/robust.h>
#include <leeward/shared.h>

/* What lies in the region; hand_over.rs has the same. */
struct account {
	uint64_t first;
	uint64_t second;
	uint64_t deaths; /* that were reported in the game at random */
	uint32_t holder; /* 1 and 2: the side; 0: none */
	uint32_t unused;
};

struct counter {
	struct lee_shared_mutex mutex;
	uint64_t count;
};

struct table {
	struct lee_robust_mutex mutex;
	struct account account;
	uint64_t round;                      /* of the game by turns: changed by its holder */
	struct lee_shared_semaphore turn[2]; /* a permit: this side's turn */
	struct lee_shared_barrier games;     /* where both sides begin and end a game */
	struct lee_shared_cond cond;
	struct counter counter; /* counts, then whose turn it is in its last bit */
};
LEE_1_ASSERT(sizeof(struct account) == 32 && offsetof(struct table, account) == 40 &&
		     offsetof(struct table, round) == 72 && offsetof(struct table, turn) == 80 &&
		     offsetof(struct table, games) == 88 && offsetof(struct table, cond) == 96 &&
		     offsetof(struct table, counter) == 128 && offsetof(struct counter, count) == 8 &&
		     sizeof(struct table) == 144,
	     "hand_over.rs has the same layout");

#define VERSION 1
#define COUNTS 3000

static const char *path;
static uint32_t side;
static uint64_t rounds, deaths;

static void make(void *value, void *unused)
{
	struct lee_shared_barrier both = LEE_SHARED_BARRIER_INIT(2);
	struct table *table = (struct table *)value;

	(void)unused;
	table->games = both;
	CHECK_EQ(lee_shared_semaphore_post(&table->turn[0]), 0);
}

/* Each process has a mapping of its own. */
static struct table *open_table(void)
{
	struct lee_region region;

	CHECK_EQ(lee_region_open(&region, path, sizeof(struct table), VERSION, make, NULL), 0);
	return (struct table *)region.value;
}

static void be_killed(void)
{
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

/* Returns true if the worker of this round is killed. */
static bool dies(uint64_t round)
{
	return round / 2 % 2 == 1;
}

/* Makes the account whole that the other side's worker left. */
static void repair(struct table *table)
{
	CHECK_EQ(table->account.first, table->account.second + 1);
	CHECK_EQ(table->account.holder, 2 - side);
	table->account.second = table->account.first;
	table->account.holder = 0;
	CHECK_EQ(lee_robust_mutex_consistent(&table->mutex), 0);
}

static void play_by_turns(void *unused)
{
	struct table *table = open_table();
	uint64_t round;
	int told;

	(void)unused;
	for (;;) {
		lee_shared_semaphore_wait(&table->turn[side]);
		round = __atomic_load_n(&table->round, __ATOMIC_RELAXED);
		if (round >= rounds) {
			CHECK_EQ(lee_shared_semaphore_post(&table->turn[!side]), 0);
			return;
		}
		CHECK_EQ(round % 2, side);
		KEEPS_ERRNO(told = lee_robust_mutex_lock(&table->mutex));
		CHECK_EQ(told, round > 0 && dies(round - 1) ? EOWNERDEAD : 0);
		if (told == EOWNERDEAD)
			repair(table);
		CHECK(table->account.first == round && table->account.second == round && table->account.holder == 0);
		table->account.first++;
		table->account.holder = side + 1;
		__atomic_store_n(&table->round, round + 1, __ATOMIC_RELAXED);
		CHECK_EQ(lee_shared_semaphore_post(&table->turn[!side]), 0);
		/* Now and then the other is asleep by then. */
		if (round % 64 == 0 || round % 64 == 3)
			check_nap(1);
		if (dies(round))
			be_killed();
		table->account.second++;
		table->account.holder = 0;
		KEEPS_ERRNO(CHECK_EQ(lee_robust_mutex_unlock(&table->mutex), 0));
	}
}

static void play_at_random(void *unused)
{
	struct table *table = open_table();

	(void)unused;
	for (;;) {
		int told = lee_robust_mutex_lock(&table->mutex);

		if (told == EOWNERDEAD) {
			CHECK(table->account.first - table->account.second <= 1);
			table->account.second = table->account.first;
			table->account.holder = 0;
			table->account.deaths++;
			CHECK_EQ(lee_robust_mutex_consistent(&table->mutex), 0);
		} else {
			CHECK_EQ(told, 0);
		}
		CHECK_EQ(table->account.holder, 0);
		table->account.holder = side + 1;
		CHECK_EQ(table->account.first, table->account.second);
		table->account.first++;
		if (table->account.first % 128 == 0)
			sched_yield();
		table->account.second++;
		CHECK_EQ(table->account.holder, side + 1);
		table->account.holder = 0;
		CHECK_EQ(lee_robust_mutex_unlock(&table->mutex), 0);
	}
}

static void play_in_peace(struct table *table)
{
	int i;

	for (i = 0; i < COUNTS; i++) {
		lee_shared_mutex_lock(&table->counter.mutex);
		table->counter.count += 2;
		lee_shared_mutex_unlock(&table->counter.mutex);
	}
	lee_shared_barrier_wait(&table->games);
	CHECK_EQ(table->counter.count, 4 * COUNTS);
	lee_shared_barrier_wait(&table->games);
	for (i = 0; i < COUNTS; i++) {
		lee_shared_mutex_lock(&table->counter.mutex);
		while (table->counter.count % 2 != side)
			CHECK_EQ(lee_shared_cond_wait(&table->cond, &table->counter.mutex), 0);
		table->counter.count++;
		if (i % 2 == 0)
			lee_shared_cond_signal(&table->cond, &table->counter.mutex);
		else
			lee_shared_cond_broadcast(&table->cond, NULL);
		lee_shared_mutex_unlock(&table->counter.mutex);
	}
	lee_shared_barrier_wait(&table->games);
	CHECK_EQ(table->counter.count, 6 * COUNTS);
}

/* Keeps a worker at the game by turns until it ends. */
static void keep_turns(void)
{
	int status;

	do
		status = check_reap(check_fork(play_by_turns, NULL));
	while (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
}

/* Kills one worker after the other. */
static void keep_random(void)
{
	uint64_t i, number = 88172645463325252u + side;
	struct timespec time;

	for (i = 0; i < deaths; i++) {
		pid_t worker = check_fork(play_at_random, NULL);

		number ^= number << 13;
		number ^= number >> 7;
		number ^= number << 17;
		time.tv_sec = 0;
		time.tv_nsec = (long)(number % 2000000);
		nanosleep(&time, NULL);
		kill(worker, SIGKILL);
		check_was_killed(worker);
	}
}

static void keep(void *which)
{
	struct table *table;
	int told;

	side = *(uint32_t *)which;
	table = open_table();
	keep_turns();
	lee_shared_barrier_wait(&table->games);
	CHECK_EQ(table->account.first, rounds);
	lee_shared_barrier_wait(&table->games);
	keep_random();
	lee_shared_barrier_wait(&table->games);
	told = lee_robust_mutex_lock(&table->mutex);
	CHECK(told == 0 || told == EOWNERDEAD);
	if (told == EOWNERDEAD) {
		CHECK_EQ(lee_robust_mutex_consistent(&table->mutex), 0);
		table->account.deaths++;
	}
	CHECK(deaths < 50 || table->account.deaths > 0);
	CHECK_EQ(lee_robust_mutex_unlock(&table->mutex), 0);
	lee_shared_barrier_wait(&table->games);
	play_in_peace(table);
}

static void play_both(void)
{
	char name[64];
	uint32_t sides[2] = { 0, 1 };
	pid_t other;

	snprintf(name, sizeof(name), "/dev/shm/leeward-hand-over-%d", (int)getpid());
	path = name;
	rounds = 1000;
	deaths = 100;
	other = check_fork(keep, &sides[1]);
	keep(&sides[0]);
	check_ends_well(other);
	CHECK_EQ(unlink(name), 0);
}

int main(int count, char **arguments)
{
	uint32_t mine;

	check_begin();
#ifndef __GLIBC__
	/* There are no robust mutexes here. */
	return check_end("hand_over");
#endif
	if (count == 1) {
		play_both();
		return check_end("hand_over");
	}
	CHECK_EQ(count, 5);
	path = arguments[1];
	mine = (uint32_t)strtoul(arguments[2], NULL, 10);
	rounds = strtoul(arguments[3], NULL, 10);
	deaths = strtoul(arguments[4], NULL, 10);
	CHECK(mine < 2);
	keep(&mine);
	return check_end("hand_over");
}
