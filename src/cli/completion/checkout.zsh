#compdef checkout
# zsh completion for checkout. In an interactive shell, after compinit: source <(checkout completion zsh)

_checkout() {
  emulate -L zsh
  local -a values shown
  local line value
  for line in "${(@f)$(command checkout complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}"; do
    value=${line%%$'\t'*}
    if [[ $line == $value ]]; then
      if [[ $value == :0 ]]; then _files; fi
      continue
    fi
    values+=("$value")
    shown+=("$value  ${line#*$'\t'}")
  done
  # Without -Q, zsh quotes each value for the place where it is inserted.
  compadd -U -l -d shown -a values
}

if [[ $funcstack[1] == _checkout ]]; then
  _checkout "$@"
else
  compdef _checkout checkout
fi
