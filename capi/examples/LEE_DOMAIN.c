/* A domain that several sources share would be split at the comment. */

#include <leeward/rcu.h>

LEE_DECLARE_DOMAIN(routes);             /* in routes.h */

LEE_DEFINE_DOMAIN(routes);              /* in routes.c */

LEE_DOMAIN_QSBR(jobs);                  /* of this file alone */

static int hops_of(struct lee_domain *domain, int **table)
{
	lee_domain_read_lock(domain);
	int hops = *lee_dereference(*table);
	lee_domain_read_unlock(domain);
	return hops;
}

int main(void)
{
	static int hops = 3;
	int *table = &hops, direct;

	routes_read_lock();
	direct = *lee_dereference(table);
	routes_read_unlock();
	if (jobs_register() != 0)
		return 1;
	jobs_quiescent();
	return direct == hops_of(&routes, &table) && routes_synchronize() == 0 ? 0 : 1;
}
