#!/usr/bin/env bash
# Checks the layout that docs/design.md describes: which folder may include which, one test for each public header, one page for each
# mechanism, no junk-drawer folders, nothing left open. Includes are read as text: Debian's libtorch headers lie in /usr/include, so
# that a compiler would find them from any folder.
#
#   tests/layout/check_layout.sh [ROOT]     each finding is one line, FILE:LINE: what is wrong and what to do; exit status 1 if there is any
set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C
cd "${1:-"$(dirname "${BASH_SOURCE[0]}")/../.."}"
[ -d include/attend ] || { echo "layout: expected a folder with include/attend, got $PWD" >&2; exit 2; }

# From the lowest line to the highest. A folder may include itself and any lower line, never its own line.
lines="base
io kernels
core
addressing gating glimpsing
layers
models data
train decode view bench
tasks
cli"

# Public headers that have nothing to test: the export macro, and the header that includes all others.
without_behaviour="attend.h base/api.h"

# Public headers of addressing, gating and glimpsing that serve mechanisms without being one: they need no page.
not_mechanisms="addressing/dropout addressing/finite addressing/read addressing/simd_target"

files() { # files PATTERN FOLDER…: sorted; folders may be missing
  local pattern=$1 folder found=()
  shift
  for folder in "$@"; do [ -d "$folder" ] && found+=("$folder"); done
  [ ${#found[@]} -eq 0 ] || find "${found[@]}" -type f -name "$pattern" | sort
}

check_includes() {
  { files '*.h' include src bench; files '*.cpp' include src bench; } | tr '\n' '\0' | xargs -0 -r awk -v lines="$lines" '
    function report(text) { print FILENAME ":" FNR ": " text }
    BEGIN {
      count = split(lines, line, "\n")
      for (i = 1; i <= count; ++i) {
        parts = split(line[i], folder, " ")
        for (j = 1; j <= parts; ++j) level[folder[j]] = i
      }
      split("addressing gating glimpsing layers bench kernels", allowed, " ")
      for (i in allowed) sees_kernels[allowed[i]] = 1
      split("base io kernels", plain, " ")
      for (i in plain) without_libtorch[plain[i]] = 1
    }
    FNR == 1 {
      own = FILENAME
      public = sub(/^include\/attend\//, "", own)
      if (own ~ /^bench\//) own = "bench/"
      sub(/^src\//, "", own)
      if (own ~ /\//) sub(/\/.*/, "", own)
      else own = ""  # beside the folders: the header that includes all, and what the build needs
      if (own != "" && !(own in level)) report("the folder \"" own "\" stands in no line of the layers; put the file into one that does")
    }
    /^[ \t]*#[ \t]*include[ \t]*[<"]/ && own in level {
      target = $0
      sub(/^[ \t]*#[ \t]*include[ \t]*[<"]/, "", target)
      sub(/[>"].*/, "", target)
      if (own in without_libtorch && target ~ /^(torch|ATen|c10|caffe2)\//)
        report("includes <" target ">, but " own " must not see libtorch; take plain pointers, or move this to core or above")
      if (target ~ /^\.\.?\//) report("includes \"" target "\"; write the whole path, from include/ or src/")
      if (target == "attend/attend.h") report("includes attend/attend.h, which is for users; include the headers that are needed")
      name = target
      from_public = sub(/^attend\//, "", name)
      if (name !~ /\//) next
      sub(/\/.*/, "", name)
      if (!(name in level)) next
      if (name == "kernels" && !(own in sees_kernels))
        report("includes " target ", but only addressing, gating, glimpsing, layers and bench may include kernels; go through one of them")
      else if (name == "kernels" && public)
        report("includes " target ", but kernels are private; include it in the source, not in a public header")
      else if (name != own && level[name] == level[own])
        report("includes " target ": " own " and " name " stand in the same line of the layers; move what both need to a lower line")
      else if (level[name] > level[own])
        report("includes " target ": an arrow that points up, from " own " to " name "; turn it round, or move what is needed to a lower line")
    }'
}

asserts() { sed 's,//.*,,' "$1" | grep -E '\b(EXPECT|ASSERT)_[A-Z_]+' >/dev/null; } # not -q: sed would meet a closed pipe in a long file

check_headers() {
  local header stem test
  while read -r header; do
    stem=${header#include/attend/}
    case " $without_behaviour " in *" $stem "*) continue ;; esac
    stem=${stem%.h}
    test=tests/${stem}_test.cpp
    if [ ! -e "$test" ]; then
      echo "$header:1: has no test; write $test"
    elif ! asserts "$test"; then
      echo "$test:1: asserts nothing; test what $header promises (EXPECT_…, ASSERT_…)"
    fi
    case $stem in addressing/* | gating/* | glimpsing/*) ;; *) continue ;; esac
    case " $not_mechanisms " in *" $stem "*) continue ;; esac
    if [ -z "$(files "${stem##*/}.md" docs)" ]; then
      echo "$header:1: is a mechanism without a page; write docs/$stem.md, or name it among not_mechanisms in tests/layout/check_layout.sh"
    fi
  done < <(files '*.h' include/attend)
}

check_everything() {
  local header
  while read -r header; do
    grep -qF "#include \"${header#include/}\"" include/attend/attend.h 2>/dev/null ||
      echo "$header:1: is missing in include/attend/attend.h, which has every public header; add it there"
  done < <(files '*.h' include/attend | grep -v '/attend\.h$')
}

ours() { # what is written by us: no build folders, nothing of git
  find . \( -name .git -o -path ./build -o -path ./runs -o -path ./quickstart -o -path ./shared \) -prune -o "$@" -print | sed 's,^\./,,' | sort
}

check_names() {
  local folder
  while read -r folder; do
    echo "$folder:1: is a folder for anything; name folders by what they hold"
  done < <(ours -type d | grep -E '(^|/)(utils?|misc|helpers?|managers?)$' || true)
}

check_open_ends() {
  ours -type f | tr '\n' '\0' | { xargs -0 -r grep -InHE '\b(TOD[O]|FIXM[E])\b' || true; } | sed -E 's/^([^:]+:[0-9]+):.*/\1: something is left open; finish it, or write it into an issue/'
}

findings=$(check_includes; check_headers; check_everything; check_names; check_open_ends)
if [ -n "$findings" ]; then
  printf '%s\n' "$findings"
  printf 'layout: %s to mend; the rules are in docs/design.md\n' "$(printf '%s\n' "$findings" | wc -l)"
  exit 1
fi
echo "layout: nothing to mend"
