#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dsh on a persistent cluster: the data sheet's session, every command, what is refused and how, lines of any
# kind.
. "$DNET_SRC/tests/tools/lib.sh"
expect 1 dsh --cluster "$cluster" -c v
says "no cluster $cluster"
expect 0 dnet-cluster up --nodes 3 "$cluster"
run() { expect "$1" dsh --cluster "$cluster" -c "$2"; }
# An error: status 1, nothing on stdout, one line on stderr.
wrong() {
    run 1 "$1"
    [ ! -s out ] || fail "$1: output beside the error"
    says "$2"
}

# The data sheet's examples.  Before them: an AMT entry, and a VS from WW#0 that the status remembers.
dsh --cluster "$cluster" 2 1 0 >/dev/null -c 'llcm_write from=0x10 it=2 val=0x40000000 inc=0' \
    -c 'prim VS dt=0 it=0 dw=0 dl=0 ef=0 size=8 src=0 dst=0' -c 'ureg_write prim_counter_reset 1' ||
    fail "preparing the session"
sed -n 's/^dsh > //p' "$DNET_SRC/tests/tools/session.txt" >session
rc=0
dsh --cluster "$cluster" --echo 2 1 0 <session >out 2>err || rc=$?
[ $rc = 0 ] || fail "the session: exit status $rc"
diff -u "$DNET_SRC/tests/tools/session.txt" out || fail "the session differs"
run 0 'ureg_read ctl_status'
expect 0 dsh --cluster "$cluster" --node 3 -c 'llcm_read 192 16' -c 'ureg_read pkt_counter'
shows '#4215c0c0: 0000000000000000 0000000000000008'
shows '#4217c500: 0000000000000001'
expect 0 dsh --cluster "$cluster" --node 3 -c 'sreg_write ctl_reset 1' -c 'ureg_read pkt_counter'
shows '#4217c500: 0000000000000000'

# SO-DIMM there and back; the second WID has its own areas at its own addresses.
cat >script <<'S'
# comments and blank lines do nothing

ww_write ww=1 from=8 it=2 val=0x11111111 inc=0x11111111
prim VS dt=0 it=0 dw=0 dl=0 ef=0 size=0x10 src=0x200 dst=0x40
prim VL dt=0 it=0 dw=0 dl=0 ef=0 size=0x10 src=0x40 dst=0x600
ureg_read pw_flag
pw_read 3 16
sodimm_read 0x40 16
ww_read 1 16
S
expect 0 dsh --cluster "$cluster" --wid 1 --file script
shows '#4217d400: 000000000000f000'
shows '#4214e600: 0000000000000000 2222222211111111'
shows '#00000040: 0000000000000000 2222222211111111'
shows '#4213e200: 0000000000000000 2222222211111111'

# Messages: IPUSH with a status, LHS; then the receiver's rings.
cat >send <<'S'
ww_write ww=0 from=0 it=4 val=0x100 inc=1
prim VS dt=0 it=0 dw=0 dl=0 ef=0 size=16 src=0 dst=0
prim IPUSH dt=0 it=0 dw=0 dl=3 ef=1 size=16 src=0 dst=0
ww_write ww=0 from=0 it=1 val=0x42 inc=0
ww_write ww=0 from=4 it=1 val=0x50007 inc=0
prim LHSv2 dt=0 it=0 dw=0 dl=3 ef=0 size=24 src=0 dst=8
S
expect 0 dsh --cluster "$cluster" --node 3 -c 'ureg_write ivs_area_size 1' \
    -c 'sreg_write amt addr=0x20 wid=0 lid=1' -c 'ureg_write status_initial_addr 0x4000' \
    -c 'llcm_write from=0x100 it=2 val=0x2000 inc=0'
shows '####### IPUSH Area Size #######'
expect 0 dsh --cluster "$cluster" --node 1 --file send
shows '^cmd:0_10400c0018$'
shows '^cmd:800000000_18000c001a$'
expect 0 dsh --cluster "$cluster" --node 3 -c 'status_ring' -c 'lh_ring' -c 'ipush_ring 1 0' \
    -c 'ureg_read status_nwa' -c 'ureg_read evpbuf_nwa' -c 'events'
