#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Controls for the verifier on OpenSM's own engines: updn and dfsssp (with its service levels) must
# pass on a ring, minhop and dfsssp without its service levels must be found to deadlock.
. "$(dirname "$0")/fabric.sh"

# dump ENGINE [OPENSM OPTION...]
dump() {
    start_ibsim net H00001
    start_opensm "$@"
    on_fabric dump_fts >"$1.lfts" 2>dump.err || fail "dump_fts: $(cat dump.err)"
    if [ "$1" = dfsssp ]; then
        # Pair by pair: through the simulator an answer holds two records, whatever was asked.
        lids=$(sed -n "s/^0x\([0-9a-f]*\) .*portguid.*/\1/p" dfsssp.lfts | sort -u)
        for slid in $lids; do
            for dlid in $lids; do
                on_fabric saquery -p --slid $((0x$slid)) --dlid $((0x$dlid)) >>dfsssp.paths \
                    2>saquery.err || fail "saquery: $(cat saquery.err)"
            done
        done
    fi
    if [ "$1" = dfsssp ]; then
        for lid in $(sed -n 's/^0x\([0-9a-f]*\) 000 : (Switch.*/\1/p' \
            dfsssp.lfts | sort -u); do
            for port in 1 2 3; do
                on_fabric smpquery sl2vl $((0x$lid)) $port >>dfsssp.sl2vl 2>smpquery.err ||
                    fail "smpquery: $(cat smpquery.err)"
            done
        done
    fi
    stop_fabric
}

"$subnet" gen --topology ring:7:1 --output net || fail "gen"
echo 0x200000 >roots
dump updn -a "$scratch/roots"
"$subnet" verify --topology file:net --lfts updn.lfts || fail "updn rejected"
dump minhop
"$subnet" verify --topology file:net --lfts minhop.lfts --json minhop.json &&
    fail "minhop on a ring accepted"
[ "$(json minhop.json cyclic_lanes)" = 1 ] || fail "minhop rejected for another reason"
dump dfsssp
# Data is good; replies of switches are on the queries' lanes, which dfsssp does not look after.
"$subnet" verify --topology file:net --lfts dfsssp.lfts --sl dfsssp.paths --sl2vl dfsssp.sl2vl \
    --json dfsssp.json
case $? in 0 | 4) ;; *) fail "dfsssp's data rejected" ;; esac
grep -q '"pairs_without_path_record"' dfsssp.json && fail "path records were missed"
grep -q '"port_pairs_without_sl2vl_row"' dfsssp.json && fail "SL2VL rows were missed"
sed '/^ports/s/: |.*/: | 0| 0| 0| 0| 0| 0| 0| 0| 0| 0| 0| 0| 0| 0| 0| 0|/' dfsssp.sl2vl >one.sl2vl
"$subnet" verify --topology file:net --lfts dfsssp.lfts --sl dfsssp.paths --sl2vl one.sl2vl \
    >one.txt
[ $? = 1 ] || fail "dfsssp with all levels on one lane accepted: $(cat one.txt)"
[ "$(json dfsssp.json lanes)" -ge 2 ] || fail "dfsssp used one lane only"
"$subnet" verify --topology file:net --lfts dfsssp.lfts && fail "dfsssp without its lanes accepted"
exit 0
