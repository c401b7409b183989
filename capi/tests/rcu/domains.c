/*
 * Domains that one source defines and others use; that a shared library sees at the same addresses
 * as the program, however that was linked; and several flavours in one program.
 */
#include "rcu_check.h"
#include "routes.h"

#ifdef WITH_LIBRARY
LEE_1_BEGIN
void library_addresses(const void *addresses[6]);
void library_enter(void);
void library_leave(void);
bool library_is_inside(void);
int library_own_domains(void);
LEE_1_END

/* One address for each symbol, from all sides. */
static void addresses_agree(void)
{
	const void *addresses[6];
	struct lee_cookie cookie;
	uint64_t before = lee_memb.lee_1_epoch;
	struct lee_stats stats;

	library_addresses(addresses);
	CHECK(addresses[0] == &lee_memb && addresses[1] == &lee_bp && addresses[2] == &lee_mb);
	CHECK(addresses[3] == &lee_qsbr && addresses[4] == &lee_1_unregistered);
	CHECK(addresses[5] == &lee_1_memb_slot);
	/* And from libleeward: what it advances, and what it takes for a thread without a slot. */
	cookie = lee_domain_start_poll(&lee_memb);
	EVENTUALLY(lee_memb_poll(cookie));
	CHECK(lee_memb.lee_1_epoch > before);
	CHECK(*lee_memb.lee_1_place() == lee_1_memb_slot);
	CHECK(*lee_qsbr.lee_1_place() == &lee_1_unregistered);
	lee_memb_read_lock();
	CHECK(*lee_memb.lee_1_place() == lee_1_memb_slot && lee_1_memb_slot != &lee_1_unregistered);
	CHECK(library_is_inside() == lee_mb_is_inside());
	library_enter();
	CHECK(lee_mb_is_inside() && library_is_inside());
	lee_memb_read_unlock();
	CHECK(library_is_inside());
	library_leave();
	CHECK(!lee_memb_is_inside());
	lee_memb_stats(&stats);
	CHECK(stats.readers >= 1);
	CHECK_EQ(library_own_domains(), 0);
}

/* What libleeward repairs in the child of a fork is what the program uses. */
static int is_there, may_leave;

static void *stays_inside(void *argument)
{
	(void)argument;
	lee_memb_read_lock();
	routes_read_lock();
	SET(is_there, 1);
	while (!GET(may_leave))
		sleep_us(50);
	routes_read_unlock();
	lee_memb_read_unlock();
	return NULL;
}

static bool is_repaired(void)
{
	return lee_memb_synchronize() == 0 && routes_synchronize() == 0;
}

static void forks(void)
{
	pthread_t other = check_start(stays_inside, NULL);

	EVENTUALLY(GET(is_there));
	IN_CHILD(is_repaired);
	SET(may_leave, 1);
	check_join(other);
}
#else
static void addresses_agree(void)
{
}

static void forks(void)
{
}
#endif

/* A section that one source opens and another closes. */
static int state;

static void *reads_in_both(void *argument)
{
	const int which = (int)(intptr_t)argument;

	if (which == 2) {
		CHECK(!jobs_is_inside());
		enter_there(which);
		CHECK(jobs_is_inside() && is_inside_there(which));
	} else {
		which == 0 ? routes_read_lock() : rules_read_lock();
		CHECK(is_inside_there(which));
		enter_there(which);
		which == 0 ? routes_read_unlock() : rules_read_unlock();
		CHECK(is_inside_there(which) && (which == 0 ? routes_is_inside() : rules_is_inside()));
	}
	SET(state, 1);
	while (GET(state) == 1)
		sleep_us(50);
	leave_there(which);
	CHECK(!is_inside_there(which));
	return NULL;
}

static void *waits(void *argument)
{
	const int which = (int)(intptr_t)argument;

	CHECK_EQ(which == 0 ? routes_synchronize() : which == 1 ? rules_synchronize() : jobs_synchronize(), 0);
	CHECK_EQ(GET(state), 2);
	return NULL;
}

static void in_both(int which)
{
	pthread_t reader, writer;

	state = 0;
	CHECK(routes_there(which) == (which == 0 ? &routes : which == 1 ? &rules : &jobs));
	CHECK_EQ((uintptr_t)routes_there(which) % 128, 0);
	reader = check_start(reads_in_both, (void *)(intptr_t)which);
	EVENTUALLY(GET(state) == 1);
	writer = check_start(waits, (void *)(intptr_t)which);
	sleep_us(2000);
	SET(state, 2);
	check_join(writer);
	check_join(reader);
}

/* Sections of all flavours at once, none of which another one's writers wait for. */
static void several_flavours(void)
{
	lee_memb_read_lock();
	CHECK(lee_memb_is_inside() && !lee_bp_is_inside() && !lee_mb_is_inside() && !routes_is_inside());
	CHECK(lee_bp_synchronize() == 0 && lee_mb_synchronize() == 0 && lee_qsbr_synchronize() == 0);
	lee_bp_read_lock();
	lee_mb_read_lock();
	routes_read_lock();
	rules_read_lock();
	CHECK_EQ(lee_qsbr_register(), 0);
	CHECK_EQ(jobs_synchronize(), 0);
	lee_memb_read_unlock();
	CHECK(!lee_memb_is_inside() && lee_bp_is_inside() && lee_mb_is_inside() && routes_is_inside());
	CHECK_EQ(lee_memb_synchronize(), 0);
	lee_bp_read_unlock();
	lee_mb_read_unlock();
	rules_read_unlock();
	routes_read_unlock();
	lee_qsbr_unregister();
	CHECK(lee_mb_synchronize() == 0 && routes_synchronize() == 0 && lee_qsbr_synchronize() == 0);
}

int main(void)
{
	rcu_begin();
	addresses_agree();
	forks();
	in_both(0);
	in_both(1);
	in_both(2);
	several_flavours();
	return check_end("rcu/domains");
}
