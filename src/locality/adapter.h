/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How far a network adapter is from the processors of a process, by what the kernel says of it in
 * sysfs.  hwloc reads the same there, but loads the whole machine for it, which costs each rank
 * milliseconds (locality.h).
 */
#ifndef DNET_LOCALITY_ADAPTER_H
#define DNET_LOCALITY_ADAPTER_H

/** The nearest first. */
typedef enum {
    DNET_ADAPTER_NEAR,    /* near to each processor that the process may use, or said of none */
    DNET_ADAPTER_BETWEEN, /* to some of them */
    DNET_ADAPTER_FAR,     /* to none */
} dnet_adapter_distance_t;

/** @param folder  of the device, with a link `device`: /sys/class/infiniband/mlx5_0 */
dnet_adapter_distance_t dnet_adapter_distance(const char *folder);

/** The same as words behind a name: ", far"; nothing where it is near. */
const char *dnet_adapter_distance_text(dnet_adapter_distance_t distance);

#endif
