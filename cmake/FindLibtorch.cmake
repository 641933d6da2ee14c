# Finds libtorch by plain paths and defines the imported target Libtorch::Libtorch.
#
# Looked for in LIBTORCH_ROOT (CMake variable or environment: a folder with include/ and lib/, such as the `torch` folder of the PyPI
# package), else among the system's files (Debian: libtorch-dev). `find_package(Torch)` is not used: that of the PyPI builds fails
# where CUDA is absent, while headers and libraries work.
#
# Result: Libtorch_FOUND, Libtorch_VERSION, Libtorch_ROOT_USED (empty for the system's), Libtorch::Libtorch (usage: headers as SYSTEM,
# libraries, OpenMP).

set(_libtorch_hints ${LIBTORCH_ROOT} $ENV{LIBTORCH_ROOT})
set(Libtorch_ROOT_USED "")
if(_libtorch_hints)
  list(GET _libtorch_hints 0 Libtorch_ROOT_USED)
  get_filename_component(Libtorch_ROOT_USED ${Libtorch_ROOT_USED} ABSOLUTE)
  set(_libtorch_only NO_DEFAULT_PATH) # a given root that holds nothing is an error, never a silent fall-back to the system's
endif()

find_path(Libtorch_INCLUDE_DIR ATen/ATen.h HINTS ${_libtorch_hints} PATH_SUFFIXES include ${_libtorch_only})
find_path(Libtorch_API_INCLUDE_DIR torch/version.h
  HINTS ${_libtorch_hints} ${Libtorch_INCLUDE_DIR}/torch/csrc/api
  PATH_SUFFIXES include/torch/csrc/api/include include ${_libtorch_only})
foreach(_library torch_cpu c10) # not libtorch itself: an empty shell that in CUDA builds needs CUDA
  find_library(Libtorch_${_library}_LIBRARY ${_library} HINTS ${_libtorch_hints} PATH_SUFFIXES lib ${_libtorch_only})
endforeach()

if(Libtorch_API_INCLUDE_DIR)
  file(STRINGS ${Libtorch_API_INCLUDE_DIR}/torch/version.h _libtorch_version_lines REGEX "TORCH_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
  if(NOT _libtorch_version_lines) # 2.x keeps the numbers in a header of their own
    file(STRINGS ${Libtorch_INCLUDE_DIR}/torch/headeronly/version.h _libtorch_version_lines REGEX "TORCH_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
  endif()
  string(REGEX REPLACE ".*MAJOR +([0-9]+).*MINOR +([0-9]+).*PATCH +([0-9]+).*" "\\1.\\2.\\3" Libtorch_VERSION "${_libtorch_version_lines}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libtorch
  REQUIRED_VARS Libtorch_torch_cpu_LIBRARY Libtorch_c10_LIBRARY Libtorch_INCLUDE_DIR Libtorch_API_INCLUDE_DIR
  VERSION_VAR Libtorch_VERSION
  REASON_FAILURE_MESSAGE "install Debian's libtorch-dev, or set LIBTORCH_ROOT to a folder with include/ and lib/")

if(Libtorch_FOUND AND NOT TARGET Libtorch::Libtorch)
  # at::parallel_for is a template in a header: compiled without OpenMP it runs on one thread, silently.
  if(NOT TARGET OpenMP::OpenMP_CXX)
    find_package(OpenMP REQUIRED COMPONENTS CXX)
    set_target_properties(OpenMP::OpenMP_CXX PROPERTIES IMPORTED_GLOBAL TRUE)
  endif()
  add_library(Libtorch::Libtorch INTERFACE IMPORTED GLOBAL) # global: seen by a project that takes attend with add_subdirectory
  target_include_directories(Libtorch::Libtorch SYSTEM INTERFACE ${Libtorch_INCLUDE_DIR} ${Libtorch_API_INCLUDE_DIR})
  target_link_libraries(Libtorch::Libtorch INTERFACE
    ${Libtorch_torch_cpu_LIBRARY} ${Libtorch_c10_LIBRARY} OpenMP::OpenMP_CXX)
  target_compile_features(Libtorch::Libtorch INTERFACE cxx_std_20)
endif()
mark_as_advanced(Libtorch_INCLUDE_DIR Libtorch_API_INCLUDE_DIR Libtorch_torch_cpu_LIBRARY Libtorch_c10_LIBRARY)
