# One program with libtorch and every library that attend stands on: some cannot live in one process (SentencePiece and libtorch), and
# that shows when a program starts, not when it is linked.
find_package(OpenCVParts REQUIRED)
find_package(ICU REQUIRED COMPONENTS uc i18n)
find_package(ZLIB REQUIRED)
find_package(CLI11 REQUIRED)
pkg_check_modules(pangocairo REQUIRED IMPORTED_TARGET pangocairo)
pkg_check_modules(libxml2 REQUIRED IMPORTED_TARGET libxml-2.0)
pkg_check_modules(sndfile REQUIRED IMPORTED_TARGET sndfile)
pkg_check_modules(httplib REQUIRED IMPORTED_TARGET cpp-httplib)

# What doesn't see libtorch is compiled apart: libtorch 2.x carries another fmt in its include folder.
add_library(dependencies_without_libtorch OBJECT)
foreach(source pictures settings simd sound text web)
  target_sources(dependencies_without_libtorch PRIVATE dependencies/${source}_test.cpp)
endforeach()
attend_common_settings(dependencies_without_libtorch)
set_target_properties(dependencies_without_libtorch PROPERTIES UNITY_BUILD OFF)
target_link_libraries(dependencies_without_libtorch PUBLIC
  OpenCVParts::OpenCVParts PkgConfig::pangocairo PkgConfig::sndfile PkgConfig::libxml2 PkgConfig::httplib PkgConfig::hwy
  ICU::uc ICU::i18n ZLIB::ZLIB CLI11::CLI11 tomlplusplus::tomlplusplus nlohmann_json::nlohmann_json fmt::fmt-header-only
  GTest::gmock GTest::gtest Threads::Threads)

add_executable(test_dependencies dependencies/dependencies_test.cpp)
attend_common_settings(test_dependencies)
# Every library stays, used by this program or not: what is tested is that they load together.
target_link_options(test_dependencies PRIVATE -Wl,--no-as-needed)
target_link_libraries(test_dependencies PRIVATE attend dependencies_without_libtorch GTest::gtest_main)
add_test(NAME dependencies COMMAND test_dependencies)
