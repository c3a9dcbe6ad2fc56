#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# benchmarks/programs: seconds that a program says, or that it takes; one that says it is wrong, fails, or does not end;
# programs that are missing, or were built with another library.  Libraries and programs are scripts here.
. "$DNET_SRC/tests/tools/lib.sh"

library() {
    mkdir -p "$1/bin" "dir/$1"
    printf '#!/bin/sh\ntouch "$3" && chmod +x "$3"\n' >"$1/bin/mpicc"
    # mpirun runs the program once, without what comes before it
    printf '#!/bin/sh\nwhile [ "$1" != -n ]; do shift; done\nshift 2\nexec "$@"\n' >"$1/bin/mpirun"
    chmod +x "$1/bin/mpicc" "$1/bin/mpirun"
}
# program LIBRARY NAME COMMANDS
program() {
    printf '#!/bin/sh\n%s\n' "$3" >"dir/$1/$2"
    chmod +x "dir/$1/$2"
}
programs() {
    status=$1
    shift
    expect "$status" "$DNET_SRC/benchmarks/programs" ours=ours peer=peer --dir dir --rounds 2 --ranks 2 --timeout 2 "$@"
}
command -v python3 >/dev/null || { echo 'no python3'; exit 77; }
library ours
library peer
says='echo " Verification = SUCCESSFUL"; echo " Time in seconds = $((2 * $1)).5"'
program ours solve "$says"
program peer solve 'echo " Time in seconds = 5.0"'

programs 0 --program 'solve 1' --program 'solve 5' --json facts.json
shows '| solve 1, s | 2 | 0.50 | peer | 2.5 | 5 |'
shows '| solve 5, s | 2 | 2.10 | peer | 10.5 | 5 |'
grep -q 'Behind in 1 of 2 rows' out || fail 'it does not count what is behind'
grep -q '"ratio": 2.1' facts.json || fail 'no ratio in the file of results'

# Without such a line it is the time of the run; another line is found by --time; each run has a folder of its own.
program ours solve 'mkdir here || exit 1; echo done after 3 s'
program peer solve 'sleep 0.3; echo done after 6 s'
programs 0 --program solve
shows '| solve, s | 2 | 0\..* | peer | 0\..* | 0\.[3-9].* |'
programs 0 --program solve --time 'after ([0-9]+) s'
shows '| solve, s | 2 | 0.50 | peer | 3 | 6 |'

# No end, a wrong result, an error.
program peer solve 'exec sleep 60'
programs 0 --program solve
shows '| solve, s | 2 | - | - | .* | over 2 s |'
program peer solve 'echo " Verification = UNSUCCESSFUL"'
programs 1 --program solve
grep -q "peer: .*/dir/peer/solve with 2 ranks says 'UNSUCCESSFUL'" err || fail 'a wrong result is a result'
shows '| solve, s | 2 | - | - | .* | - |'
program peer solve 'exit 3'
programs 1 --program solve
grep -q 'peer: .* failed:' err || fail 'it does not say which program has failed'

program peer solve 'echo after many s'
programs 1 --program solve --time 'after ([a-z]+) s'
grep -q "says 'many', which is no number of seconds" err || fail 'a word is a time'

# Options that are wrong.
for wrong in '--time (' '--time after' '--wrong (a)' "--program '" '--program=' '--ranks 0' '--rounds 0'; do
    expect 2 "$DNET_SRC/benchmarks/programs" ours=ours peer=peer --dir dir --program solve $wrong
    grep -q 'programs: error: ' err || fail "$wrong is not refused"
done

# No such program, and one of another library.
programs 1 --program resolve
grep -q 'no program .*/dir/ours/resolve; build it with ours/bin/mpicc' err || fail 'a program that is missing'
mkdir -p ldd
printf '#!/bin/sh\ncase "$1" in */peer/solve) echo "libmpi.so.12 => /elsewhere/libmpi.so.12 (0x0)" ;; *) echo "libmpi.so.12 => /here/libmpi.so.12 (0x0)" ;; esac\n' >ldd/ldd
chmod +x ldd/ldd
PATH="$PWD/ldd:$PATH"
programs 1 --program solve
grep -q 'dir/peer/solve runs with /elsewhere/libmpi.so.12, and not with /here/libmpi.so.12 of peer' err || fail 'a program of another library is measured'
