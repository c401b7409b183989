/*
 * A shared library: it has domains of its own if OWN_DOMAINS is defined, uses those of libleeward,
 * and says at which addresses it sees them.
 */
#include <leeward/rcu.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif
void library_addresses(const void *addresses[6]);
void library_enter(void);
void library_leave(void);
bool library_is_inside(void);
int library_read(void);
void library_publish(int value);
int library_callbacks(void);
void library_defer(void);
int library_barrier(void);
int library_own_domains(void);

void library_addresses(const void *addresses[6])
{
	addresses[0] = &lee_memb;
	addresses[1] = &lee_bp;
	addresses[2] = &lee_mb;
	addresses[3] = &lee_qsbr;
	addresses[4] = &lee_1_unregistered;
	addresses[5] = &lee_1_memb_slot;
}

void library_enter(void)
{
	lee_memb_read_lock();
	lee_mb_read_lock();
}

void library_leave(void)
{
	lee_mb_read_unlock();
	lee_memb_read_unlock();
}

bool library_is_inside(void)
{
	return lee_memb_is_inside() && lee_mb_is_inside();
}

static int *value;

int library_read(void)
{
	int read;

	library_enter();
	read = *lee_dereference(value);
	library_leave();
	return read;
}

void library_publish(int next)
{
	int *fresh = (int *)malloc(sizeof *fresh), *old;

	*fresh = next;
	old = lee_exchange(value, fresh);
	if (lee_memb_synchronize() == 0)
		free(old);
}

static int called;

/* The code of this function goes with the library: its user waits for it before. */
static void call(struct lee_head *head)
{
	free(head);
	__atomic_add_fetch(&called, 1, __ATOMIC_RELAXED);
}

void library_defer(void)
{
	lee_memb_defer((struct lee_head *)malloc(sizeof(struct lee_head)), call);
}

int library_barrier(void)
{
	return lee_memb_barrier();
}

int library_callbacks(void)
{
	return __atomic_load_n(&called, __ATOMIC_RELAXED);
}

#ifdef OWN_DOMAINS
LEE_DOMAIN(library_routes);
LEE_DOMAIN_FULL(library_rules);
LEE_DOMAIN_QSBR(library_jobs);

/* Uses the library's own domains on the calling thread; returns 0 if all went well. */
int library_own_domains(void)
{
	int wrong = 0;

	library_routes_read_lock();
	library_rules_read_lock();
	wrong += library_routes_is_inside() && library_rules_is_inside() ? 0 : 1;
	library_rules_read_unlock();
	library_routes_read_unlock();
	wrong += library_jobs_register() == 0 && library_jobs_is_inside() ? 0 : 2;
	wrong += library_jobs_synchronize() == 0 && library_jobs_is_inside() ? 0 : 4;
	library_jobs_quiescent();
	/* Other threads that are online here are not to wait for each other's sections there. */
	library_jobs_offline();
	wrong += library_routes_synchronize() == 0 && library_rules_synchronize() == 0 ? 0 : 8;
	library_jobs_unregister();
	return wrong;
}
#else
int library_own_domains(void)
{
	return -1;
}
#endif
#ifdef __cplusplus
}
#endif
