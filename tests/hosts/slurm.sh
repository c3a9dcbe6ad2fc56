#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# slurm.sh: Slurm on the first two hosts that net.sh has made, without authentication; as root.
#   slurm.sh start NAME FOLDER            configuration, logs and state in FOLDER
#   slurm.sh srun NAME FOLDER ARGUMENTS   from host 1
#   slurm.sh stop NAME FOLDER
set -eu
order=$1 name=$2 folder=$3
shift 3
SLURM_CONF=$folder/slurm.conf
export SLURM_CONF

# on I COMMAND: as `net.sh exec`, but /sys stays as it is, for Slurm looks there for control groups
on() {
    i=$1
    shift
    nsenter --net="/run/netns/$name-$i" unshare --uts sh -c 'hostname "$0"; exec "$@"' "$name-$i" "$@"
}

case $order in
start)
    rm -rf "$folder"
    mkdir -p "$folder/state"
    cat >"$SLURM_CONF" <<CONF
ClusterName=$name
SlurmctldHost=$name-1(10.77.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool.%n
SlurmctldPidFile=$folder/controller.pid
SlurmdPidFile=$folder/node.%n.pid
SlurmctldLogFile=$folder/controller.log
SlurmdLogFile=$folder/node.%n.log
NodeName=$name-1 NodeAddr=10.77.0.1
NodeName=$name-2 NodeAddr=10.77.0.2
PartitionName=all Nodes=$name-1,$name-2 Default=YES State=UP
CONF
    on 1 slurmctld
    on 1 slurmd
    on 2 slurmd
    for _ in $(seq 100); do
        [ "$(on 1 sinfo -h -t idle -o %D 2>/dev/null)" != 2 ] || exit 0
        sleep 0.1
    done
    echo "Slurm's nodes do not come up; logs: $folder" >&2
    exit 1
    ;;
srun) on 1 srun --mpi=pmi2 "$@" ;;
stop)
    for pid in "$folder"/*.pid; do
        [ ! -s "$pid" ] || kill "$(cat "$pid")" 2>/dev/null || :
    done
    ;;
esac
