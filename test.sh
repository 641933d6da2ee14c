#!/usr/bin/env bash
set -euo pipefail

usage() {
  cat <<'TEXT'
Builds attend with its tests and runs them; the last lines are the summary. Installs Debian packages that are missing.

  ./test.sh [--sanitize] [--torch DIR] [--filter REGEX]

  --sanitize       with the address and undefined-behaviour sanitizers (build/asan; takes more than twice as long)
  --torch DIR      with another libtorch than Debian's: a folder with include/ and lib/, such as `torch` of the PyPI package
                   (build/torch-VERSION)
  --filter REGEX   only the tests whose names match; `ctest --test-dir build/test -N` lists them

Example: ./test.sh --filter '^(core|addressing)$'
TEXT
}

wrong_call() {
  printf 'test.sh: %s\n' "$1" >&2
  usage >&2
  exit 2
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
preset=test torch='' filter=''
while [ $# -gt 0 ]; do
  case $1 in
    --sanitize) preset=asan ;;
    --torch | --filter)
      [ $# -gt 1 ] || wrong_call "$1: expected a value, got none"
      if [ "$1" = --torch ]; then torch=$2; else filter=$2; fi
      shift
      ;;
    --help | -h) usage; exit 0 ;;
    *) wrong_call "unknown option: $1" ;;
  esac
  shift
done

folder=$root/build/$preset
options=()
if [ -n "$torch" ]; then
  [ -d "$torch/include" ] && [ -d "$torch/lib" ] || wrong_call "--torch: expected a folder with include/ and lib/, got $torch"
  torch=$(cd "$torch" && pwd)
  version=$(cat "$torch/include/torch/csrc/api/include/torch/version.h" "$torch/include/torch/headeronly/version.h" 2>/dev/null |
    awk '/^#define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]/ && n++ < 3 {printf "%s%s", separator, $3; separator = "."}')
  folder=$root/build/torch-${version:-unknown}
  [ "$preset" = test ] || folder=$folder-$preset
  options=(-U 'Libtorch_*' -D "LIBTORCH_ROOT=$torch") # -U: what was found in another folder must not stay
fi

"$root/scripts/build.sh" "$preset" "$folder" "${options[@]}"

if [ "$preset" = asan ]; then
  export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1}
  export LSAN_OPTIONS=${LSAN_OPTIONS:-suppressions=$root/tests/sanitizers/leaks.supp:print_suppressions=0}
  export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
fi
ctest --test-dir "$folder" --output-on-failure --no-tests=error -j2 --timeout 900 ${filter:+-R "$filter"}
