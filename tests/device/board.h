/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A small driver of the tests' own: it knows the memory map and nothing else of the project.  A
 * cluster is a few NICs in this process, each with both WIDs open.
 */
#ifndef DNET_TESTS_BOARD_H
#define DNET_TESTS_BOARD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dimmnet/emulator.h"

#define BOARD_NODES 3

typedef struct {
    dnet_emu_nic_t *nic[BOARD_NODES];
    dnet_device_t *dev[BOARD_NODES][2];
    uint16_t lid[BOARD_NODES];
    dnet_profile_t profile;
} cluster_t;

/* A request before it is issued. */
typedef struct {
    dnet_prim_t type;
    unsigned dtype, iteration, dwid, dclid;
    bool eflag;
    uint32_t size; /* or Stride, or List */
    uint32_t src, dst;
    bool command1;
} request_t;

/* The fields of a packet's first header line and the other lines. */
typedef struct {
    dnet_prim_t type;
    unsigned dwid, swid, dlid, dtype, iteration;
    bool rflag, eflag, hflag, lflag;
    uint64_t line2, line3, line4;
} header_t;

void cluster_up(cluster_t *c, dnet_profile_t profile, const dnet_emu_config_t *options);
void cluster_down(cluster_t *c);

void user_store(dnet_device_t *dev, uint32_t offset, uint64_t value);
uint64_t user_load(const dnet_device_t *dev, uint32_t offset);
void system_store(dnet_device_t *dev, uint32_t offset, uint64_t value);
uint64_t system_load(const dnet_device_t *dev, uint32_t offset);

void issue(dnet_device_t *dev, const request_t *r);
/* Put a packet image into a Write Window and issue BOTF; returns the image's bytes. */
unsigned botf(dnet_device_t *dev, unsigned ww, const header_t *h, const void *data, unsigned bytes);
uint64_t first_line(const header_t *h);

/* SO-DIMM reached the data sheet's way: VS from Write Window 3, VL into Prefetch Window 3. */
void sodimm_write(dnet_device_t *dev, uint32_t offset, const void *from, uint32_t bytes);
void sodimm_read(dnet_device_t *dev, uint32_t offset, void *to, uint32_t bytes);
void sodimm_fill(dnet_device_t *dev, uint32_t offset, uint8_t value, uint32_t bytes);

uint64_t llcm_word(const dnet_device_t *dev, uint32_t offset);
void llcm_store(dnet_device_t *dev, uint32_t offset, uint64_t value);

/* Give `dev` an IPUSH ring of `units` x 4 KB at `start` for a sender, through AMT word `word`. */
void ring_set(cluster_t *c, unsigned node, unsigned wid, unsigned sender, unsigned swid,
              unsigned word, uint32_t start, unsigned units);

/* 0 BOTF 1 VL 2 VS 3 RVL 4 RVS 5 IPUSH */
unsigned counter(const dnet_device_t *dev, unsigned family);
bool bit(const dnet_device_t *dev, unsigned n); /* of Controller Status */

/* [X.6] Of the last request: DNET_REPORT_... */
static inline uint32_t outcome(const dnet_device_t *dev)
{
    return (uint32_t) user_load(dev, DNET_UREG_STOP_REPORT);
}

/* A test runs in a process of its own, on a cluster of its own; profiles: 1 prototype, 2 extended.
 */
typedef struct {
    const char *name;
    void (*run)(cluster_t *c);
    unsigned profiles;
} board_test_t;
#define PROTOTYPE 1u
#define EXTENDED 2u
#define BOTH 3u
#define TEST(function, profiles) \
    { \
#function, function, profiles \
    }
/* Returns the exit status; the last line printed is 'N passed, N failed'.  argv: names to run. */
int board_main(const board_test_t *tests, unsigned count, int argc, char **argv);

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s: not so: %s\n", __FILE__, __LINE__, __func__, #condition); \
            exit(1); \
        } \
    } while (0)
#define CHECK_EQUAL(a, b) \
    do { \
        uint64_t a_ = (uint64_t) (a), b_ = (uint64_t) (b); \
        if (a_ != b_) { \
            fprintf(stderr, "%s:%d: %s: %s is %#llx, expected %#llx\n", __FILE__, __LINE__, \
                    __func__, #a, (unsigned long long) a_, (unsigned long long) b_); \
            exit(1); \
        } \
    } while (0)

#endif
