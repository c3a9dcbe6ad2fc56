# SPDX-License-Identifier: BSD-3-Clause
#
# ScaLAPACK's testers as Debian builds them for MPICH: solvers that compare with residuals, BLACS and PBLAS below them.
. "$DNET_SRC/tests/apps/lib.sh"
app_debs scalapack-mpi-test scalapack-test-common libscalapack-mpich2.2 libblas3 liblapack3
tests=$(find "$root" -type d -name mpich-tests)
app_abi "$tests/xdlu"

# tester NAME: four ranks; it counts the tests that failed.
tester() {
    app_run "$1" 600 ' 0 tests completed and failed|[0-9]+ tests completed without checking|^ *End of tests' \
        sh -c "cd '$tests' && mpirun -n 4 ./$1 && :" || return 0
    if grep -E '(FAILED|[1-9][0-9]* tests completed and failed)' "$ar_log" >/dev/null; then
        app_result FAIL "$1" "a residual is too large (log: $ar_log)"
    fi
}
for name in xdlu xzllt xdqr xsls xdtrd xddblu xcinv xdsvd; do
    tester "$name"
done
