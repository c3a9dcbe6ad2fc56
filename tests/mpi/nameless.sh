#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A job spawns processes on a host whose own name does not resolve.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=$DNET_TEST_DIR/nameless-$RANKS
mpicc -O2 -I"$here" "$here/dynamic.c" -o "$program"
name=nameless.invalid
own='hostname "$0" && exec "$@"'
for user in '' '--user --map-root-user'; do
    # shellcheck disable=SC2086 # options
    if unshare $user --uts sh -c "$own" "$name" true 2>/dev/null; then
        exec unshare $user --uts sh -c "$own" "$name" mpirun -n "$RANKS" "$program"
    fi
done
echo "no namespace for another host name"
exit 77
