#!/usr/bin/env bash
# Writes, for each pair of a TSV file of words and their pronunciations (further columns: more pronunciations), the alignment along the diagonal in
# Pharaoh's form: sure is the letter that stands as far along the word as the phone along its pronunciation, possible its neighbours.
# scripts/diagonal_alignments.sh FILE > GOLD, for `attend eval RUN --alignments GOLD`: how far a model's alignments keep to the diagonal.
set -euo pipefail
awk -F'\t' '{
  letters = length($1)
  for (column = 2; column <= NF; ++column) {
    phones = split($column, unused, " ")
    line = ""
    for (phone = 0; phone < phones; ++phone) {
      sure = int((phone + 0.5) * letters / phones)
      for (letter = sure - 1; letter <= sure + 1; ++letter)
        if (letter >= 0 && letter < letters) line = line (line == "" ? "" : " ") letter (letter == sure ? "-" : "p") phone
    }
    print line
  }
}' "$1"
