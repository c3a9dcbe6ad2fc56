/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dsh, the DIMMnet Shell (data sheet section 12): what its parts share.
 *
 *   dsh.c         options, main
 *   commands.c    the command table, running a line
 *   input.c       where lines come from: a terminal, a file, standard input, arguments
 *   words.c       numbers, name=value arguments, error lines
 *   attach.c      finding NICs: of a persistent cluster, or of a running job
 *   sheet.c       the data sheet's commands
 *   rings.c       our commands: rings, registers by name, SO-DIMM, packet trace
 */
#ifndef DNET_TOOLS_DSH_H
#define DNET_TOOLS_DSH_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/cluster.h"
#include "dimmnet/emulator.h"
#include "tools/common/nics.h"

#define DSH_LINE_BYTES 4096u /* longest line that is a command */
#define DSH_WORDS 16u        /* most words of one */

typedef struct {
    /* The nodes within reach. */
    dnet_cluster_t *cluster;  /* NULL: a job's */
    dnet_emu_locator_t *node; /* [nodes] */
    uint32_t nodes;
    /* The one in hand. */
    uint32_t at; /* index in node */
    dnet_emu_nic_t *nic;
    dnet_device_t *dev;
    bool look_only;              /* NICs of a job: nothing may change them */
    dnet_emu_capture_t *capture; /* of the packets sent here; NULL: none */
    /* The line in hand. */
    const char *source; /* name of the script; NULL: a terminal */
    unsigned long line; /* from 1 */
    const char *command;
    bool quit, gone;
} dsh_t;

/* ---- commands.c ---- */

/** Run one line, which is changed; comments do nothing.  @return false: it failed */
bool dsh_run(dsh_t *d, char *line);

/** The i-th command's name, for completion; NULL after the last. */
const char *dsh_command_name(unsigned i);

/* ---- input.c ---- */

typedef struct {
    bool echo; /* print prompt and line before running it */
    bool stop; /* at the first command that fails */
} dsh_manner_t;

/** Run lines until their end or `quit`.  @return false: one failed */
bool dsh_run_terminal(dsh_t *d);
bool dsh_run_file(dsh_t *d, const char *path, const dsh_manner_t *manner);
bool dsh_run_text(dsh_t *d, const char *text, unsigned long line, const dsh_manner_t *manner);

/* ---- words.c ---- */

/** One line on stderr: where, which command, why.  Returns false, for callers to pass on. */
__attribute__((format(printf, 2, 3))) bool dsh_fail(dsh_t *d, const char *fmt, ...);

/** A number as the data sheet reads it: strtoul base 0, what follows the digits ignored. */
bool dsh_number(dsh_t *d, const char *what, const char *text, uint64_t most, uint64_t *value_p);

/** An argument that must be there exactly once, as name=value. */
typedef struct {
    const char *name;
    uint64_t most;
    uint64_t value; /* result */
} dsh_pair_t;
bool dsh_pairs(dsh_t *d, unsigned count, char **words, dsh_pair_t *pairs, unsigned pair_count);

/** Exactly `want` words behind the command's name; the line on stderr shows the syntax. */
bool dsh_want(dsh_t *d, unsigned have, unsigned want, const char *syntax);

/* ---- attach.c ---- */

/** Reach the nodes of a cluster; NULL: of the one of the usual name.  @return exit status; said why
 */
int dsh_attach_cluster(dsh_t *d, const char *name);

/** Reach the NICs of the job that process `pid` belongs to or has started; to look at only.
 * @return likewise */
int dsh_attach_job(dsh_t *d, int32_t pid);

/** Take node `index` in hand, after leaving the one before.  On failure the one before stays. */
bool dsh_take_node(dsh_t *d, uint32_t index, unsigned wid);

void dsh_detach(dsh_t *d);

/** Print every NIC of this user. */
void dsh_list(void);

/* ---- commands ---- */

/** words: the command's name and its arguments.  @return false: failed, said why */
typedef bool dsh_command_fn(dsh_t *d, unsigned count, char **words);
#define DSH_COMMAND(name, alias, function, access, origin, title, syntax) \
    dsh_command_fn dsh_##function;
#include "tools/shell/commands.def"
#undef DSH_COMMAND

/** Dump `bytes` bytes of an area from `offset`, 16 a line, at the data sheet's addresses. */
bool dsh_dump(dsh_t *d, uint64_t address, const void *area, uint64_t area_bytes, uint64_t offset,
              uint64_t bytes);
void dsh_heading(void);

/** Address of an area of a WID as dsh shows it. */
typedef enum {
    DSH_AREA_WW,
    DSH_AREA_PW,
    DSH_AREA_LLCM,
    DSH_AREA_LH,
    DSH_AREA_UREG,
    DSH_AREA_SREG
} dsh_area_t;
uint64_t dsh_address(const dsh_t *d, dsh_area_t area);

/** Store to a register of either page; the NIC notices. */
void dsh_store(dsh_t *d, bool system, uint32_t offset, uint64_t value);

#endif
