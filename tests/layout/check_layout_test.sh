#!/usr/bin/env bash
# Tests check_layout.sh: on a small tree that keeps every rule, then with each rule broken once, then on a copy of this project with an
# include that points up.
#   tests/layout/check_layout_test.sh SCRATCH_FOLDER
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
project=$(cd "$here/../.." && pwd)
scratch=$(mkdir -p "$1" && cd "$1" && pwd)/layout
failures=0

put() { mkdir -p "$(dirname "$scratch/$1")" && printf '%s\n' "${@:2}" >>"$scratch/$1"; }

small_tree() {
  rm -rf "$scratch"
  put include/attend/attend.h '#include "attend/addressing/scores/dot.h"' '#include "attend/base/api.h"' '#include "attend/core/mask.h"' \
    '#include "attend/core/shapes.h"' '#include "attend/tasks/score.h"'
  put include/attend/base/api.h '#define ATTEND_API'
  put include/attend/core/mask.h '#include <torch/types.h>' '#include "attend/base/api.h"'
  put include/attend/addressing/scores/dot.h '#include "attend/core/mask.h"' '#include "attend/addressing/scores/dot.h"'
  put include/attend/tasks/score.h '#include <attend/addressing/scores/dot.h>'
  put src/addressing/scores/dot.cpp '#include "kernels/dot.h"' '#include "kernel/other.h"'
  put src/kernels/dot.h '#include <hwy/highway.h>'
  put src/libtorch_header.cpp '// nothing'
  put tests/core/mask_test.cpp 'EXPECT_EQ(1, 1);'
  put tests/addressing/scores/dot_test.cpp '  ASSERT_TRUE(x);'
  put tests/tasks/score_test.cpp 'EXPECT_THAT(1, 1);'
  put docs/mechanisms/dot.md '# dot'
}

expect_clean() {
  local found
  if ! found=$("$here/check_layout.sh" "$scratch"); then
    printf 'FAILED: expected nothing to mend, got:\n%s\n' "$found"
    failures=$((failures + 1))
  fi
}

# expect_finding TEXT: exactly one finding, which begins with TEXT.
expect_finding() {
  local found status=0
  found=$("$here/check_layout.sh" "$scratch") || status=$?
  if [ $status -ne 1 ] || [ "$(printf '%s\n' "$found" | wc -l)" -ne 2 ] || [[ "$found" != "$1"* ]]; then
    printf 'FAILED: expected one finding that begins with\n  %s\ngot exit status %s and\n%s\n' "$1" $status "$found"
    failures=$((failures + 1))
  fi
  small_tree
}

small_tree
expect_clean

put src/core/mask.cpp '// first' '#include "attend/tasks/score.h"'
expect_finding 'src/core/mask.cpp:2: includes attend/tasks/score.h: an arrow that points up, from core to tasks'
put include/attend/core/mask.h '  #  include <attend/addressing/scores/dot.h>'
expect_finding 'include/attend/core/mask.h:3: includes attend/addressing/scores/dot.h: an arrow that points up'
put src/core/mask.cpp '#include "addressing/private.h"'
expect_finding 'src/core/mask.cpp:1: includes addressing/private.h: an arrow that points up'
put include/attend/base/error.h '// nothing'
put tests/base/error_test.cpp 'EXPECT_TRUE(x);'
expect_finding 'include/attend/base/error.h:1: is missing in include/attend/attend.h'
put src/gating/channel.cpp '#include "attend/addressing/scores/dot.h"'
expect_finding 'src/gating/channel.cpp:1: includes attend/addressing/scores/dot.h: gating and addressing stand in the same line'
put src/models/translator.cpp '#include "attend/data/batch.h"'
expect_finding 'src/models/translator.cpp:1: includes attend/data/batch.h: models and data stand in the same line'
put src/core/mask.cpp '#include "kernels/dot.h"'
expect_finding 'src/core/mask.cpp:1: includes kernels/dot.h, but only addressing'
put include/attend/addressing/scores/dot.h '#include "kernels/dot.h"'
expect_finding 'include/attend/addressing/scores/dot.h:3: includes kernels/dot.h, but kernels are private'
put src/io/file.cpp '#include <ATen/Parallel.h>'
expect_finding 'src/io/file.cpp:1: includes <ATen/Parallel.h>, but io must not see libtorch'
put src/kernels/dot.h '#include <torch/types.h>'
expect_finding 'src/kernels/dot.h:2: includes <torch/types.h>, but kernels must not see libtorch'
put src/core/mask.cpp '#include "../base/text.h"'
expect_finding 'src/core/mask.cpp:1: includes "../base/text.h"; write the whole path'
put src/cli/train.cpp '#include "attend/attend.h"'
expect_finding 'src/cli/train.cpp:1: includes attend/attend.h, which is for users'
put bench/addressing/dot_bench.cpp '#include "attend/tasks/score.h"'
expect_finding 'bench/addressing/dot_bench.cpp:1: includes attend/tasks/score.h: an arrow that points up, from bench to tasks'
put src/extras/dot.cpp '// nothing'
expect_finding 'src/extras/dot.cpp:1: the folder "extras" stands in no line'

put include/attend/core/shapes.h '// nothing'
expect_finding 'include/attend/core/shapes.h:1: has no test; write tests/core/shapes_test.cpp'
rm "$scratch/tests/core/mask_test.cpp" && put tests/core/mask_test.cpp '// EXPECT_EQ(1, 1);'
expect_finding 'tests/core/mask_test.cpp:1: asserts nothing'
rm "$scratch/docs/mechanisms/dot.md"
expect_finding 'include/attend/addressing/scores/dot.h:1: is a mechanism without a page'
mkdir -p "$scratch/src/core/utils"
expect_finding 'src/core/utils:1: is a folder for anything'
put docs/guide.md 'text' "TO""DO: more"
expect_finding 'docs/guide.md:2: something is left open'

# This project itself, with one include that points up.
rm -rf "$scratch" && mkdir -p "$scratch"
cp -r "$project/include" "$project/src" "$scratch"
planted=$scratch/src/base/format.cpp
sed -i '1i #include "attend/cli/arguments.h"' "$planted"
found=$("$here/check_layout.sh" "$scratch" || true)
if [[ "$found" != *"src/base/format.cpp:1: includes attend/cli/arguments.h: an arrow that points up, from base to cli"* ]]; then
  echo "FAILED: an include that points up, planted in src/base/format.cpp, was not found"
  failures=$((failures + 1))
fi
rm -rf "$scratch"

[ $failures -eq 0 ] || { echo "$failures failed"; exit 1; }
echo "every rule holds where it should, and is found broken where it is"
