/*
 * Two shared libraries that each have a domain of the name `config`, one by LEE_DOMAIN and one by
 * LEE_DOMAIN_FULL, in one program that has such a name, too: three domains, of which none waits for
 * another's readers.
 */
#include "rcu_check.h"

#include <leeward/rcu.h>

LEE_DOMAIN(config);

LEE_1_BEGIN
struct lee_domain *first_domain(void);
void first_enter(void);
void first_leave(void);
bool first_is_inside(void);
int first_synchronize(void);
struct lee_domain *second_domain(void);
void second_enter(void);
void second_leave(void);
bool second_is_inside(void);
int second_synchronize(void);
LEE_1_END

int main(void)
{
	rcu_begin();
	CHECK(first_domain() != second_domain());
	CHECK(first_domain() != &config && second_domain() != &config);
	CHECK_EQ(first_domain()->lee_1_readers, LEE_1_ASYMMETRIC);
	CHECK_EQ(second_domain()->lee_1_readers, LEE_1_FULL);
	first_enter();
	CHECK(first_is_inside() && !second_is_inside() && !config_is_inside());
	/* Refused, if the section were one of this domain. */
	CHECK_EQ(second_synchronize(), 0);
	CHECK_EQ(config_synchronize(), 0);
	second_enter();
	first_leave();
	CHECK(!first_is_inside() && second_is_inside());
	CHECK_EQ(first_synchronize(), 0);
	second_leave();
	return check_end("rcu/same_name");
}
