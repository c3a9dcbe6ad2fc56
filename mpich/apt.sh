# SPDX-License-Identifier: BSD-3-Clause
#
# Debian's source packages, by an apt configuration of our own below $apt, so that nothing of the system's is
# changed.  Sourced; expects $apt with sources.list.d, lists/partial and cache/archives/partial.

# Debian's own entries among the machine's apt sources, as source entries.  Ours to use are those of the
# release the machine runs, component main; others (third parties, updates) hold other versions or may be down.
apt_sources() {
    codename=$(. /etc/os-release 2>/dev/null && printf '%s' "${VERSION_CODENAME:-}")
    [ -n "$codename" ] || return 0
    for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ -r "$list" ] && awk -v code="$codename" '
            $1 == "deb" || $1 == "deb-src" {
                line = $0; sub(/^deb(-src)?[ \t]+/, "", line)
                rest = line; sub(/^\[[^]]*\][ \t]*/, "", rest)
                if (split(rest, field, /[ \t]+/) >= 3 && field[2] == code && rest ~ /[ \t]main([ \t]|$)/)
                    print "deb-src " line
            }' "$list"
    done | sort -u >"$apt/sources.list.d/debian.list"
    for list in /etc/apt/sources.list.d/*.sources; do
        [ -r "$list" ] && awk -v code="$codename" '
            BEGIN { RS = ""; FS = "\n" }
            {
                out = "Types: deb-src\nSuites: " code "\nComponents: main\n"; suite = component = 0
                for (i = 1; i <= NF; i++) {
                    if ($i ~ /^Suites:/ && ($i " ") ~ "[ \t:]" code " ") suite = 1
                    if ($i ~ /^Components:/ && ($i " ") ~ /[ \t:]main /) component = 1
                    if ($i ~ /^(URIs|Signed-By):/ || ($i ~ /^[ \t]/ && keep)) { out = out $i "\n"; keep = 1 }
                    else keep = 0
                }
                if (suite && component) print out
            }' "$list"
    done >"$apt/sources.list.d/debian.sources"
    [ -s "$apt/sources.list.d/debian.list" ] || [ -s "$apt/sources.list.d/debian.sources" ]
}

apt() {
    apt-get -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$apt/sources.list.d" \
        -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt/cache" -o Debug::NoLocking=1 \
        -o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none -o Acquire::Retries=3 "$@"
}
