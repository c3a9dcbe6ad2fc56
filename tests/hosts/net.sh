#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# net.sh: hosts made of network namespaces of this machine, joined by a bridge in one more; as root.
#   net.sh make NAME N            hosts 1..N, 10.77.0.1 to .N, each with a host name of its own
#   net.sh exec NAME I COMMAND    run a command on host I
#   net.sh rail NAME I            one more network for host I, 10.78.0.I by eth1
#   net.sh link NAME I up|down [RAIL]  plug its cable in, or pull it; RAIL 1: that of eth1
#   net.sh cut NAME I RAIL        as pulled behind the switch: the host does not see it
#   net.sh off NAME I             power it off: the cable first, so that nothing says good-bye
#   net.sh mpirun NAME OPTIONS    mpirun (MPIRUN: another MPICH's) on host 1, over all hosts; HOSTS: as for -hosts (10.77.0.1:2,10.77.0.2)
#   net.sh remove NAME            all of it, with what still runs there
# As mpirun's launcher (NAME in DNET_HOSTS_NET): net.sh [-x] ADDRESS COMMAND
set -eu
self=$(cd "$(dirname "$0")" && pwd)/net.sh
net=10.77.0

space() { echo "$1-$2"; }

# A host's name is a namespace too, and all that runs on the host is in the same one.
name_of() { echo "/run/$1.uts"; }

# run NAME I COMMAND: with the host's network and name
run() {
    DNET_HOSTS_NET=$1
    export DNET_HOSTS_NET
    where=$(space "$1" "$2")
    shift 2
    exec nsenter --uts="$(name_of "$where")" ip netns exec "$where" "$@"
}

# add_switch NAME [RAIL]
add_switch() {
    ip -n "$1-switch" link add "bridge${2:-}" type bridge
    ip -n "$1-switch" link set "bridge${2:-}" up
}

# plug_in NAME I NET [RAIL]: one more interface of a host
plug_in() {
    where=$(space "$1" "$2") port=port$2${4:+-$4}
    ip -n "$1-switch" link add "$port" type veth peer name "eth${4:-0}" netns "$where"
    ip -n "$1-switch" link set "$port" master "bridge${4:-}" up
    ip -n "$where" addr add "$3.$2/24" dev "eth${4:-0}"
    ip -n "$where" link set "eth${4:-0}" up
}

make_host() {
    where=$(space "$1" "$2")
    ip netns add "$where"
    : >"$(name_of "$where")"
    unshare --uts="$(name_of "$where")" hostname "$where"
    ip -n "$where" link set lo up
    plug_in "$1" "$2" $net
}

case $1 in
make)
    ip netns add "$2-switch"
    add_switch "$2"
    for i in $(seq "$3"); do make_host "$2" "$i"; done
    ;;
exec)
    name=$2 i=$3
    shift 3
    run "$name" "$i" "$@"
    ;;
rail)
    ip -n "$2-switch" link show bridge1 >/dev/null 2>&1 || add_switch "$2" 1
    plug_in "$2" "$3" 10.78.0 1
    ;;
link) ip -n "$2-switch" link set "port$3${5:+-$5}" "$4" ;;
cut) ip -n "$2-switch" link set "port$3-$4" nomaster ;;
off)
    ip -n "$2-switch" link set "port$3" down
    ip netns pids "$(space "$2" "$3")" | xargs -r kill -9
    ;;
mpirun)
    name=$2
    shift 2
    run "$name" 1 "${MPIRUN:-mpirun}" -iface eth0 -hosts "$HOSTS" -launcher ssh -launcher-exec "$self" "$@"
    ;;
remove)
    for where in $(ip netns list | sed -n "s/^\($2-[a-z0-9]*\).*/\1/p"); do
        ip netns pids "$where" | xargs -r kill -9
        ip netns del "$where"
        ! umount "$(name_of "$where")" 2>/dev/null || rm "$(name_of "$where")"
    done
    ;;
*)
    [ "$1" != -x ] || shift
    host=${1##*.} status=0
    shift
    (run "$DNET_HOSTS_NET" "$host" sh -c "$*") || status=$?
    # As an ssh whose other end is gone: it does not learn of that.
    [ $status -ne 137 ] || exec sleep 600
    exit $status
    ;;
esac
