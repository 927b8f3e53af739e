# Third-party libraries, all of them. Each is linked privately by the floor that owns it (assets/manual/building.md).
find_package(Threads REQUIRED)
# TorchConfig.cmake looks for its libraries on the system first: the prefix that PyTorch names, …/torch/share/cmake, is followed by
# that of its library, and what was found elsewhere is refused.
foreach(prefix IN LISTS CMAKE_PREFIX_PATH)
  if(EXISTS ${prefix}/Torch/TorchConfig.cmake)
    cmake_path(NORMAL_PATH prefix OUTPUT_VARIABLE prefix)
    string(REGEX REPLACE "/share/cmake/?$" "" prefix ${prefix})
    list(APPEND CMAKE_PREFIX_PATH ${prefix})
  endif()
endforeach()
find_package(Torch REQUIRED)
foreach(library ${TORCH_LIBRARY} ${c10_LIBRARY})
  cmake_path(IS_PREFIX TORCH_INSTALL_PREFIX ${library} ours)
  if(NOT ours)
    message(FATAL_ERROR "LibTorch's headers lie below ${TORCH_INSTALL_PREFIX}, its library is ${library}: CMAKE_PREFIX_PATH must name one LibTorch")
  endif()
endforeach()
find_package(nlohmann_json REQUIRED)
find_package(PkgConfig REQUIRED)
# Where the installed program looks for LibTorch besides its own folder: nowhere for the system's.
cmake_path(GET TORCH_LIBRARY PARENT_PATH torch_folder)
if(torch_folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
  set(torch_folder "")
endif()
set(LOCUS_TORCH_RPATH "${torch_folder}" CACHE STRING "Folder of LibTorch, written into the installed libraries")

# LibTorch as a plain target: its own flags without its warnings, headers as system headers.
add_library(locus_torch INTERFACE)
target_include_directories(locus_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
# libstdc++ before LibTorch: libtorch.so of PyTorch 2.11 has functions of std::filesystem of its own, which end a program that finds them first.
target_link_libraries(locus_torch INTERFACE stdc++ ${TORCH_LIBRARIES})
target_link_libraries(locus_torch INTERFACE Threads::Threads)
separate_arguments(torch_flags NATIVE_COMMAND "${TORCH_CXX_FLAGS}")
target_compile_options(locus_torch INTERFACE ${torch_flags})
# at::parallel_for is a template that runs on one thread unless its caller is compiled with OpenMP. GNU's OpenMP is not
# known to ThreadSanitizer, which would report every barrier of it: there it stays away (core/attention/tasks.h).
if(NOT LOCUS_SANITIZE MATCHES "thread")
  # PyTorch's packages have a libgomp beside LibTorch, which is loaded whatever we link.
  find_file(torch_gomp NAMES libgomp.so.1 PATHS ${TORCH_INSTALL_PREFIX}/lib NO_DEFAULT_PATH)
  if(torch_gomp)
    set(OpenMP_gomp_LIBRARY ${torch_gomp} CACHE FILEPATH "")
  endif()
  find_package(OpenMP COMPONENTS CXX)
  if(OpenMP_CXX_FOUND)
    target_link_libraries(locus_torch INTERFACE OpenMP::OpenMP_CXX)
  else()
    message(WARNING "no OpenMP for this compiler: score fields and attention will use one core")
  endif()
endif()

find_package(CLI11 REQUIRED)
find_package(yaml-cpp REQUIRED)
add_library(locus_yaml INTERFACE)
target_link_libraries(locus_yaml INTERFACE yaml-cpp)

# locus_pkg(TARGET MODULE): a pkg-config module as a system target.
function(locus_pkg target module)
  pkg_check_modules(${target}_pkg REQUIRED IMPORTED_TARGET ${module})
  add_library(${target} INTERFACE)
  target_link_libraries(${target} INTERFACE PkgConfig::${target}_pkg)
endfunction()
locus_pkg(locus_pcre2 libpcre2-8)
locus_pkg(locus_icu icu-uc)
locus_pkg(locus_muparser muparser)
locus_pkg(locus_curl libcurl>=7.85)
locus_pkg(locus_crypto libcrypto>=3)

if(LOCUS_IMAGES)
  # Pictures are decoded with the library of their format (models/image/decode.h), videos by OpenCV's videoio, which
  # liblocus_video.so alone is linked with; OpenCV's own codecs write the pictures of tests.
  find_package(OpenCV REQUIRED COMPONENTS core imgproc imgcodecs videoio)
  add_library(locus_opencv INTERFACE)
  target_include_directories(locus_opencv SYSTEM INTERFACE ${OpenCV_INCLUDE_DIRS})
  target_link_libraries(locus_opencv INTERFACE opencv_core opencv_imgproc)
  add_library(locus_videoio INTERFACE)
  target_link_libraries(locus_videoio INTERFACE locus_opencv opencv_videoio)
  locus_pkg(locus_png libpng)
  locus_pkg(locus_jpeg libjpeg)
  locus_pkg(locus_webp libwebp)
  locus_pkg(locus_tiff libtiff-4)
endif()

if(LOCUS_GUI)
  find_package(Qt6 6.4 REQUIRED COMPONENTS Gui Widgets Svg)
  find_package(Vulkan REQUIRED)
  locus_pkg(locus_zlib zlib)
  find_program(GLSLC glslc REQUIRED)
  locus_pkg(locus_imgui imgui)
endif()

if(LOCUS_TESTS)
  find_package(GTest REQUIRED)
endif()
