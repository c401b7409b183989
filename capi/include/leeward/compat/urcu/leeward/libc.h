/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/leeward/libc.h: two functions of the C library under names of our own. Its headers declare
 * them only where a feature macro asks for more than ISO C, and these headers work without one.
 */
#ifndef LEEWARD_COMPAT_URCU_LEEWARD_LIBC_H
#define LEEWARD_COMPAT_URCU_LEEWARD_LIBC_H

#ifdef __cplusplus
extern "C" {
#endif

long lee_1_urcu_syscall(long number, ...) __asm__("syscall");
int lee_1_urcu_usleep(unsigned int microseconds) __asm__("usleep");

#ifdef __cplusplus
}
#endif

#endif
