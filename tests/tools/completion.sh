#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Completion in bash, and in zsh where it is: commands, options, words of an option, clusters by name, ranks of a job; for every tool.
. "$DNET_SRC/tests/tools/lib.sh"
command -v bash >/dev/null || {
    echo 'bash is missing'
    exit 77
}
cat >complete.bash <<'B'
. "$DNET_SRC/tools/completion/dimmnet.bash"
compopt() { echo "compopt $*" >>compopt.out; } # outside of a completion it has nothing to do
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_dimmnet
echo "${COMPREPLY[*]}"
B

# What zsh does with a function of bash, and of its results leaves those that fit.
cat >complete.zsh <<'Z'
autoload -U compinit bashcompinit
compinit -D -u
bashcompinit
. "$DNET_SRC/tools/completion/dimmnet.bash"
local -a COMP_WORDS COMPREPLY found
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
found=(${(f)"$(compgen -F _dimmnet -- "${@[-1]}")"})
print -r -- ${(M)found:#${@[-1]}*}
Z

# completes EXPECTED WORD...: what the last word, which may be empty, can become.
completes() {
    expected=$1
    shift
    for shell in bash 'zsh -f'; do
        command -v ${shell%% *} >/dev/null || continue
        # shellcheck disable=SC2086
        expect 0 $shell complete.${shell%% *} "$@"
        [ ! -s err ] || fail "$shell: $*: a message"
        [ "$(cat out)" = "$expected" ] || fail "$shell: $*: '$(cat out)' instead of '$expected'"
    done
}
completes 'up down status path cut restore degrade --help --version' dnet-cluster ''
completes 'restore' dnet-cluster re
completes '--cluster --force --help' dnet-cluster cut --
completes '1x 4x' dnet-cluster degrade --width ''
completes 'prototype prototype-flow' dnet-cluster up --profile p
completes 'uniform' dnet-subnet route --traffic u
completes 'two-fat-trees: tsubame: torus:' dnet-subnet gen -t t
completes '--json --ranks --topology --help --version' dnet-info --
printf '#!/bin/sh\n' >odd-program
chmod +x odd-program
PATH=$PATH:$scratch
[ ! -x "$DNET_BUILD/tools/dnet-check" ] || completes '--help --version' dnet-check --
[ ! -x "$DNET_BUILD/tools/dnet-check" ] || completes odd-program dnet-check odd-p
touch run.0 run.1
completes 'run.0 run.1' dnet-trace show run
grep -q '^compopt -o filenames$' compopt.out || fail "files are not completed as files"
expect 0 dnet-cluster up "$cluster"
completes "$cluster" dnet-cluster down "$cluster"
completes "$cluster" dsh --cluster "${cluster%?}"
completes "$cluster" dnet-subnet health --cluster "$cluster"

mkfifo pipe
"$DNET_BUILD/tests/tools/job" <pipe >job.out 2>&1 &
job=$!
exec 3>pipe
until_true grep -q '^[0-9]* [0-9]* [0-9]* [0-9]*$' job.out
read -r rank0 _ <job.out
completes "$rank0" dnet-stat "$rank0"
completes "$rank0" dnet-trace on all --job "$rank0"
completes "$rank0" dsh -p "$rank0"
echo go >&3
wait $job || fail "the job: $(cat job.out)"

# No tool is left out.
for tool in "$DNET_BUILD"/tools/dnet-* "$DNET_BUILD/tools/dsh"; do
    [ ! -x "$tool" ] || grep -q "^complete .* ${tool##*/}\( \|$\)" "$DNET_SRC/tools/completion/dimmnet.bash" ||
        fail "${tool##*/} is not completed"
    [ ! -x "$tool" ] || grep -q "^dnet_completed = .*${tool##*/}\( \|$\)" "$DNET_SRC/tools/completion/Local.mk" ||
        fail "${tool##*/}: its completion is not installed"
done
