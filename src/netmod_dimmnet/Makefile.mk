# SPDX-License-Identifier: BSD-3-Clause
if BUILD_CH4_NETMOD_DIMMNET

mpi_core_sources += \
    src/mpid/ch4/netmod/dimmnet/func_table.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_am.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_asked.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_blocks.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_board.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_buffers.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_coll.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_comm.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_error.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_events.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_far.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_init.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_layout.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_nonblocking.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_nonblocking_blocks.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_part.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_pt2pt.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_pvar.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_reduce.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_rma.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_shared.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_sides.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_spawn.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_turns.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_type.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_vector.c \
    src/mpid/ch4/netmod/dimmnet/dimmnet_win.c

errnames_txt_files += src/mpid/ch4/netmod/dimmnet/errnames.txt

pmpi_convenience_libs += @dimmnetlib@

# Its functions are libmpi's own, so that they are called directly, not through the procedure linkage table.
external_ldflags += -Wl,--exclude-libs,libdnet_all.a

endif
