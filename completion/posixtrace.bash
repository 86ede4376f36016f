# posixtrace.bash - completion of posixtrace's arguments in bash
#
# Knows no subcommand and no option itself: posixtrace complete tells.
#
# SPDX-License-Identifier: MIT

# What posixtrace tells, if it runs at all.
_posixtrace_ask()
{
	"${COMP_WORDS[0]}" complete "$@" 2>/dev/null
}

# Words of which one may be meant, one on each line of standard input.
_posixtrace_offer()
{
	local IFS=$'\n' word

	COMPREPLY=()
	while read -r word; do
		[[ $word == "$cur"* ]] && COMPREPLY+=("$(printf '%q' "$word")")
	done
}

_posixtrace_files()
{
	local IFS=$'\n'

	compopt -o filenames 2>/dev/null
	COMPREPLY=($(compgen -f -- "$cur"))
}

# Names of the log or of the process that the line speaks of; names may begin with ! for patterns.
_posixtrace_events()
{
	local i not='' from=()

	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-p | --pid) [[ ${COMP_WORDS[i + 1]} == [1-9]* ]] && from=(-p "${COMP_WORDS[i + 1]}") ;;
		-*) ;;
		*) [[ ${#from[@]} -eq 0 && -f ${COMP_WORDS[i]} ]] && from=("${COMP_WORDS[i]}") ;;
		esac
	done
	[[ $cur == ['!']* ]] && not='!' cur=${cur#!}
	_posixtrace_offer < <(_posixtrace_ask events "${from[@]}" | sort -u)
	COMPREPLY=("${COMPREPLY[@]/#/$not}")
}

# The argument of an option or an operand, by its name in --help, or the words of which it is one: ARGUMENT [WORD...]
_posixtrace_argument()
{
	if (($# > 1)); then
		_posixtrace_offer < <(printf '%s\n' "${@:2}")
		return
	fi
	case $1 in
	FILE | OUT | PAGE) _posixtrace_files ;;
	PID) _posixtrace_offer < <(_posixtrace_ask pids | cut -f 1) ;;
	PATTERN | EVENT | NAME) _posixtrace_events ;;
	*) COMPREPLY=() ;;
	esac
}

# Where a command begins whose arguments are not ours: behind --, or at the first operand. Sets begin; 0: not here.
_posixtrace_command_begins()
{
	local i word

	begin=0
	[[ $operand == COMMAND ]] || return
	for ((i = 2; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ $word == -- ]]; then
			begin=$((i + 1))
			return
		elif [[ $word != -* ]]; then
			begin=$i
			return
		elif [[ ${COMP_WORDS[i + 1]} == = ]]; then
			((i += 2)) # bash takes --option=value apart
		elif [[ $(_posixtrace_kind "$word") != - ]]; then
			((i++))
		fi
	done
}

# The name of an option's argument, and its choices; "-": it has none.
_posixtrace_kind()
{
	local option kind

	while read -r option kind; do
		if [[ $option == "$1" ]]; then
			printf '%s\n' "$kind"
			return
		fi
	done <<<"$options"
	printf '%s\n' -
}

_posixtrace_foreign()
{
	if declare -F _comp_command_offset >/dev/null; then
		_comp_command_offset "$begin"
	elif declare -F _command_offset >/dev/null; then
		_command_offset "$begin"
	elif ((COMP_CWORD == begin)); then
		COMPREPLY=($(compgen -c -- "$cur"))
	else
		_posixtrace_files
	fi
}

_posixtrace()
{
	local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
	local options operand kind begin value=0

	COMPREPLY=()
	if ((COMP_CWORD == 1)) || { ((COMP_CWORD == 2)) && [[ $command == help ]]; }; then
		_posixtrace_offer < <(_posixtrace_ask commands
			((COMP_CWORD == 1)) && printf '%s\n' --help --version)
		return
	fi
	options=$(_posixtrace_ask options "$command")
	operand=$(_posixtrace_ask operand "$command")
	_posixtrace_command_begins
	if ((begin)); then
		_posixtrace_foreign
		return
	fi
	# bash takes --option=value apart.
	if [[ $before == = ]]; then
		before=${COMP_WORDS[COMP_CWORD - 2]} value=1
	elif [[ $cur == = && $before == --* ]]; then
		cur='' value=1
	fi
	kind=$(_posixtrace_kind "$before")
	if [[ $kind != - ]]; then
		# shellcheck disable=SC2086 # several words
		_posixtrace_argument $kind
	elif ((value)); then
		return # as of --loop=, which may go without
	elif [[ $cur == -* ]]; then
		_posixtrace_offer < <(cut -d ' ' -f 1 <<<"$options")
	elif [[ $operand == COMMAND ]]; then
		COMPREPLY=($(compgen -c -- "$cur"))
	else
		_posixtrace_argument "$operand"
	fi
}

complete -F _posixtrace posixtrace
