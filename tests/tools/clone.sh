#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What a clone begins with: GNUmakefile configures with the options that were named last; install-packages says what is
# missing, for what, and how it goes on without, and apt-get gets the way out. Programs of the system are scripts here.
. "$DNET_SRC/tests/tools/lib.sh"

# script PATH LINE...: a program of these lines.
script() {
    path=$1
    shift
    mkdir -p "${path%/*}"
    { echo '#!/bin/sh'; printf '%s\n' "$@"; } >"$path"
    chmod +x "$path"
}

# ---- GNUmakefile ----
mkdir tree
cp "$DNET_SRC/GNUmakefile" tree
touch tree/configure.ac tree/Makefile.am
script tree/autogen.sh :
script tree/scripts/install-packages :
script tree/config.in 'echo "$*" >>../runs' 'case $* in *--wrong*) exit 1 ;; esac' 'printf "%%:\n\t@:\n" >Makefile' \
    'printf "#!/bin/sh\necho again >>../runs\ntouch Makefile\n" >config.status' 'chmod +x config.status'
cp tree/config.in tree/configure
touch -d '1 minute ago' tree/configure.ac tree/Makefile.am tree/autogen.sh
# made STATUS RUNS WORD...: make with these words; configure has then run so often.
made() {
    status=$1 runs=$2
    shift 2
    expect "$status" env -u MAKEFLAGS -u MAKELEVEL -u CONFIGURE make -C tree --no-print-directory "$@"
    [ "$(wc -l <tree/runs)" = "$runs" ] || fail "make $*: configure has run $(wc -l <tree/runs) times"
}
ran() { tail -n 1 tree/runs | grep -q -e "$1" || fail "configure has run with $(tail -n 1 tree/runs)"; }
made 0 1
made 0 1
made 0 2 CONFIGURE='--without-mpich  --disable-fortran'
ran '--without-mpich --disable-fortran$'
made 0 2 CONFIGURE='--without-mpich  --disable-fortran'
made 0 2
made 2 3 CONFIGURE=--wrong
made 2 4 CONFIGURE=--wrong
made 0 5 CONFIGURE="CFLAGS='-O1 -g'"
ran "CFLAGS=-O1 -g$"
made 0 5 CONFIGURE="CFLAGS='-O1 -g'"
touch -d '1 minute' tree/configure
made 0 7
ran again

# ---- install-packages ----
mkdir scripts
cp "$DNET_SRC/scripts/install-packages" scripts
printf 'here-1\nmissing-1\nmissing-2 # tests\n' >scripts/debian-packages
echo missing-3 >others
script bin/dpkg-query 'case $* in *here-1) echo installed ;; *) exit 1 ;; esac'
script bin/id 'echo 1000'
script bin/sudo '[ "$1" != -n ] || exit 0' 'exec env -i PATH="$PATH" "$@"'
script bin/apt-get 'echo "$http_proxy $no_proxy $*" >>apt' '[ ! -e broken ]'
PATH=$PWD/bin:$PATH
# packages STATUS [LIST]
packages() { expect "$1" env TMPDIR="$PWD" http_proxy=http://127.0.0.1:9 no_proxy= scripts/install-packages ${2:+"$2"}; }
packages 0
grep -q '^http://127.0.0.1:9  .*update$' apt && grep -q '^http://127.0.0.1:9  .*install missing-1 missing-2$' apt ||
    fail "apt-get has: $(cat apt)"
touch broken
packages 1
grep -q 'and run make again: missing-1 missing-2$' err || fail 'what is missing'
grep -q 'only tests need these of them: missing-2$' err || fail 'what only tests need'
grep -q 'autogen.sh && make goes on without' err || fail 'how it goes on'
! grep -q dpkg err || fail 'it speaks of dpkg, which is here'
packages 1 others
tail -n 1 err | grep -q 'run make again: missing-3$' || fail 'the packages of another list are not those of make'

# ---- check-dist ----
mkdir tree/.git
script bin/git 'echo "fatal: dubious ownership" >&2; exit 128'
script bin/distdir 'for word; do case $word in distdir=*) mkdir -p "${word#distdir=}" ;; esac; done'
expect 77 env DNET_SRC="$PWD/tree" DNET_BUILD="$PWD/tree/build" MAKE=distdir "$DNET_SRC/scripts/check-dist"
shows 'dubious ownership'
