/*
 * What a program's compiler makes of the header: the bytes of a domain that it defines (of which
 * leeward/src/rcu/c/tests.rs says that they are Rust's), alignments, and the macros for pointers.
 */
#include "rcu_domains.h"

/* Not used before the test looks. */
LEE_DOMAIN(untouched);
LEE_DOMAIN_FULL(untouched_full);
LEE_DOMAIN_QSBR(untouched_qsbr);

static void bytes_of(const struct lee_domain *domain, uint32_t readers, const char *name)
{
	static struct lee_domain zeros;
	struct lee_domain copy;

	CHECK_EQ((uintptr_t)domain % 128, 0);
	memcpy((void *)&copy, (const void *)domain, sizeof copy);
	CHECK_EQ(copy.lee_1_epoch, 1);
	CHECK_EQ(copy.lee_1_readers, readers);
	CHECK_EQ(copy.lee_1_version, 1);
	CHECK(copy.lee_1_place != NULL && *copy.lee_1_place() == &lee_1_unregistered);
	copy.lee_1_epoch = 0;
	copy.lee_1_readers = copy.lee_1_version = 0;
	copy.lee_1_place = NULL;
	CHECK(strcmp(copy.lee_1_name, name) == 0);
	copy.lee_1_name = NULL;
	CHECK_EQ(memcmp((void *)&copy, (const void *)&zeros, sizeof copy), 0);
}

/* The slot of threads that are not registered takes every reader to the library. */
static void the_slot_of_nobody(void)
{
	CHECK_EQ((uintptr_t)&lee_1_unregistered % 128, 0);
	CHECK(lee_1_unregistered.epoch != 0 && (int64_t)lee_1_unregistered.extra < 0);
	CHECK_EQ(lee_1_unregistered.owner, 0);
	CHECK(!lee_memb_is_inside() && !lee_1_is_inside(&lee_1_unregistered));
}

/* Pointers of every kind, in members, through const, and null. */
struct node {
	const struct node *next;
	int value;
};

static struct node *volatile shared;
static int evaluated;

static struct node **place(struct node **of)
{
	evaluated++;
	return of;
}

static void pointers(void)
{
	static struct node last = {NULL, 2};
	static struct node first = {&last, 1};
	const struct node *const constant = &first;
	struct node *one = &first;
	const struct node *through = lee_dereference(constant->next);
	void *untyped = &last;

	CHECK(through == &last && lee_dereference(untyped) == &last);
	CHECK(lee_dereference(*place(&one)) == &first && evaluated == 1);
	lee_publish(*place(&one), &last);
	CHECK(one == &last && evaluated == 2);
	CHECK(lee_exchange(*place(&one), &first) == &last && one == &first && evaluated == 3);
	lee_publish(one, NULL);
	CHECK(lee_dereference(one) == NULL);
	lee_publish(shared, &last);
	CHECK(lee_dereference(shared) == &last);
	CHECK(lee_exchange(shared, NULL) == &last && shared == NULL);
}

int main(void)
{
	rcu_begin();
	bytes_of(&untouched, LEE_1_ASYMMETRIC, "untouched");
	bytes_of(&untouched_full, LEE_1_FULL, "untouched_full");
	bytes_of(&untouched_qsbr, LEE_1_QSBR, "untouched_qsbr");
	the_slot_of_nobody();
	pointers();
	/* They work as they are. */
	CHECK(untouched_synchronize() == 0 && untouched_full_synchronize() == 0 && untouched_qsbr_synchronize() == 0);
	return check_end("rcu_layout");
}
