/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/descriptors.h"

#include <sys/resource.h>

uint64_t dnet_descriptors_allow(uint64_t need)
{
    struct rlimit limit, more;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return UINT64_MAX;
    more = limit;
    more.rlim_cur = need < limit.rlim_max ? need : limit.rlim_max;
    if (limit.rlim_cur < more.rlim_cur && setrlimit(RLIMIT_NOFILE, &more) == 0)
        return more.rlim_cur;
    return limit.rlim_cur;
}
