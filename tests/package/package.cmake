# The package as its users meet it: installed, moved, found by find_package, or taken with add_subdirectory.
if(NOT ATTEND_INSTALL)
  return()
endif()
set(package_folder ${PROJECT_BINARY_DIR}/package)
set(package_prefix ${package_folder}/moved)

# Installed into one folder, then moved: nothing may remember where it was.
add_test(NAME package_install COMMAND ${CMAKE_COMMAND}
  -D BUILD=${PROJECT_BINARY_DIR} -D FIRST=${package_folder}/installed -D MOVED=${package_prefix} -P ${CMAKE_CURRENT_SOURCE_DIR}/package/install.cmake)
set_tests_properties(package_install PROPERTIES FIXTURES_SETUP package)

# What is linked to sanitized libraries must be sanitized itself.
set(package_flags "")
if(ATTEND_SANITIZE)
  set(package_flags "-fsanitize=address,undefined")
endif()

# attend_package_test(NAME [CMAKE OPTION…]): configures, builds and runs the project tests/package/NAME. What is installed keeps the time of its source, which may be older than
# the object of an earlier run: users of an installed package are built anew.
function(attend_package_test name)
  set(keep "")
  if(name STREQUAL "add_subdirectory")
    set(keep --build-noclean)
  endif()
  add_test(NAME package_${name} COMMAND ${CMAKE_CTEST_COMMAND}
    --build-and-test ${CMAKE_CURRENT_SOURCE_DIR}/package/${name} ${package_folder}/${name} ${keep}
    --build-generator ${CMAKE_GENERATOR} --build-options "-DCMAKE_PREFIX_PATH=${package_prefix}" "-DCMAKE_CXX_FLAGS=${package_flags}" ${ARGN}
    --test-command ${package_folder}/${name}/consumer)
  set_tests_properties(package_${name} PROPERTIES PROCESSORS 2)
endfunction()

attend_package_test(find_package_core)
set_tests_properties(package_find_package_core PROPERTIES FIXTURES_REQUIRED package)

# Quick rather than fast: what is tested here is that it builds.
attend_package_test(add_subdirectory -DATTEND_SOURCE=${PROJECT_SOURCE_DIR} -DLIBTORCH_ROOT=${Libtorch_ROOT_USED}
  -DATTEND_SANITIZE=${ATTEND_SANITIZE} -DCMAKE_UNITY_BUILD=ON -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0)

if(ATTEND_BUILD_ALL)
  attend_package_test(find_package_attend)
  add_test(NAME package_tool_version COMMAND ${package_prefix}/${CMAKE_INSTALL_BINDIR}/attend --version)
  set_tests_properties(package_tool_version PROPERTIES PASS_REGULAR_EXPRESSION "attend ${PROJECT_VERSION}")
  set_tests_properties(package_find_package_attend package_tool_version PROPERTIES FIXTURES_REQUIRED package)
endif()

# The examples of README and docs/recording.md, built as a user would.
set(package_example_command "cd ${package_folder}/example && ./attention")
set(package_example_output "2, 8, 5, 32. .2, 8, 5, 9")
if(ATTEND_BUILD_ALL)
  string(APPEND package_example_command " && ./recording && test -s recording.attn && test -s recording.svg && test -s recording.html")
  string(APPEND package_example_output ".*2 heads")
endif()
add_test(NAME package_example COMMAND ${CMAKE_CTEST_COMMAND}
  --build-and-test ${PROJECT_SOURCE_DIR}/examples ${package_folder}/example --build-generator ${CMAKE_GENERATOR}
  --build-options "-DCMAKE_PREFIX_PATH=${package_prefix}" "-DCMAKE_CXX_FLAGS=${package_flags}" --test-command sh -c ${package_example_command})
set_tests_properties(package_example PROPERTIES FIXTURES_REQUIRED package PROCESSORS 2 PASS_REGULAR_EXPRESSION ${package_example_output})
