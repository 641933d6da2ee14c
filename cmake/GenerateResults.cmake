# Writes the table of results from results/*.jsonl:
#   cmake -D OUTPUT=docs/results.md -P cmake/GenerateResults.cmake
# Every figure comes from a line that `attend eval RUN --log` wrote.
get_filename_component(root ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
if(NOT OUTPUT)
  set(OUTPUT ${root}/docs/results.md)
endif()

set(text "# Results\n\nGenerated from `results/*.jsonl` by `cmake -P cmake/GenerateResults.cmake`; each line there was written by `attend eval RUN --log`.
The data of each recipe: [data.md](data.md). To repeat one: `attend train RECIPE`, then `attend eval runs/RECIPE`.\n\n")
string(APPEND text "| recipe | scores | items | beam | seed | steps | training | threads, machine | commit | date |\n")
string(APPEND text "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")

# The value of a key, or nothing where the line lacks it.
function(value_of variable line)
  string(JSON found ERROR_VARIABLE missing GET "${line}" ${ARGN})
  if(missing)
    set(found "")
  endif()
  set(${variable} "${found}" PARENT_SCOPE)
endfunction()

# Two decimals, cut.
function(rounded variable number)
  string(REGEX REPLACE "^([0-9]+\\.[0-9][0-9])[0-9]*$" "\\1" short "${number}")
  set(${variable} "${short}" PARENT_SCOPE)
endfunction()

file(GLOB files ${root}/results/*.jsonl)
list(SORT files)
foreach(file ${files})
  file(STRINGS ${file} lines ENCODING UTF-8)
  foreach(line IN LISTS lines)
    value_of(recipe "${line}" recipe)
    value_of(split "${line}" split)
    string(JSON count LENGTH "${line}" metrics)
    set(scores "")
    math(EXPR last "${count} - 1")
    foreach(i RANGE ${last})
      string(JSON metric MEMBER "${line}" metrics ${i})
      value_of(score "${line}" metrics ${metric})
      rounded(score "${score}")
      string(APPEND scores "${metric} ${score} ")
    endforeach()
    foreach(key items beam seed steps seconds threads machine commit date)
      value_of(${key} "${line}" ${key})
    endforeach()
    string(REGEX REPLACE "\\..*" "" seconds "${seconds}")
    string(APPEND text "| ${recipe} | ${scores}| ${items} ${split} | ${beam} | ${seed} | ${steps} | ${seconds} s | ${threads}, ${machine} | ${commit} | ${date} |\n")
  endforeach()
endforeach()
file(WRITE ${OUTPUT} "${text}")
