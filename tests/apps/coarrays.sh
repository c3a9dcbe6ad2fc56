# SPDX-License-Identifier: BSD-3-Clause
#
# OpenCoarrays as Debian builds it for MPICH: Fortran's coarrays over MPI's one-sided calls.  Its own tests: puts and gets of
# all kinds of arrays, events, locks, atomics, teams, collectives.  Not those of images that fail, which want an MPI that goes
# on without them, none that Debian's MPICH does not pass either, and not increment_my_neighbor, which writes to images that
# may not have put in their first values yet.
. "$DNET_SRC/tests/apps/lib.sh"
app_debs libcoarrays-mpich-dev libcaf-mpich-3 libgfortran5
tests=$(find "$root" -type d -name 'OpenCoarrays-*-tests')
app_abi "$tests/syncall" open-coarrays/mpich/lib
for path in "$tests"/*; do
    name=${path##*/}
    images=4
    case $name in
    image_fail* | issue-488-* | issue-493-* | increment_my_neighbor) continue ;;
    sync_team | team_number) images=8 ;;
    issue-515-* | issue-552-*) images=2 ;;
    esac
    app_run "$name, $images images" 120 '[Tt]est passed' mpirun -n $images "$path" || :
done
