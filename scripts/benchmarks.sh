#!/usr/bin/env bash
# Measures all suites of benchmarks and writes the tables of docs/benchmarks.md anew. On a machine that does nothing else.
#   scripts/benchmarks.sh [ATTEND] [OPTIONS OF attend bench…]     default: build/release/bin/attend
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
attend=${1:-$root/build/release/bin/attend}
shift || true
commit=$(git -C "$root" rev-parse --short=12 HEAD)
[ -z "$(git -C "$root" status --porcelain --untracked-files=no -- src include bench/cases)" ] || commit+=+changes
for suite in attention additive decoder; do
  "$attend" bench "$suite" --json "$@" > "$root/bench/results/$suite.json.new"
  sed "s/^{/{\"commit\":\"$commit\",\"date\":\"$(date -u +%F)\",/" "$root/bench/results/$suite.json.new" > "$root/bench/results/$suite.json"
  rm "$root/bench/results/$suite.json.new"
done
cmake -P "$root/cmake/GenerateBenchmarks.cmake"
