#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dnet-cluster: making, showing and ending clusters; nothing is left when a keeper is killed; no other user's
# file is taken for a cluster.
. "$DNET_SRC/tests/tools/lib.sh"

# Command line.
expect 0 dnet-cluster --help
shows 'dnet-cluster COMMAND'
expect 0 dnet-cluster --version
expect 2 dnet-cluster
expect 2 dnet-cluster frobnicate
expect 2 dnet-cluster up --nodes 0 "$cluster"
says 'from 1 to 3071'
expect 2 dnet-cluster up --nodes 3072 "$cluster"
expect 2 dnet-cluster up --nodes 2x "$cluster"
expect 2 dnet-cluster up --profile huge "$cluster"
says 'prototype, extended or prototype-flow'
expect 2 dnet-cluster up "$cluster" twice
says 'unexpected argument twice'
for name in '' ../x /x .x a/b "$(printf '%033d' 0)"; do
    expect 2 dnet-cluster up "$name"
    says 'cluster name'
done
expect 1 dnet-cluster down "$cluster"
says "no cluster $cluster"
expect 1 dnet-cluster status "$cluster"
says "no cluster $cluster"
expect 2 dnet-cluster up --owner 999999999 "$cluster"
says 'owner 999999999'

# Up, seen, not twice, down.
expect 0 dnet-cluster up --nodes 3 --pgid 9 "$cluster"
shows "cluster $cluster: 3 nodes, profile prototype"
[ "$(stat -c %a:%u "$(roster "$cluster")")" = "600:$(id -u)" ] || fail "roster: mode or owner"
expect 1 dnet-cluster up "$cluster"
says 'already up'
expect 0 dnet-cluster up --profile extended "$cluster-2"
expect 0 dnet-cluster status
shows "cluster $cluster: 3 nodes"
shows "cluster $cluster-2: 2 nodes, profile extended"
expect 0 dnet-cluster status "$cluster"
[ "$(grep -c '  0x000[123]  ' out)" = 3 ] || fail "three nodes, LIDs 1 to 3"
expect 0 dnet-cluster status --json "$cluster"
python3 - <<'P' || fail "JSON"
import json
c = json.load(open("out"))["clusters"]
assert len(c) == 1 and c[0]["profile"] == "prototype" and [n["lid"] for n in c[0]["nodes"]] == [1, 2, 3]
assert all(w["process"] == 0 for n in c[0]["nodes"] for w in n["wids"])
P
expect 0 dsh --cluster "$cluster" -c 'reg_read PGID1'
shows ': 0000000000000009 W PGID1'
expect 0 dnet-cluster down "$cluster"
[ ! -e "$(roster "$cluster")" ] || fail "down left the roster"
expect 0 dnet-cluster status "$cluster-2"
expect 0 dnet-cluster down "$cluster-2"

# Cold: as after power-on.
expect 0 dnet-cluster up --cold "$cluster"
expect 0 dsh --cluster "$cluster" -c 'ureg_read ctl_status' -c 'reg_read LID'
shows '#4217c200: 0000000000000010'
shows ': 0000000000000000 W LID'
expect 0 dnet-cluster down "$cluster"

# A keeper that is killed takes its NICs along; the next command removes the name.
expect 0 dnet-cluster up --nodes 3 "$cluster"
pid=$(keeper "$cluster")
nics() { dsh --list | grep -c " $pid dnet-keeper"; }
[ "$(nics)" = 3 ] || fail "dsh --list does not show the keeper's three NICs"
kill -KILL "$pid"
until_true gone "$cluster"
[ "$(nics)" = 0 ] || fail "NICs of a keeper that was killed"
[ ! -e "$(roster "$cluster")" ] || fail "roster of a keeper that was killed"
expect 0 dnet-cluster up "$cluster"
kill -KILL "$(keeper "$cluster")"
until_true dnet-cluster up "$cluster"
expect 0 dnet-cluster down "$cluster"

# One descriptor a node: as many as the limit says, beside those of the keeper itself.
more_nodes() (
    ulimit -n 80
    dnet-cluster up --nodes 48 "$cluster"
)
expect 0 more_nodes
expect 0 dnet-cluster down "$cluster"

# Nothing of the shell it was started from: a lock and a pipe that this has open end with it.
(
    exec 7>lock 8>piped
    flock 7
    expect 0 dnet-cluster up --topology ring:5:1 "$cluster"
)
flock -n lock true || fail "the keeper holds a lock of the shell that has started it"
held=$(ls -l "/proc/$(keeper "$cluster")/fd")
case $held in *"$scratch"*) fail "the keeper holds files of the shell that has started it: $held" ;; esac
expect 0 dnet-cluster path --cluster "$cluster" 1 2
expect 0 dsh --cluster "$cluster" -c 'rllcm_write 2 0 1'
expect 0 dnet-cluster down "$cluster"

# Gone with its owner.
sleep 100 &
owner=$!
expect 0 dnet-cluster up --owner $owner "$cluster"
expect 0 dnet-cluster status "$cluster"
kill $owner
until_true gone "$cluster"
[ ! -e "$(roster "$cluster")" ] || fail "roster of a cluster that ended with its owner"

# Files that are no cluster of ours, or no cluster.
echo nonsense >"$(roster "$cluster")"
chmod 644 "$(roster "$cluster")"
expect 3 dnet-cluster status "$cluster"
says 'mode 644'
chmod 600 "$(roster "$cluster")"
expect 1 dnet-cluster status "$cluster"
says 'no cluster'
[ ! -e "$(roster "$cluster")" ] || fail "a file without a keeper is left"
ln -s /etc/passwd "$(roster "$cluster")"
expect 3 dnet-cluster status "$cluster"
says 'cannot open'
expect 1 dnet-cluster up "$cluster"
rm "$(roster "$cluster")"
dd if=/dev/urandom of="$(roster "$cluster")" bs=100 count=1 2>/dev/null
chmod 600 "$(roster "$cluster")"
flock "$(roster "$cluster")" sleep 100 &
holder=$!
until_true sh -c '! flock -n "$1" true' - "$(roster "$cluster")"
expect 2 dnet-cluster status "$cluster"
says 'not a cluster of this version'
expect 2 dsh --cluster "$cluster" -c v
kill $holder
rm "$(roster "$cluster")"
if [ "$(id -u)" = 0 ]; then
    : >"$(roster "$cluster")"
    chmod 600 "$(roster "$cluster")"
    chown 12345 "$(roster "$cluster")"
    expect 3 dnet-cluster status "$cluster"
    says 'user 12345'
    rm "$(roster "$cluster")"
fi
