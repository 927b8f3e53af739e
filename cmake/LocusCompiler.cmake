# Compiler settings of our own targets, which locus_floor() and locus_part() make.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()

add_library(locus_options INTERFACE)
target_compile_features(locus_options INTERFACE cxx_std_20)
target_include_directories(locus_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(locus_options INTERFACE -Wall -Wextra -Wconversion $<$<BOOL:${LOCUS_WERROR}>:-Werror> -fno-math-errno -fPIC)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms on std::string (GCC bug 105651) and std::optional (80635); the sanitizer presets see what is real.
  target_compile_options(locus_options INTERFACE -Wno-restrict -Wno-maybe-uninitialized)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(locus_options INTERFACE -fno-semantic-interposition)  # functions of one file call each other directly
endif()
if(LOCUS_SANITIZE)
  target_compile_options(locus_options INTERFACE -fsanitize=${LOCUS_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(locus_options INTERFACE -fsanitize=${LOCUS_SANITIZE})
  # False alarms on the compiler's own functions of AVX-512 (GCC bug 105593), in core/products/block_kernels.cpp; other builds keep the
  # warning.
  target_compile_options(locus_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized>)
else()
  # Hardening. _FORTIFY_SOURCE needs an optimised build; sanitizers replace the functions that it checks.
  target_compile_options(locus_options INTERFACE $<$<CONFIG:Release>:-U_FORTIFY_SOURCE> $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=2>
                         $<$<CONFIG:Release>:-fstack-protector-strong>)
  target_link_options(locus_options INTERFACE $<$<CONFIG:Release>:-Wl,-z,relro,-z,now>)
  # Position-independent programs; all code is compiled with -fPIC.
  target_link_options(locus_options INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie>)
endif()

# locus_floor(NAME SOURCES...): a static library, compiled with our warnings; targets that link it do not get them.
function(locus_floor name)
  add_library(${name} STATIC ${ARGN})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE locus_options)
endfunction()

# locus_part(NAME SOURCES...): objects of a shared library, locus_library(NAME FILE PARTS...).
function(locus_part name)
  add_library(${name} OBJECT ${ARGN})
  target_link_libraries(${name} PRIVATE locus_options)
endfunction()

function(locus_library name file)
  add_library(${name} SHARED)
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE locus_options ${ARGN})
  set(installed_rpath "$ORIGIN" ${LOCUS_TORCH_RPATH})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${file} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/locus BUILD_RPATH "$ORIGIN"
                        INSTALL_RPATH "${installed_rpath}" LINKER_LANGUAGE CXX)
  target_link_options(${name} PRIVATE LINKER:--no-undefined)
endfunction()

# locus_optimise(TARGET LEVEL): less than -O3 for code whose speed nobody waits for. Loops over numbers are in core and renderers.
function(locus_optimise target level)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O${level}>)
  set_target_properties(${target} PROPERTIES LOCUS_LEVEL ${level})
endfunction()

# locus_uses_aten(TARGET): LibTorch, privately, with the shared ATen precompiled header. From GCC 13 on a precompiled header fits the
# -O alone that it was made with, so that there is one of each; call locus_optimise() first.
function(locus_uses_aten target)
  target_link_libraries(${target} PRIVATE locus_torch)
  if(NOT TARGET locus_aten_header)
    message(FATAL_ERROR "locus_aten_header must come first")
  endif()
  get_target_property(level ${target} LOCUS_LEVEL)
  set(header locus_aten_header)
  if(level AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    set(header locus_aten_header_${level})
    if(NOT TARGET ${header})
      locus_aten_header(${header})
      locus_optimise(${header} ${level})
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${header})
endfunction()

# locus_aten_header(NAME): the ATen header, compiled once and reused by every target that includes ATen.
function(locus_aten_header name)
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/core/aten_header.cpp)
  target_link_libraries(${name} PRIVATE locus_options locus_torch)
  set(headers <ATen/ATen.h>)
  if(Torch_VERSION VERSION_GREATER_EQUAL 2)
    list(APPEND headers <ATen/core/grad_mode.h>)  # which <ATen/ATen.h> of LibTorch 1 includes
  endif()
  target_precompile_headers(${name} PRIVATE ${headers} <algorithm> <cmath> <filesystem> <functional> <map> <memory> <optional> <set> <span> <string>
                            <vector>)
endfunction()