shows 'LLCM 0x4000, Head 0, Tail 1 of 64 entries, 1 waiting'
shows '0  IPUSH      0x001    0          16  0x00002000'
shows 'Tail 1 of 64 entries, 1 waiting'
shows '0      1         1   0x0005      7  0x00000042'
shows 'AMT word 0x020, SO-DIMM 0x00002000 to 0x00002fff, Head 0x00002000, Tail 0x00002010, 16 bytes waiting'
shows '#00002000: 0000010100000100 0000010300000102'
shows '#4217cb00: 0000000000004010'
shows '#4217c700: 0000000000000040'
expect 0 dsh --cluster "$cluster" --node 3 -c 'ureg_write evpbuf_nra 0x40' -c 'ureg_write status_nra 0x4010' \
    -c 'lh_ring' -c 'lh_ring 1' -c 'status_ring'
[ "$(grep -c '0 waiting' out)" = 3 ] || fail "rings emptied by Next Read"
[ "$(grep -c '0x00000042' out)" = 1 ] || fail "lh_ring 1 shows what was there last"

# Registers by name, other nodes, reset.
run 0 'reg_write mtu 8'
run 0 'reg_read MTU'
shows '#4218c200: 0000000000000008 W MTU'
expect 0 dsh --cluster "$cluster" -c 'nodes' -c 'node 2 1' -c 'nodes' -c 'regs' -c 'reset'
shows '^\*    2  0x0002  0x002  WID 1'
shows '#4217d200: 0000000000000012 R CONTROLLER_STATUS'

# Packets of this shell in a capture file, also after going to another node, until it is told to stop.
packets() { tr '\0' '\n' <dsh.pcapng | tr -cd 'Z\n' | grep -c ZZZZ; }
expect 0 dsh --cluster "$cluster" -c 'trace dsh.pcapng' -c 'rllcm_write 2 0 0x5a5a5a5a' -c 'node 2' \
    -c 'rllcm_write 3 0 0x5a5a5a5a' -c 'trace off' -c 'rllcm_write 3 0 0x5a5a5a5a'
[ "$(packets)" = 2 ] || fail "two packets in the capture, not $(packets)"
wrong 'trace missing/file' 'missing/file'
wrong 'trace' '0 arguments instead of 1'

# Numbers as strtoul reads them: hexadecimal, octal, and 55ff is 55.
run 0 'llcm_write from=010 it=1 val=55ff inc=0'
run 0 'llcm_read 8 8'
shows '#4215c008: 0000000000000037'

# Every command says what is wrong, in one line.
wrong 'frobnicate' "no command 'frobnicate'"
wrong 'llcm_read' 'llcm_read: 0 arguments instead of 2'
wrong 'llcm_read 0 8 8' '3 arguments instead of 2'
wrong 'llcm_read x 8' "Offset 'x' is not a number"
wrong 'llcm_read -8 8' "Offset '-8' is not a number"
wrong 'llcm_read 4 8' 'multiple of 8'
wrong 'llcm_read 0x7ff8 16' 'pass the end'
wrong 'llcm_read 0xfffffffffffffff8 16' 'pass the end'
wrong 'llcm_read 0 0xffffffffffffffff' 'pass the end'
wrong 'llcm_read 0x1ffffffffffffffff 8' 'out of range'
wrong 'evpbuf_read 0x1000 1' 'pass the end'
wrong 'pw_read 4 8' 'window 4 is out of range'
wrong 'pw_read 0 513' 'Size 513 is out of range'
wrong 'llcm_write from=0 it=1 val=0' 'inc= is missing'
wrong 'llcm_write from=0 it=1 val=0 inc=0 inc=0' 'inc= is given twice'
wrong 'llcm_write from=0 it=1 val=0 inc=0 x=0' "'x=0' is no argument"
wrong 'llcm_write from=2 it=1 val=0 inc=0' 'multiple of 4'
wrong 'llcm_write from=0 it=8193 val=0 inc=0' 'pass the end'
wrong 'llcm_write from=0 it=0x4000000000000001 val=0 inc=0' 'pass the end'
wrong 'llcm_write from=0 it=1 val=0x100000000 inc=0' 'out of range'
wrong 'ww_write ww=4 from=0 it=1 val=0 inc=0' 'ww 4 is out of range'
wrong 'ww_write ww=0 from=508 it=2 val=0 inc=0' 'pass the end'
wrong 'prim' 'PRIM is missing'
wrong 'prim BOTF dt=0 it=0 dw=0 dl=0 ef=0 size=0 src=0 dst=0' "no primitive 'BOTF'"
wrong 'prim VS dt=8 it=0 dw=0 dl=0 ef=0 size=0 src=0 dst=0' 'dt 8 is out of range'
wrong 'prim VS dt=0 it=0 dw=0 dl=0 ef=0 size=0 src=0' 'dst= is missing'
wrong 'rllcm_write 9 0 1' 'no node has CLID 0x9'
wrong 'rllcm_write 2 4 1' 'multiple of 8'
wrong 'rllcm_write 2 0x8000 1' 'Offset 0x8000 is out of range'
wrong 'sreg_read lid' "no Option 'lid'"
wrong 'sreg_write sma_lid 1' "no Option 'sma_lid'"
wrong 'sreg_write lid' '1 arguments instead of 2'
wrong 'sreg_write amt addr=0x1000 wid=0 lid=1' 'addr 0x1000 is out of range'
wrong 'ureg_read lid' "no Option 'lid'"
wrong 'ureg_write prim_counter_reset' '1 arguments instead of 2'
wrong 'reg_read NOTHING' "no register 'NOTHING'"
wrong 'reg_write CONTROLLER_STATUS 1' 'can only be read'
wrong 'node 4' 'Node 4 is out of range'
wrong 'node 0' 'numbered from 1'
wrong 'node 1 2' 'Wid 2 is out of range'
wrong 'sodimm_read 0 8' 'multiples of 16'
wrong 'sodimm_read 0x10000000 16' 'pass the end'
wrong 'lh_ring 65' 'out of range'
wrong 'ipush_ring 1 0' 'IPUSH Area Size is 0'
wrong 'v 1' '1 arguments instead of 0'
wrong "$(printf 'v %.0s' $(seq 20))" 'more than 16 words'
wrong "$(printf '\033[2Jx')" "no command '?\[2Jx'"

