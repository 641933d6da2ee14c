# The page in a real browser: one test for each tests/viewer/NAME_test.py, as the tool exports and serves it. Each leaves its screenshots in
# viewer-artefacts of the build folder.
find_package(Python3 COMPONENTS Interpreter)
find_program(ATTEND_CHROMIUM NAMES chromium chromium-browser google-chrome)
find_program(ATTEND_CHROMEDRIVER chromedriver)
mark_as_advanced(ATTEND_CHROMIUM ATTEND_CHROMEDRIVER)
set(selenium_missing TRUE)
# the system's Python has Debian's selenium; another one that comes first in the path need not
foreach(python /usr/bin/python3 ${Python3_EXECUTABLE})
  if(selenium_missing)
    execute_process(COMMAND ${python} -c "import selenium" RESULT_VARIABLE selenium_missing OUTPUT_QUIET ERROR_QUIET)
    set(viewer_python ${python})
  endif()
endforeach()
if(selenium_missing OR NOT ATTEND_CHROMIUM OR NOT ATTEND_CHROMEDRIVER)
  message(STATUS "attend: the viewer's page is not tested in a browser: install chromium, chromium-driver and python3-selenium")
  return()
endif()

file(GLOB viewer_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/viewer/*_test.py)
foreach(test ${viewer_tests})
  get_filename_component(name ${test} NAME_WE)
  string(REGEX REPLACE "_test$" "" name ${name})
  add_test(NAME viewer_${name} COMMAND ${viewer_python} -B ${test})
  # one browser at a time: they are programs of several processes, and what they are waited for takes time
  set_tests_properties(viewer_${name} PROPERTIES LABELS browser TIMEOUT 600 RESOURCE_LOCK browser
    ENVIRONMENT "ATTEND_TOOL=$<TARGET_FILE:attend_tool>;ATTEND_ARTEFACTS=${PROJECT_BINARY_DIR}/viewer-artefacts")
endforeach()
