/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who started whom: a job is named by any of its processes or by what has started them.
 */
#ifndef DNET_TOOLS_PROCESSES_H
#define DNET_TOOLS_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

/** @return the parent of a process; 0: there is no such process */
int32_t tool_parent_of(int32_t pid);

/** Is `pid` the process `ancestor`, or has that started it, by whatever steps? */
bool tool_descends(int32_t pid, int32_t ancestor);

#endif
