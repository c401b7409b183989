/*
 * Two shared libraries that define a domain of the same global name: one domain, if both define it
 * alike; else the process ends before main.
 */
#include "rcu_check.h"

#include <leeward/rcu.h>

LEE_1_BEGIN
struct lee_domain *first_domain(void);
struct lee_domain *second_domain(void);
LEE_1_END

int main(void)
{
	rcu_begin();
	CHECK(first_domain() == second_domain());
	return check_end("rcu/one_name");
}
