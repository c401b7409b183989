/* The source that defines the domains which routes.h declares. */
#include "routes.h"

LEE_DEFINE_DOMAIN(routes);
LEE_DEFINE_DOMAIN_FULL(rules);
LEE_DEFINE_DOMAIN_QSBR(jobs);

struct lee_domain *routes_there(int which)
{
	return which == 0 ? &routes : which == 1 ? &rules : &jobs;
}

void enter_there(int which)
{
	which == 0 ? routes_read_lock() : which == 1 ? rules_read_lock() : jobs_online();
}

void leave_there(int which)
{
	which == 0 ? routes_read_unlock() : which == 1 ? rules_read_unlock() : jobs_offline();
}

bool is_inside_there(int which)
{
	return which == 0 ? routes_is_inside() : which == 1 ? rules_is_inside() : jobs_is_inside();
}
