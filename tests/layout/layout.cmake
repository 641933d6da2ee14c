# The layout of the sources, and a test of the script that checks it.
add_test(NAME layout COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/layout/check_layout.sh ${PROJECT_SOURCE_DIR})
add_test(NAME layout_check_itself COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/layout/check_layout_test.sh ${CMAKE_CURRENT_BINARY_DIR})
