#!/usr/bin/env bash
# What the pages say is what the project does: generated parts are fresh, copied code is the code that is compiled and run.
#   check_documents.sh SOURCE_FOLDER ATTEND WORK_FOLDER
set -euo pipefail
source=$1 attend=$2 work=$3
mkdir -p "$work"
failed=0
refuse() {
  printf '%s\n' "$1"
  failed=1
}

cmake -D "OUTPUT=$work/results.md" -P "$source/cmake/GenerateResults.cmake"
cmp -s "$work/results.md" "$source/docs/results.md" ||
  refuse "docs/results.md is stale: run cmake -P cmake/GenerateResults.cmake"

# the generator copes with scores of any name, and with a line that says more than scores
mkdir -p "$work/made-up/cmake" "$work/made-up/results"
cp "$source/cmake/GenerateResults.cmake" "$work/made-up/cmake"
cat > "$work/made-up/results/x.jsonl" <<'END'
{"recipe":"x","split":"test","items":3,"metrics":{"BLEU":27.305999,"a score":0.05,"chrF":55.0,"perplexity":null},"signatures":{"BLEU":"nrefs:1|tok:13a"},"decoding":{"seconds":1.5},"by_length":[{"from":1,"to":10,"items":2,"metrics":{"BLEU":1.5}},{"from":11,"to":20,"items":1,"metrics":{"BLEU":2.5}}],"beam":4,"seed":1}
{"recipe":"x","split":"test","items":1,"metrics":{},"beam":1}
END
cmake -D "OUTPUT=$work/made-up/results.md" -P "$work/made-up/cmake/GenerateResults.cmake"
[ "$(grep '^| x ' "$work/made-up/results.md" | cut -d '|' -f 2-6)" = " x | BLEU 27.31 a score 0.05 chrF 55.00 perplexity  | 3 test | 4 | 1 
 x | | 1 test | 1 |  " ] || refuse "cmake/GenerateResults.cmake: a table of made-up scores is not what it should be: $(cat "$work/made-up/results.md")"

"$attend" train --settings > "$work/settings.md"
sed -n '/^| setting | default/,$p' "$source/docs/recipes.md" | cmp -s "$work/settings.md" - ||
  refuse "docs/recipes.md: the table of settings is stale: replace it by what attend train --settings prints"

# the README's C++ is examples/attention.cpp, which the package tests compile and run
sed -n '/^```cpp$/,/^```$/{/^```/d;p}' "$source/README.md" | cmp -s "$source/examples/attention.cpp" - ||
  refuse "README.md: the C++ differs from examples/attention.cpp: copy that file into it"

# every link to a file of the project leads somewhere
while IFS=: read -r page link; do
  target=$(dirname "$page")/${link%%#*}
  [ -e "$target" ] || refuse "${page#"$source"/}: links to $link, which is not there"
done < <(find "$source" \( -name build -o -name quickstart -o -name runs -o -name .git \) -prune -o -name '*.md' -print0 |
  xargs -0 grep -oE '\]\([^)#:]+(#[^)]*)?\)' /dev/null | sed -E 's/:\]\(([^)]*)\)$/:\1/')

[ $failed = 0 ] && echo "the documents are fresh"
exit $failed
