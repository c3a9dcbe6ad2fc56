# SPDX-License-Identifier: BSD-3-Clause
#
# Completion of dnet-* and dsh for bash, and for zsh behind `autoload bashcompinit; bashcompinit`.  Each tool
# says its own commands, options and words (--words), so that nothing is listed here a second time.

_dimmnet_clusters() {
    dnet-cluster status 2>/dev/null | sed -n 's/^cluster \([^:]*\):.*/\1/p'
}

# The ranks of this user's jobs, and what has started them.
_dimmnet_jobs() {
    dsh --list 2>/dev/null | awk 'NR > 1 { for (i = NF - 1; i <= NF; i++) if ($i > 0) print $i }'
    pgrep -u "$(id -u)" -x 'mpirun|mpiexec|mpiexec.hydra' 2>/dev/null
}

# _dimmnet_value KIND WORDS: what a value of this kind can be.
_dimmnet_value() {
    local kind=$1 words=$2
    case $kind in
    NAME | '[NAME]') words=$(_dimmnet_clusters) ;;
    *PID*) words=$(_dimmnet_jobs) ;;
    SPEC) words=$(dnet-subnet gen --list 2>/dev/null | sed 's/[:[].*/:/') ;;
    *FILE* | *SCRIPT* | *TRACE*)
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
        ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

_dimmnet() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} tool=${COMP_WORDS[0]} known option kind words
    known=$("$tool" --words 2>/dev/null)
    COMPREPLY=()
    if [[ $known == [a-z]* ]]; then # a tool of several commands
        if [ "$COMP_CWORD" -eq 1 ]; then
            mapfile -t COMPREPLY < <(compgen -W "$known" -- "$cur")
            return
        fi
        known=$("$tool" "${COMP_WORDS[1]}" --words 2>/dev/null)
    fi
    while IFS= read -r option; do
        IFS=$'\t' read -r option kind words <<<"$option"
        if [ "$option" = "$prev" ] && [ -n "$kind" ]; then
            _dimmnet_value "$kind" "$words"
            return
        fi
    done <<<"$known"
    if [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(cut -f 1 <<<"$known")" -- "$cur")
    else
        kind=$(sed -n 's/^\t//p' <<<"$known")
        _dimmnet_value "$kind" ""
    fi
}

complete -F _dimmnet dnet-cluster dnet-info dnet-replay dnet-stat dnet-subnet dnet-trace dsh
