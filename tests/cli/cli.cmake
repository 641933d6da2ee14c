# The tool itself, run as its users run it. The binary needs no libtorch of its own: it starts the tool, and reads what that writes.
attend_test_binary(cli $<TARGET_OBJECTS:attend_plain> PkgConfig::hwy)
target_include_directories(test_cli PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(test_cli PRIVATE ATTEND_TOOL="$<TARGET_FILE:attend_tool>")
add_dependencies(test_cli attend_tool)
# What `attend view` serves is read with httplib's client, whose types look as it was compiled.
target_link_libraries(test_cli PRIVATE ${httplib_LINK_LIBRARIES})
set_source_files_properties(cli/view_test.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON COMPILE_OPTIONS "${httplib_CFLAGS}")
add_test(NAME cli COMMAND test_cli --gtest_filter=-Kill.*:CatalogueRecipes.*)
add_test(NAME kill COMMAND test_cli --gtest_filter=Kill.*)
add_test(NAME recipes COMMAND test_cli --gtest_filter=CatalogueRecipes.*)
