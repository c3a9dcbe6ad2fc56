/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Size of the paper's retransmission management table (section 3.1), for comparison with ours.
 */
#include "srq_flowctl/srq_flowctl.h"

uint64_t dnet_fc_table_bytes(uint64_t nodes, uint64_t processes)
{
    return nodes * ((processes + 63) / 64) * sizeof(uint64_t);
}