# Command line.
expect 0 dsh --help
shows 'PROCESSES PID WID'
expect 0 dsh --version
for arguments in '2 0' '0 0 0' '7 0 0' '2 2 0' '2 0 2' '6 1 0' '--node 4' '--wid 2' '--job 0' '--node 1 2 0 0' '-x'; do
    # shellcheck disable=SC2086 # words
    expect 2 dsh --cluster "$cluster" $arguments -c v
done
expect 0 dsh --cluster "$cluster" 6 5 1 -c nodes
shows '^\*    3  0x0003  0x003  WID 1'
expect 0 dsh --cluster "$cluster" 3 2 1 -c nodes
shows '^\*    3  0x0003  0x003  WID 1'
expect 1 dsh --cluster "$cluster" --file missing
says 'cannot open missing'

# Scripts: the line's number; going on or stopping; what an empty or odd script does.
printf 'v\n\nbad\nv\n' >script
expect 1 dsh --cluster "$cluster" --file script
says '^dsh: script:3: '
[ "$(grep -c Yomi out)" = 2 ] || fail "a script goes on after an error"
expect 1 dsh --cluster "$cluster" --stop --file script
[ "$(grep -c Yomi out)" = 1 ] || fail "--stop"
printf 'q\nbad\n' >script
expect 0 dsh --cluster "$cluster" --file script
: >script
expect 0 dsh --cluster "$cluster" --file script
expect 0 dsh --cluster "$cluster"
printf 'v' >script
expect 0 dsh --cluster "$cluster" --file script
shows Yomi
{ echo v; head -c 3000000 /dev/zero | tr '\0' x; printf '\nv\n'; printf 'v\0v\n'; printf '   \t\r\n'; } >script
expect 1 dsh --cluster "$cluster" --file script
[ "$(wc -l <err)" = 2 ] || fail "two lines of error"
grep -q '^dsh: script:2: a line of 3000000 bytes' err || fail "the long line"
grep -q '^dsh: script:4: the line holds a zero byte' err || fail "the zero byte"
expect 1 dsh --cluster "$cluster" -c "$(head -c 5000 /dev/zero | tr '\0' x)"
says 'a line of 5000 bytes'

# Another process has the WID; the keeper ends under a shell.
mkfifo pipe
dsh --cluster "$cluster" --node 2 <pipe >held 2>held.err &
shell=$!
exec 3>pipe
echo v >&3
until_true grep -q Yomi held
expect 3 dsh --cluster "$cluster" --node 2 -c v
says "process $shell has WID 0 open"
expect 0 dsh --cluster "$cluster" --node 2 --wid 1 -c v
kill -KILL "$(keeper "$cluster")"
until_true gone "$cluster"
echo v >&3
rc=0
wait $shell || rc=$?
[ $rc = 3 ] || fail "a shell whose cluster is gone: exit status $rc"
grep -q "cluster $cluster is gone" held.err || fail "a shell whose cluster is gone says nothing"
exec 3>&-
