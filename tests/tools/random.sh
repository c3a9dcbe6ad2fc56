#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Thousands of random lines, half of them nearly right: dsh ends with status 0 or 1, and afterwards it and its
# cluster still work.  DNET_TEST_SEED repeats a run.
. "$DNET_SRC/tests/tools/lib.sh"
seed=${DNET_TEST_SEED:-$(date +%s)}
echo "seed $seed"
cat >make.py <<'P'
import random, sys
r = random.Random(int(sys.argv[1]))
names = "evpbuf_read h llcm_read llcm_write prim pw_read rllcm_write sreg_read sreg_write ureg_read ureg_write " \
        "v ww_write events ipush_ring lh_ring node nodes reg_read reg_write regs reset sodimm_read " \
        "status_ring ww_read".split()
words = "VL VS VLS VSS VLI VSI RVL RVLS RVS RVSS RVLI RVSI IPUSH LHSv1 LHSv2 NOP sma_lid amt sdimm_init sdimm_capacity mtu " \
        "lid pgid0 ctl_reset ctl_status prim_counter pw_flag module_state ivs_area_size evpbuf_nra status_nra " \
        "status_area_size status_initial_addr LH_NEXT_READ STATUS_AREA_SIZE IPUSH_AREA_SIZE FLOW_MODE".split()
keys = "from it val inc ww dt dw dl ef size src dst addr wid lid".split()
def number():
    n = r.choice([r.randrange(8), r.randrange(0x1000), r.getrandbits(32), r.getrandbits(64), 0, 1, 2, 3])
    return r.choice(["%d", "0x%x", "0%o", "%dzz", "-%d"][0:3] * 3 + ["%dzz", "-%d"]) % n
def likely():
    n = r.choice(names)
    if n == "prim":
        small = lambda m: r.choice([str(r.randrange(m + 1)), number()])
        return "prim %s dt=%s it=%s dw=%s dl=%s ef=%s size=%s src=%s dst=%s" % (
            r.choice(words), small(7), small(255), small(1), small(3), small(1), small(5000), small(5000), small(9000))
    if n in ("llcm_write", "ww_write") and r.random() < .8:
        return "%s from=%d it=%d val=%s inc=%s%s" % (n, r.randrange(130) * 4, r.randrange(300), r.getrandbits(31),
                                                     r.getrandbits(31), " ww=%d" % r.randrange(5) if n[0] == "w" else "")
    return n + "".join(" " + r.choice([r.choice(words), number(), r.choice(keys) + "=" + number()])
                       for _ in range(r.randrange(4)))
for _ in range(int(sys.argv[2])):
    line = likely().encode() if r.random() < .8 else bytes(r.getrandbits(8) for _ in range(r.randrange(60)))
    sys.stdout.buffer.write(line + b"\n")
P
for profile in prototype extended prototype-flow; do
    expect 0 dnet-cluster up --nodes 2 --profile $profile "$cluster"
    python3 make.py "$seed" 3000 >script || fail "python3"
    rc=0
    timeout 60 dsh --cluster "$cluster" --file script >lines 2>err || rc=$?
    [ $rc = 1 ] || fail "$profile: exit status $rc"
    ! grep -q -e 'Sanitizer' -e 'runtime error' err || fail "$profile: a sanitizer's report"
    grep -v '^dsh: script:' err | grep -v '^dimmnet\[dsh\] error: ' >strange && { cat strange; fail "$profile: lines of error"; }
    expect 0 dsh --cluster "$cluster" --node 2 -c reset -c 'llcm_write from=0 it=2 val=7 inc=0' -c 'llcm_read 0 8'
    shows '0000000700000007'
    expect 0 dnet-cluster down "$cluster"
done
