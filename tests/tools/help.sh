#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Every tool and every command of a tool explains itself: --help and -h on standard output, status 0, nothing else;
# --version; a wrong option is one line and status 2; a man page with its exit statuses and examples. A cluster is
# --cluster, a job --job in all of them.
. "$DNET_SRC/tests/tools/lib.sh"

helps() {
    expect 0 "$@" --help
    shows '^usage: '
    [ ! -s err ] || fail "$*: --help writes to standard error"
    mv out long
    expect 0 "$@" -h
    cmp -s out long || fail "$*: -h is not --help"
}

for tool in dnet-cluster dnet-info dnet-replay dnet-stat dnet-subnet dnet-trace dsh; do
    helps $tool
    expect 0 $tool --version
    shows "^$tool (dimmnet) "
    expect 2 $tool --nonsense
    grep -q nonsense err || fail "$tool: the wrong option is not named"
    [ $tool = dnet-replay ] || expect 2 $tool stray arguments stray stray
    expect 0 $tool --help
    shows '^Exit status: 0 good, 1 the answer is no, or there is none such, 2 '
    page=$(echo "$DNET_SRC"/tools/*/$tool.1)
    for section in 'EXIT STATUS' EXAMPLES; do
        grep -q "^.SH $section" "$page" || fail "$tool.1 has no $section"
    done
done
for command in dsh dnet-replay 'dnet-subnet gen'; do
    # shellcheck disable=SC2086
    expect 2 $command --help=all
    says '--help=all: it takes no value'
done
if [ -x "$DNET_BUILD/tools/dnet-check" ]; then
    helps dnet-check
    shows '^Exit status: that of the program; 2: '
    expect 0 dnet-check --version
    shows '^dnet-check (dimmnet) '
    expect 2 dnet-check --nonsense
    says nonsense
    expect 2 dnet-check
    says 'PROGRAM is missing'
    expect 2 dnet-check nosuchprogram
    says 'no program nosuchprogram'
    : >plain
    for none in ./plain /; do
        expect 2 dnet-check $none
        says 'is no program that can be run'
    done
    for section in 'EXIT STATUS' EXAMPLES; do
        grep -q "^.SH $section" "$DNET_SRC/tools/check/dnet-check.1" || fail "dnet-check.1 has no $section"
    done
fi
for command in 'dnet-cluster up' 'dnet-cluster down' 'dnet-cluster status' 'dnet-cluster path' 'dnet-cluster cut' 'dnet-cluster restore' 'dnet-cluster degrade' dsh 'dnet-subnet health'; do
    # shellcheck disable=SC2086
    expect 0 $command --help
    shows '--cluster NAME'
done
# Both ways to name it mean the same, and not both at once.
expect 0 dnet-cluster up --cluster "$cluster"
expect 0 dnet-cluster status --cluster "$cluster"
shows "^cluster $cluster: 2 nodes"
expect 2 dnet-cluster status --cluster "$cluster" "$cluster"
says 'want one of them'
expect 0 dnet-cluster down --cluster "$cluster"
# What is not there is status 1 in all of them, a name that none can have 2.
for command in 'dnet-cluster down' 'dnet-cluster status' 'dnet-cluster path 1 2' 'dnet-cluster cut a:1' 'dnet-cluster restore a:1' \
    'dnet-cluster degrade a:1 --heal' 'dsh -c v' 'dnet-subnet health'; do
    # shellcheck disable=SC2086
    expect 1 $command --cluster "$cluster"
    says "no cluster $cluster of this user"
    # shellcheck disable=SC2086
    expect 2 $command --cluster ../x
    says 'cluster name'
done
sleep 100 &
idle=$!
for command in 'dsh -c v' 'dnet-stat' 'dnet-stat --nics' 'dnet-trace show' 'dnet-trace status' 'dnet-trace on all' 'dnet-trace off'; do
    for option in -p --job; do
        # shellcheck disable=SC2086
        expect 1 $command $option $idle
        grep -q "$idle" err || fail "the process is not named"
    done
done
kill $idle
for command in 'dnet-trace show' 'dnet-trace on' 'dnet-trace off' 'dnet-trace status' dsh dnet-stat; do
    # shellcheck disable=SC2086
    expect 0 $command --help
    shows '--job PID'
done
for command in list status on off show capture; do
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

# A page for each tool that is installed, and no page of what is not (dnet-check comes with MPICH only).
variable() { printf 'include Makefile\nprint:\n\t@echo $(%s)\n' "$1" | make -C "$DNET_BUILD" -s --no-print-directory -f - print | tail -n 1; }
variable dist_man_MANS | tr ' ' '\n' | sed 's|.*/||; s|\.1$||' | sort >pages
variable 'bin_PROGRAMS) $(bin_SCRIPTS' | tr ' ' '\n' | sed -n 's|.*tools/||p' | sort >installed
[ "$(wc -l <installed)" -ge 7 ] || fail "what is installed: $(cat installed)"
cmp -s pages installed || fail "pages: $(cat pages); tools: $(cat installed)"

# As dnet-subnet.1 says of all its commands.
for command in gen route verify diff lid path rails health show draw reproduce; do
    expect 0 dnet-subnet $command --help
    [ $command = reproduce ] || shows '--topology SPEC'
    case $command in gen | path | draw) ! grep -q -e --json out || fail "$command takes --json" ;; *) shows '--json FILE' ;; esac
done

# A command takes its own options only.
expect 0 dnet-subnet gen --help
shows '--format F'
! grep -q -e --engine out || fail "gen takes no engine"
expect 2 dnet-subnet gen --topology ring:5 --engine updn
says engine
expect 2 dnet-cluster restore --force a:1
says force
