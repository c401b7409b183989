/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/tls-compat.h, leeward's: variables of which each thread has its own, by the compiler's
 * keyword. DECLARE_ and DEFINE_ may stand behind `static` or `extern`; URCU_TLS(name) is an lvalue.
 */
#ifndef LEEWARD_COMPAT_URCU_TLS_COMPAT_H
#define LEEWARD_COMPAT_URCU_TLS_COMPAT_H

#include "arch.h"
#include "compiler.h"
#include "config.h"

#define URCU_TLS_STORAGE_CLASS __thread

#define DECLARE_URCU_TLS(type, name) URCU_TLS_STORAGE_CLASS __typeof__(type) name
#define DEFINE_URCU_TLS(type, name) URCU_TLS_STORAGE_CLASS __typeof__(type) name
#define DEFINE_URCU_TLS_INIT(type, name, init) URCU_TLS_STORAGE_CLASS __typeof__(type) name = (init)

#define URCU_TLS(name) (name)

#endif
