/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One-line log messages on stderr.  The first function that knows a cause logs it, once, and
 * returns a status; its callers pass the status up.
 *
 * Level by environment: DIMMNET_LOG=error|warn|info|debug|trace (default warn).
 * Line: "dimmnet[<who>] <level>: <text>", who = pid, or what dnet_log_identity() set.
 */
#ifndef DNET_COMMON_LOG_H
#define DNET_COMMON_LOG_H

#include "common/compiler.h"

typedef enum {
    DNET_LOG_ERROR,
    DNET_LOG_WARN,
    DNET_LOG_INFO,
    DNET_LOG_DEBUG,
    DNET_LOG_TRACE,
} dnet_log_level_t;

/* Read by the macros below; set once by dnet_log_init(). */
extern dnet_log_level_t dnet_log_threshold;

/** Read DIMMNET_LOG.  A value that is not a level gets one warning naming the levels. */
void dnet_log_init(void);

/** Name the process in later lines, for example "rank 3".  Copied; at most 31 bytes are kept. */
void dnet_log_identity(const char *who);

/** Write one line, whatever the threshold.  Callers use dnet_error() and the other macros below.
 */
__attribute__((format(printf, 2, 3))) void dnet_log_line(dnet_log_level_t level, const char *fmt,
                                                         ...);

#define DNET_LOG_AT(level, ...) \
    do { \
        if (DNET_UNLIKELY((level) <= dnet_log_threshold)) \
            dnet_log_line((level), __VA_ARGS__); \
    } while (0)

#define dnet_error(...) DNET_LOG_AT(DNET_LOG_ERROR, __VA_ARGS__)
#define dnet_warn(...) DNET_LOG_AT(DNET_LOG_WARN, __VA_ARGS__)
#define dnet_info(...) DNET_LOG_AT(DNET_LOG_INFO, __VA_ARGS__)
#define dnet_debug(...) DNET_LOG_AT(DNET_LOG_DEBUG, __VA_ARGS__)

#endif
