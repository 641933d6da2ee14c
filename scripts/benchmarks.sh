#!/usr/bin/env bash
# Measures all suites of benchmarks and writes those tables of docs/benchmarks.md anew that are of this machine's vectors (bench/results/avx2, …/avx3).
# On a machine that does nothing else.
#   scripts/benchmarks.sh [ATTEND] [OPTIONS OF attend bench…]     default: build/release/bin/attend
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
attend=${1:-$root/build/release/bin/attend}
shift || true
commit=$(git -C "$root" rev-parse --short=12 HEAD)
[ -z "$(git -C "$root" status --porcelain --untracked-files=no -- src include bench/cases)" ] || commit+=+changes
for suite in attention additive decoder; do
  json=$("$attend" bench "$suite" --json "$@")
  folder=$root/bench/results/$(sed -n 's/.*"simd_target":"\([^"]*\)".*/\L\1/p' <<< "$json")
  mkdir -p "$folder"
  sed "s/^{/{\"commit\":\"$commit\",\"date\":\"$(date -u +%F)\",/" <<< "$json" > "$folder/$suite.json"
done
cmake -P "$root/cmake/GenerateBenchmarks.cmake"
