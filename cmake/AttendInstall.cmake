# Install rules: libraries, modules, the tool, headers, recipes, and what find_package(attend) reads.
include(CMakePackageConfigHelpers)

set(attend_package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/attend)

# A libtorch that is not the system's is found again where it was at build time.
set_target_properties(attend_core PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS attend_core EXPORT attendCoreTargets)
install(EXPORT attendCoreTargets NAMESPACE attend:: DESTINATION ${attend_package_folder})
foreach(folder base io core addressing gating glimpsing layers)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/attend/${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/attend OPTIONAL)
endforeach()

if(ATTEND_BUILD_ALL)
  set_target_properties(attend attend_commands PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS attend EXPORT attendTargets)
  install(EXPORT attendTargets NAMESPACE attend:: DESTINATION ${attend_package_folder})
  install(TARGETS attend_sentencepiece attend_commands LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/attend)
  install(TARGETS attend_tool)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/attend DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/attend OPTIONAL)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/bench/cases DESTINATION ${CMAKE_INSTALL_DATADIR}/attend/bench)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion) # before 1.0 a minor version may change the interface
else()
  set(compatibility SameMajorVersion)
endif()
write_basic_package_version_file(${PROJECT_BINARY_DIR}/attendConfigVersion.cmake COMPATIBILITY ${compatibility})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/attendConfig.cmake.in ${PROJECT_BINARY_DIR}/attendConfig.cmake
  INSTALL_DESTINATION ${attend_package_folder} NO_SET_AND_CHECK_MACRO)
install(FILES ${PROJECT_BINARY_DIR}/attendConfig.cmake ${PROJECT_BINARY_DIR}/attendConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/FindLibtorch.cmake DESTINATION ${attend_package_folder})
