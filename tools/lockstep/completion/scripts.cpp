#include "tools/lockstep/completion/scripts.hpp"

namespace lockstep::cli {

namespace {

/// Words are split here and not by readline, which splits at ":" and "=" too and replaces only what
/// stands after the last of them.
constexpr std::string_view kBash = R"(# bash completion for lockstep
_lockstep() {
  local line=${COMP_LINE:0:COMP_POINT} program=${1/#\~/$HOME} words current before word name
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  current=${words[-1]}
  before=${current%"${current##*[:=]}"}
  COMPREPLY=()
  while IFS=$'\t' read -r word _; do
    if [[ $word == :files ]]; then
      while IFS= read -r name; do COMPREPLY+=("$name"); done < <(compgen -f -- "${current#--*=}")
      compopt -o filenames 2>/dev/null
    else
      COMPREPLY+=("${word#"$before"}")
    fi
  done < <("$program" __complete "${words[@]:1}" 2>/dev/null)
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -F _lockstep lockstep
)";

constexpr std::string_view kZsh = R"(#compdef lockstep
_lockstep() {
  local line entry files=no
  local -a whole begun
  for line in "${(@f)$(${(Q)words[1]} __complete "${(@Q)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}"; do
    if [[ -z $line ]]; then
      continue
    elif [[ $line == :files ]]; then
      files=yes
    else
      entry=${${line%%$'\t'*}//:/\\:}
      [[ $line == *$'\t'* ]] && entry+=":${line#*$'\t'}"
      if [[ ${line%%$'\t'*} == *= ]]; then begun+=("$entry"); else whole+=("$entry"); fi
    fi
  done
  (( $#whole )) && _describe lockstep whole
  (( $#begun )) && _describe lockstep begun -S ''
  if [[ $files == yes ]]; then
    [[ $PREFIX == --*=* ]] && compset -P '*='
    _files
  fi
  return 0
}
if [[ $funcstack[1] == _lockstep ]]; then _lockstep "$@"; else compdef _lockstep lockstep; fi
)";

constexpr std::string_view kFish = R"(# fish completion for lockstep
function __lockstep_complete
    set -l words (commandline -opc)
    set -l program $words[1]
    set -e words[1]
    set -l current (commandline -ct)
    for line in ($program __complete $words "$current" 2>/dev/null)
        if test "$line" = ":files"
            __fish_complete_path (string replace -r '^--[^=]*=' '' -- "$current")
        else
            printf '%s\n' $line
        end
    end
end
complete -c lockstep -f -a '(__lockstep_complete)'
)";

}  // namespace

const std::array<CompletionScript, 3>& completion_scripts() {
  static constexpr std::array<CompletionScript, 3> kScripts{
      {{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}}};
  return kScripts;
}

}  // namespace lockstep::cli
