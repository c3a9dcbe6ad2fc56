# SPDX-License-Identifier: BSD-3-Clause
#
# Completion of dnet-* and dsh for bash, and for zsh behind
#
#   autoload -U compinit bashcompinit; compinit; bashcompinit
#
# Each tool says its own commands, options and words (--words), so that nothing is listed here a second time.
# Only what both shells have: no mapfile, no here strings into a loop that fills COMPREPLY.

_dimmnet_clusters() {
    dnet-cluster status 2>/dev/null | sed -n 's/^cluster \([^:]*\):.*/\1/p'
}

# The ranks of this user's jobs, and what has started them.
_dimmnet_jobs() {
    dsh --list 2>/dev/null | awk 'NR > 1 { for (i = NF - 1; i <= NF; i++) if ($i > 0) print $i }'
    pgrep -u "$(id -u)" -x 'mpirun|mpiexec|mpiexec.hydra' 2>/dev/null
}

# _dimmnet_reply COMPGEN-OPTION...: what fits the word so far, one a line.
_dimmnet_reply() {
    local IFS='
'
    # shellcheck disable=SC2207
    COMPREPLY=($(compgen "$@" -- "$cur"))
}

# _dimmnet_value KIND WORDS: what a value of this kind can be.
_dimmnet_value() {
    local words=$2
    case $1 in
    NAME | '[NAME]') words=$(_dimmnet_clusters) ;;
    *PID*) words=$(_dimmnet_jobs) ;;
    SPEC) words=$(dnet-subnet gen --list 2>/dev/null | sed 's/[:[].*/:/') ;;
    *PROGRAM*)
        _dimmnet_reply -c
        return
        ;;
    *FILE* | *SCRIPT* | *TRACE*)
        compopt -o filenames 2>/dev/null || : # a directory goes on, and blanks are quoted
        _dimmnet_reply -f
        return
        ;;
    esac
    _dimmnet_reply -W "$(printf '%s\n' "$words" | tr ' ' '\n')"
}

_dimmnet() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} tool=${COMP_WORDS[0]} known found
    known=$("$tool" --words 2>/dev/null)
    COMPREPLY=()
    case $known in
    [a-z]*) # a tool of several commands
        if [ "$COMP_CWORD" -eq 1 ]; then
            _dimmnet_reply -W "$known"
            return
        fi
        known=$("$tool" "${COMP_WORDS[1]}" --words 2>/dev/null)
        ;;
    esac
    # An option, a tab, what its value is called, a tab, its words; arguments have no option.
    found=$(printf '%s\n' "$known" | awk -F '\t' -v prev="$prev" '$1 == prev && $2 != "" { print $2 "\t" $3; exit }')
    if [ -n "$found" ]; then
        _dimmnet_value "${found%%	*}" "${found#*	}"
        return
    fi
    case $cur in
    -*) _dimmnet_reply -W "$(printf '%s\n' "$known" | cut -f 1)" ;;
    *) _dimmnet_value "$(printf '%s\n' "$known" | sed -n 's/^	//p')" "" ;;
    esac
}

complete -F _dimmnet dnet-check dnet-cluster dnet-info dnet-replay dnet-stat dnet-subnet dnet-trace dsh
