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
