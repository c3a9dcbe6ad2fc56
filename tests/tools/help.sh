#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Every tool and every command of a tool explains itself: --help on standard output, status 0, nothing else;
# --version; a wrong option is one line and status 2.
. "$DNET_SRC/tests/tools/lib.sh"

helps() {
    expect 0 "$@" --help
    shows '^usage: '
    [ ! -s err ] || fail "$*: --help writes to standard error"
}

for tool in dnet-cluster dnet-info dnet-replay dnet-stat dnet-subnet dnet-trace dsh; do
    helps $tool
    expect 0 $tool --version
    shows "^$tool "
done
for command in list status on off show; do
    helps dnet-trace $command
done
for tool in dnet-subnet dnet-cluster; do
    expect 0 $tool --help
    sed -n '/^$/,/^$/s/^  \([a-z]*\) .*/\1/p' out >commands
    [ "$(wc -l <commands)" -ge 6 ] || fail "$tool: commands"
    while read -r command; do
        helps $tool "$command"
        shows "^usage: $tool $command"
        expect 2 $tool "$command" --nonsense
        grep -q nonsense err || fail "$tool $command: the wrong option is not named"
        grep -q "^\.B \(dnet-cluster \)\?$command\$" "$DNET_SRC"/tools/*/"$tool.1" || fail "$tool.1 lacks $command"
    done <commands
done

# A command takes its own options only.
expect 0 dnet-subnet gen --help
shows '--format F'
! grep -q -e --engine out || fail "gen takes no engine"
expect 2 dnet-subnet gen --topology ring:5 --engine updn
says engine
expect 2 dnet-cluster restore --force a:1
says force
