#compdef svc
# Completion of svc for zsh: source <(svc completion zsh)

# What may follow a command: commands below it, its options, what values some of them take, what its arguments are.
_svc_at() {
  subs=() flags=() values=() places=()
  case $1 in
#COMMANDS#
  esac
}

_svc() {
  emulate -L zsh
  local word kind option='' waits='' route=svc before='' cur=${words[CURRENT]}
  local -i at=1
  local -a subs flags values places engine names
  _svc_at $route
  for word in "${(@)words[2,CURRENT-1]}"; do
    if [[ -n $waits ]]; then
      case $option in (--url|--config|-c) engine+=($option $word) ;; esac
      [[ -z $before && $waits == @function ]] && before=$word
      waits=
    elif [[ $word == -*=* ]]; then
      case $word in (--url=*|--config=*) engine+=($word) ;; esac
    elif [[ $word == -* ]]; then
      option=$word waits=${${values[(r)$word=*]}#*=}
    elif [[ -n $word && -n ${subs[(r)$word:*]} ]]; then
      route+=" $word" at=1
      _svc_at $route
    else
      [[ -z $before ]] && before=$word
      at+=1
    fi
  done
  if [[ -n $waits ]]; then
    kind=$waits
  elif [[ $cur == --*=* ]]; then
    kind=${${values[(r)${cur%%=*}=*]}#*=}
    compset -P '*='
  elif [[ $cur == -* ]]; then
    # Not by _describe -o, which offers none of them in zsh 5.9.
    names=(${flags%%:*})
    flags=(${flags/:/ -- })
    compadd -l -d flags -a names
    return
  elif (( $#subs )); then
    _describe command subs
    return
  elif (( $#places )); then
    kind=${places[at]}
    # The last argument may be given again and again.
    [[ -z $kind && ${places[-1]} == *... ]] && kind=${places[-1]}
    kind=${kind%...}
  fi
  if [[ $kind == folder,* ]]; then
    names=(${(s:,:)kind#folder})
    compadd -a names
    kind=folder
  fi
  case $kind in
    (,*) names=(${(s:,:)kind}); compadd -a names ;;
    (file) _files ;;
    (folder) _files -/ ;;
    (@*) names=(${(f)"$(${(Q)words[1]} __complete ${kind#@} $engine -- ${(Q)before} 2>/dev/null)"}); compadd -a names ;;
  esac
}

compdef _svc svc
