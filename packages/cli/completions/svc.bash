# Completion of svc for bash (3.2 and later): source <(svc completion bash)

# What may follow a command: commands below it, its options, what values some of them take, what its arguments are.
_svc_at() {
  subs=() flags=() values=() places=()
  case $1 in
#COMMANDS#
  esac
}

# Sets `kind` to what the value of an option is; empty for a switch.
_svc_kind() {
  local entry
  kind=
  for entry in ${values[@]+"${values[@]}"}; do
    [[ ${entry%%=*} == "$1" ]] && kind=${entry#*=} && return
  done
}

_svc_offer() {
  [[ $1 == "$cur"* ]] && COMPREPLY+=("$(printf '%q' "$1")")
}

_svc() {
  local line=${COMP_LINE:0:COMP_POINT} word kind cur option='' waits='' path=svc before='' name
  local -i at=0 last
  local -a words=() subs flags values places engine=()
  COMPREPLY=()
  # By the line and not by COMP_WORDS, which bash parts at each colon.
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  last=$((${#words[@]} - 1))
  cur=${words[last]}
  _svc_at "$path"
  for word in "${words[@]:1:last-1}"; do
    if [[ -n $waits ]]; then
      case $option in --url | --config | -c) engine+=("$option" "$word") ;; esac
      [[ -z $before && $waits == @function ]] && before=$word
      waits=
    elif [[ $word == -*=* ]]; then
      case $word in --url=* | --config=*) engine+=("$word") ;; esac
    elif [[ $word == -* ]]; then
      _svc_kind "$word"
      option=$word waits=$kind
    elif [[ " ${subs[*]-} " == *" $word "* ]]; then
      path+=" $word" at=0
      _svc_at "$path"
    else
      [[ -z $before ]] && before=$word
      at+=1
    fi
  done
  kind=
  if [[ -n $waits ]]; then
    kind=$waits
  elif [[ $cur == --*=* ]]; then
    _svc_kind "${cur%%=*}"
    cur=${cur#*=}
  elif [[ $cur == -* ]]; then
    for name in ${flags[@]+"${flags[@]}"}; do _svc_offer "$name"; done
    return
  elif [[ ${#subs[@]} -gt 0 ]]; then
    for name in "${subs[@]}"; do _svc_offer "$name"; done
    return
  elif [[ ${#places[@]} -gt 0 ]]; then
    kind=${places[at]-}
    # The last argument may be given again and again.
    [[ -z $kind && ${places[${#places[@]} - 1]} == *... ]] && kind=${places[${#places[@]} - 1]}
    kind=${kind%...}
  fi
  if [[ $kind == folder,* ]]; then
    local IFS=,
    for name in ${kind#folder,}; do _svc_offer "$name"; done
    unset IFS
    kind=folder
  fi
  case $kind in
    ,*)
      local IFS=,
      for name in ${kind#,}; do _svc_offer "$name"; done
      ;;
    file | folder)
      local flag=-f
      [[ $kind == folder ]] && flag=-d
      while IFS= read -r name; do COMPREPLY+=("$name"); done < <(compgen "$flag" -- "$cur")
      type compopt >/dev/null 2>&1 && compopt -o filenames 2>/dev/null
      ;;
    @*)
      while IFS= read -r name; do _svc_offer "$name"; done < <("${words[0]}" __complete "${kind#@}" ${engine[@]+"${engine[@]}"} -- "$before" 2>/dev/null)
      ;;
  esac
  # Readline replaces only what stands behind the last colon.
  if [[ $cur == *:* && $COMP_WORDBREAKS == *:* && ${#COMPREPLY[@]} -gt 0 ]]; then
    local lead=${cur%"${cur##*:}"}
    COMPREPLY=("${COMPREPLY[@]#"$lead"}")
  fi
}

complete -F _svc svc
