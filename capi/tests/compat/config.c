/* urcu/config.h. */
#include <urcu/config.h>

#include "check.h"

int main(void)
{
    errno = UNTOUCHED;
    CHECK(CONFIG_RCU_SMP == 1);
    CHECK(CONFIG_RCU_TLS == 1);
    CHECK(CONFIG_RCU_HAVE_CLOCK_GETTIME == 1);
    CHECK(CONFIG_RCU_HAVE_MULTIFLAVOR == 1);
    return done("config");
}
