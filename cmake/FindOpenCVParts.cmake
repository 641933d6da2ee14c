# Finds the parts of OpenCV that attend uses and defines OpenCVParts::OpenCVParts.
#
# Debian's packages of single parts (libopencv-core-dev, -imgproc-dev, -imgcodecs-dev) bring no CMake or pkg-config files; only libopencv-dev
# does, with a gigabyte of others.
find_path(OpenCVParts_INCLUDE_DIR opencv2/core.hpp PATH_SUFFIXES opencv4)
set(_opencv_libraries)
foreach(_part core imgproc imgcodecs)
  find_library(OpenCVParts_${_part}_LIBRARY opencv_${_part})
  list(APPEND _opencv_libraries OpenCVParts_${_part}_LIBRARY)
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OpenCVParts REQUIRED_VARS ${_opencv_libraries} OpenCVParts_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install Debian's libopencv-core-dev, libopencv-imgproc-dev and libopencv-imgcodecs-dev")

if(OpenCVParts_FOUND AND NOT TARGET OpenCVParts::OpenCVParts)
  add_library(OpenCVParts::OpenCVParts INTERFACE IMPORTED)
  target_include_directories(OpenCVParts::OpenCVParts SYSTEM INTERFACE ${OpenCVParts_INCLUDE_DIR})
  target_link_libraries(OpenCVParts::OpenCVParts INTERFACE
    ${OpenCVParts_core_LIBRARY} ${OpenCVParts_imgproc_LIBRARY} ${OpenCVParts_imgcodecs_LIBRARY})
endif()
mark_as_advanced(${_opencv_libraries} OpenCVParts_INCLUDE_DIR)
