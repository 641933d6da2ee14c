#!/usr/bin/env bash
# Trains Luong's model on CMUdict with every score in every window, and with every normaliser, 1,000 steps each, and logs what each reached in
# results/B3-cmudict-attention.jsonl: scripts/attention_table.sh [FOLDER]. What FOLDER (runs/attention) holds already is not trained again.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
attend=${ATTEND:-$root/build/release/bin/attend}
folder=${1:-runs/attention}

one() { # VARIANT SETTING…
  local variant=$1 run=$folder/${1//[^a-z0-9.-]/_} settings=()
  shift
  for setting in "$@"; do settings+=(--set "model.$setting"); done
  "$attend" train B3-cmudict-attention --out "$run" --resume --set "variant=\"$variant\"" "${settings[@]}"
  if ! grep -qs "\"variant\":\"$variant\"" results/B3-cmudict-attention.jsonl; then "$attend" eval "$run" --log; fi
}

for score in dot scaled-dot general additive cosine location; do
  for window in global local-m local-p; do
    one "$score, $window" "attention.score=\"$score\"" "attention.window=\"$window\""
  done
done
for normalizer in sparsemax entmax15 uniform hard-max hard-sample; do
  one "general, global, $normalizer" "attention.normalizer=\"$normalizer\""
done
one "general, global, entmax 1.25" 'attention.normalizer="entmax"' attention.alpha=1.25
one "general, global, hard-sample, entropy 0.1" 'attention.normalizer="hard-sample"' hard.entropy=0.1
one "general, global, hard-sample without baseline" 'attention.normalizer="hard-sample"' hard.baseline=false
one "general, global, hard-sample, half of the reads soft" 'attention.normalizer="hard-sample"' attention.expected=0.5

# How much the baseline takes from the variance of the attention's gradient.
"$attend" check "$folder/general__global__hard-sample" --split valid --items 64 --draws 200 | tail -1
