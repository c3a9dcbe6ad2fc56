#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# mpich/obtain: no source is wanted once the grafted copy has been made of it, by whomever make is run then.
. "$DNET_SRC/tests/tools/lib.sh"

cp -R "$DNET_SRC/mpich" mpich
# This user has an empty cache, and there is no network.
mkdir -p bin home work/src
printf '#!/bin/sh\nexit 100\n' >bin/apt-get
chmod +x bin/apt-get
PATH=$PWD/bin:$PATH HOME=$PWD/home
unset XDG_CACHE_HOME
obtain() { expect "$1" mpich/obtain work ${2:+"$2"}; }

obtain 1
grep -q 'no MPICH source' err || fail 'no line that says what is missing'
# As after a build by another user.
awk '!/^#/ && NF { print $3; exit }' mpich/versions >work/source.id
echo /nonexistent/mpich.tar >work/source
touch work/src/.dimmnet-graft
cp work/source.id source.id
obtain 0
[ ! -s err ] && cmp -s work/source.id source.id || fail 'another source'
obtain 0 /nonexistent/mpich.tar
obtain 1 /nonexistent/other.tar
says 'cannot read this file'
# It is wanted to make the copy anew, or one of another source.
touch -d '1 minute' mpich/patches/00-new.patch
obtain 1
obtain 1 /nonexistent/mpich.tar
rm mpich/patches/00-new.patch
touch -d '2 minutes' work/src/.dimmnet-graft
obtain 0
echo '4.0.2 of a folder' >work/source.id
obtain 1

# A folder is the same whatever the clock here shows, and whoever owns it; not with another configure.
mkdir -p folder/maint
echo 'm4_define([MPICH_VERSION_m4],[4.0.2])dnl' >folder/maint/version.m4
echo 1 >folder/configure
obtain 0 folder
cp work/source.id source.id
TZ=Asia/Tokyo
export TZ
obtain 0 "$PWD/folder"
cmp -s work/source.id source.id || fail "in another zone: $(cat work/source.id)"
[ "$(id -u)" != 0 ] || chown 65534 folder/configure
obtain 0 folder
cmp -s work/source.id source.id || fail "of another owner: $(cat work/source.id)"
echo 22 >folder/configure
obtain 0 folder
! cmp -s work/source.id source.id || fail 'another configure is the same source'
