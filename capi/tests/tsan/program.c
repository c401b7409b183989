/*
 * What a program does in RCU, from start to end, each step after the other by flags that order
 * nothing. With an argument one thing is left out, and then two accesses are a race: the thread
 * sanitizer must report it, and nothing otherwise.
 */
#include "../check.h"

#include <leeward/rcu.h>

struct object {
	struct lee_head head;
	int value;
};

static struct object first, second = {{NULL, NULL}, 2}, third = {{NULL, NULL}, 3}, fourth, *current;
static int now, seen;
static const char *omitted = "";

static bool has(const char *what)
{
	return strcmp(omitted, what) != 0;
}

/* Flags in which the sanitizer sees no order. */
static void tell(int step)
{
	__atomic_store_n(&now, step, __ATOMIC_RELAXED);
}

static void await(int step)
{
	while (__atomic_load_n(&now, __ATOMIC_RELAXED) != step)
		check_nap(1);
}

static void *reads(void *unused)
{
	(void)unused;
	await(1);
	if (has("section"))
		lee_memb_read_lock();
	seen += lee_dereference(current)->value;
	if (has("section"))
		lee_memb_read_unlock();
	tell(2);
	await(3);
	lee_memb_read_lock();
	seen += lee_dereference(current)->value;
	lee_memb_read_unlock();
	tell(4);
	await(5);
	/* A reader of QSBR, which holds something until its quiescent state. */
	lee_qsbr_online();
	seen += lee_dereference(current)->value;
	tell(6);
	/* Seldom: after thousands of events the sanitizer forgets what came before. */
	while (__atomic_load_n(&now, __ATOMIC_RELAXED) == 6) {
		check_nap(1);
		lee_qsbr_quiescent();
	}
	lee_qsbr_unregister();
	return NULL;
}

static void ends(struct lee_head *head)
{
	((struct object *)(void *)head)->value++;
	tell(8);
}

int main(int count, char **arguments)
{
	struct lee_cookie cookie;
	pthread_t reader;

	check_begin();
	if (count > 1)
		omitted = arguments[1];
	reader = check_start(reads, NULL);
	first.value = 1;
	if (has("publication"))
		lee_publish(current, &first);
	else
		__atomic_store_n(&current, &first, __ATOMIC_RELAXED);
	tell(1);

	await(2);
	lee_publish(current, &second);
	if (has("grace period"))
		CHECK_EQ(lee_memb_synchronize(), 0);
	first.value = 2;
	tell(3);

	await(4);
	lee_publish(current, &third);
	cookie = lee_memb_start_poll();
	while (has("poll") && !lee_memb_poll(cookie))
		check_nap(1);
	second.value = 3;
	tell(5);

	await(6);
	if (has("quiescent state"))
		CHECK_EQ(lee_qsbr_synchronize(), 0);
	third.value = 4;
	tell(7);

	fourth.value = 5;
	lee_memb_defer(&fourth.head, ends);
	await(8);
	if (has("barrier"))
		CHECK_EQ(lee_memb_barrier(), 0);
	fourth.value = 7;
	check_join(reader);
	CHECK_EQ(seen, 1 + 2 + 3);
	return check_end("program");
}
