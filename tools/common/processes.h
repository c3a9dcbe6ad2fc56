/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who started whom: a job is named by any of its processes or by what has started them.  What
 * processes show: unnamed files that they hold open.
 */
#ifndef DNET_TOOLS_PROCESSES_H
#define DNET_TOOLS_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

/** State of a process as ps shows it: R, S, T and so on; 0: there is no such process. */
char tool_run_state(int32_t pid);

/** @return the parent of a process; 0: there is no such process */
int32_t tool_parent_of(int32_t pid);

/** Is `pid` the process `ancestor`, or has that started it, by whatever steps? */
bool tool_descends(int32_t pid, int32_t ancestor);

/** What is done with a descriptor's path, as in /proc/PID/fd.  @return whether it was what it is
 * called
 */
typedef bool (*tool_memfd_fn)(void *arg, int32_t pid, const char *path);

/** Visit the unnamed files of a process that were made with that name, until a visit returns true.
 * @return whether one did */
bool tool_memfd_of(int32_t pid, const char *name, tool_memfd_fn visit, void *arg);

/** The same with each process that `ancestor` has started; 0: with all that may be looked into. */
void tool_memfds_below(int32_t ancestor, const char *name, tool_memfd_fn visit, void *arg);

#endif
