/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The emulations of futexes under the names by which liburcu's inline code calls them after an
 * ENOSYS. Each flavour's library and libleeward-urcu-common define them, as liburcu's do.
 */
#ifndef LEEWARD_URCU_COMPAT_FUTEX_H
#define LEEWARD_URCU_COMPAT_FUTEX_H

#include <urcu/futex.h>

__attribute__((__visibility__("default"))) int compat_futex_noasync(int32_t *uaddr, int op, int32_t val,
                                                                    const struct timespec *timeout, int32_t *uaddr2,
                                                                    int32_t val3)
{
    (void)uaddr2;
    (void)val3;
    return lee_1_urcu_futex_emulate(uaddr, op, val, timeout);
}

__attribute__((__visibility__("default"))) int compat_futex_async(int32_t *uaddr, int op, int32_t val,
                                                                  const struct timespec *timeout, int32_t *uaddr2,
                                                                  int32_t val3)
{
    return compat_futex_noasync(uaddr, op, val, timeout, uaddr2, val3);
}

#endif
