/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pages that ranks of running jobs show (src/endpoint/page.h), found by process.
 */
#ifndef DNET_TOOLS_PAGES_H
#define DNET_TOOLS_PAGES_H

#include "endpoint/page.h"

typedef struct {
    const dnet_page_t *
        *page; /* by job, by rank, then by VCI, mapped read-only; the list is the caller's */
    unsigned count;
} tool_pages_t;

/** Those of the job that a process belongs to or has started; pid 0: of all jobs of this user. */
tool_pages_t tool_pages_find(int32_t pid);

#endif
