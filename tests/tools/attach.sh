#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dsh looks at the NICs of a running job: it finds them, shows them, refuses every command that would change
# them, and the job goes on.
. "$DNET_SRC/tests/tools/lib.sh"
mkfifo pipe
"$DNET_BUILD/tests/tools/job" <pipe >job.out 2>&1 &
job=$!
exec 3>pipe
until_true grep -q '^[0-9]* [0-9]* [0-9]* [0-9]*$' job.out
read -r rank0 rank1 rank2 rank3 <job.out

expect 0 dsh --list
[ "$(grep -c -e " $rank0 *$rank1$" -e " $rank2 *$rank3$" out)" = 2 ] || fail "dsh --list: two NICs, four processes"
expect 0 dnet-cluster status
! grep -q "$rank0" out || fail "a job is no cluster"

# Any rank, or the process that started them.
for pid in $rank0 $job; do
    expect 0 dsh --job "$pid" -c nodes
    shows '^\* *1  0x0001  0x001  WID 0, only to look at'
    shows '^  *2  0x0002'
done
expect 0 dsh --job "$rank3" -c nodes
shows '^\* *2  0x0002  0x002  WID 1, only to look at'
expect 0 dsh --job "$job" --node 2 --wid 1 -c nodes
shows '^\* *2  0x0002  0x002  WID 1, only to look at'
sleep 100 &
idle=$!
expect 1 dsh --job $idle -c v
says "process $idle: neither it nor"
kill $idle
expect 2 dsh --job "$job" --node 3 -c v
says 'no node 3; there are 2'

# What is there: the message's entry, counters, every register.
expect 0 dsh --job "$rank0" -c 'lh_ring 64' -c regs -c 'node 2 1' -c 'llcm_read 0 64' -c 'sodimm_read 0 64' -c events
shows '0x0001      1  0x0000004d           5'
shows 'R PACKET_COUNTER'

# Nothing can be changed, from any command.
dsh --job "$rank0" -c regs -c 'llcm_read 0 0x8000' -c 'ww_read 0 512' -c 'evpbuf_read 0 0x1000' >before
for command in 'llcm_write from=0 it=1 val=1 inc=0' 'ww_write ww=0 from=0 it=1 val=1 inc=0' \
    'prim NOP dt=0 it=0 dw=0 dl=1 ef=0 size=0 src=0 dst=0' 'rllcm_write 1 0 1' 'sreg_write ctl_reset 1' \
    'sreg_write amt addr=0 wid=0 lid=1' 'ureg_write prim_counter_reset 1' 'reg_write LID 9' 'trace x.pcapng' 'reset'; do
    expect 1 dsh --job "$rank0" -c "$command"
    says 'can only be looked at'
done
dsh --job "$rank0" -c regs -c 'llcm_read 0 0x8000' -c 'ww_read 0 512' -c 'evpbuf_read 0 0x1000' >after
cmp before after || fail "the job's NIC has changed"

echo go >&3
rc=0
wait $job || rc=$?
cat job.out
[ $rc = 0 ] || fail "the job: exit status $rc"
grep -q 'received 5 hell' job.out || fail "the job's message"
expect 1 dsh --job "$rank0" -c v
