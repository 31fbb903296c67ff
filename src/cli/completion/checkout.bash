# bash completion for checkout. In an interactive shell: source <(checkout completion bash)

# Sets REPLY to the typed word without quotes and backslashes, and QUOTE to a quote that is still open.
_checkout_word() {
  local text=$1 char quote=
  REPLY=
  while [[ -n $text ]]; do
    char=${text:0:1} text=${text:1}
    if [[ $quote == "'" ]]; then
      if [[ $char == "'" ]]; then quote=; else REPLY+=$char; fi
    elif [[ $char == \\ ]]; then
      if [[ $quote == '"' && ${text:0:1} != ['"$`\'] ]]; then REPLY+=\\; fi
      REPLY+=${text:0:1} text=${text:1}
    elif [[ -n $quote && $char == "$quote" ]]; then
      quote=
    elif [[ -z $quote && $char == [\'\"] ]]; then
      quote=$char
    else
      REPLY+=$char
    fi
  done
  QUOTE=$quote
}

_checkout() {
  local REPLY QUOTE rest=${COMP_LINE:0:COMP_POINT} words=() head= piece gap i quote value description
  # readline cuts a word at : = @ and then inserts only the last part; head is the part before it.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    gap=${rest%%[!$' \t\n']*}
    rest=${rest:${#gap}}
    if ((i == COMP_CWORD)); then piece=$rest; else piece=${COMP_WORDS[i]}; fi
    rest=${rest:${#piece}}
    if ((i > 0)) && [[ -z $gap ]]; then
      head=${words[${#words[@]} - 1]}
      if [[ $piece == [:=@]* ]]; then head+=$piece; fi
      words[${#words[@]} - 1]+=$piece
    else
      words+=("$piece") head=
    fi
  done
  for i in "${!words[@]}"; do
    _checkout_word "${words[i]}"
    words[i]=$REPLY quote=$QUOTE
  done
  _checkout_word "$head"
  head=$REPLY
  COMPREPLY=()
  while IFS=$'\t' read -r value description; do
    if [[ -z $description && $value == :[0-9]* ]]; then
      if [[ $value == :0 ]]; then compopt -o default 2>/dev/null; fi
      continue
    fi
    value=${value:${#head}}
    case $quote in
      "'") value=${value//\'/\'\\\'\'} ;;
      '"')
        # An interactive shell expands ! within double quotes, even after a backslash: such a value is not offered.
        if [[ $value == *!* ]]; then continue; fi
        value=${value//\\/\\\\} value=${value//\"/\\\"} value=${value//\$/\\\$} value=${value//\`/\\\`}
        ;;
      *) printf -v value %q "$value" ;;
    esac
    COMPREPLY+=("$value")
  done < <(command checkout complete -- "${words[@]:1}" 2>/dev/null)
}

complete -F _checkout checkout
