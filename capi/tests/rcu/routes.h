/* Domains of the test's own, as a header declares them that several sources include. */
#ifndef ROUTES_H
#define ROUTES_H

#include <leeward/rcu.h>

LEE_DECLARE_DOMAIN(routes);
LEE_DECLARE_DOMAIN_FULL(rules);
LEE_DECLARE_DOMAIN_QSBR(jobs);

#ifdef __cplusplus
extern "C" {
#endif
/* What the source that defines the domains does with them, seen from there. */
struct lee_domain *routes_there(int which);
void enter_there(int which);
void leave_there(int which);
bool is_inside_there(int which);
#ifdef __cplusplus
}
#endif

#endif
