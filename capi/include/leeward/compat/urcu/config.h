/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/config.h, leeward's: how the library that stands behind these headers was configured. Its
 * answers are the same on every machine, because leeward decides at run time what liburcu decides
 * when it is built.
 *
 * All headers of this folder name each other by relative paths, so that no program gets one header
 * of leeward and another of liburcu.
 */
#ifndef LEEWARD_COMPAT_URCU_CONFIG_H
#define LEEWARD_COMPAT_URCU_CONFIG_H

/* Programs run on machines with several processors. */
#define CONFIG_RCU_SMP 1

/* Thread-local storage is the compiler's (urcu/tls-compat.h). */
#define CONFIG_RCU_TLS 1

/* clock_gettime() exists. */
#define CONFIG_RCU_HAVE_CLOCK_GETTIME 1

/* One program can use several flavours. */
#define CONFIG_RCU_HAVE_MULTIFLAVOR 1

#endif
