# SPDX-License-Identifier: BSD-3-Clause
#
# NWChem, Debian's build for MPICH: energies of a water molecule by Hartree-Fock and by density functionals, with Global
# Arrays over MPI below; the energy does not depend on the number of ranks.
. "$DNET_SRC/tests/apps/lib.sh"
app_debs nwchem-mpich nwchem-data libscalapack-mpich2.2 libblas3 liblapack3
program=$(find "$root/usr/bin" -name 'nwchem*' | head -n 1)
app_abi "$program"
cat >nwchemrc <<END
nwchem_basis_library $root/usr/share/nwchem/libraries/
nwchem_nwpw_library $root/usr/share/nwchem/libraryps/
END
NWCHEM_NWPW_LIBRARY=$root/usr/share/nwchem/libraryps/
NWCHEM_BASIS_LIBRARY=$root/usr/share/nwchem/libraries/
export NWCHEM_NWPW_LIBRARY NWCHEM_BASIS_LIBRARY
cat >water.nw <<'END'
start water
geometry units angstrom
  O 0.0000000  0.0000000  0.1173000
  H 0.0000000  0.7572000 -0.4692000
  H 0.0000000 -0.7572000 -0.4692000
end
basis
  * library 6-31g*
end
task scf energy
dft
  xc b3lyp
end
task dft energy
END
for ranks in 1 2 4; do
    app_run "water, $ranks ranks" 600 'Total DFT energy' mpirun -n $ranks "$program" water.nw || continue
    sed -n 's/.*Total \(SCF\|DFT\) energy *= *\(-[0-9]*\.[0-9]\{5\}\).*/\2/p' "$ar_log" >energies.$ranks
    [ $ranks = 1 ] && continue
    if cmp -s energies.1 energies.$ranks; then
        app_result PASS "energies, $ranks ranks" "$(tr '\n' ' ' <energies.$ranks)"
    else
        app_result FAIL "energies, $ranks ranks" "$(tr '\n' ' ' <energies.$ranks) and $(tr '\n' ' ' <energies.1)"
    fi
done
