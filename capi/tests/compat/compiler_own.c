/* urcu/compiler.h where the program has its own caa_max and caa_min already: they stay. */
#define caa_max(a, b) 111
#define caa_min(a, b) 222
#include <urcu/compiler.h>

#include "check.h"

int main(void)
{
    errno = UNTOUCHED;
    CHECK(caa_max(1, 2) == 111);
    CHECK(caa_min(1, 2) == 222);
    return done("compiler_own");
}
