# Flags and small functions that every target of the project uses.

# Common compile settings. They are the same for every target that shares the precompiled header: GCC rejects one that was made with
# other flags. UNSANITIZED: never with sanitizers.
function(attend_common_settings target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE -Wall -Wextra $<$<BOOL:${ATTEND_WERROR}>:-Werror>)
  # GCC 12 warns falsely of joined strings (its bug 105651), here and in its own headers
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
  if(ATTEND_SANITIZE AND NOT UNSANITIZED IN_LIST ARGN)
    # GCC 12 warns falsely of uninitialised variables under sanitizers
    target_compile_options(${target} PRIVATE -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
      -Wno-maybe-uninitialized)
    target_link_options(${target} PRIVATE -fsanitize=address,undefined)
  endif()
endfunction()

# Takes the precompiled header of libtorch (design: one header, owned by an OBJECT target, shared by all that see libtorch).
function(attend_use_libtorch target)
  target_link_libraries(${target} PUBLIC Libtorch::Libtorch)
  target_compile_options(${target} PRIVATE -fPIC) # executables too, which CMake compiles with -fPIE: the header was made with -fPIC
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    target_precompile_headers(${target} REUSE_FROM attend_libtorch_header)
  endif()
endfunction()
