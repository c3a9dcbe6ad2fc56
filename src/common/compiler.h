/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the compiler is told beside the language.
 */
#ifndef DNET_COMMON_COMPILER_H
#define DNET_COMMON_COMPILER_H

/** The condition holds nearly always, or hardly ever. */
#define DNET_LIKELY(x) __builtin_expect(!!(x), 1)
#define DNET_UNLIKELY(x) __builtin_expect(!!(x), 0)
/** Not on the way of an ordinary message: kept out of its cache lines. */
#define DNET_COLD __attribute__((cold, noinline))

#endif
