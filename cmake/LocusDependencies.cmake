# Third-party libraries, all of them. Each is linked privately by the floor that owns it (assets/manual/building.md).
find_package(Threads REQUIRED)
find_package(Torch REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(PkgConfig REQUIRED)

# LibTorch as a plain target: its own flags without its warnings, headers as system headers.
add_library(locus_torch INTERFACE)
target_include_directories(locus_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
target_link_libraries(locus_torch INTERFACE ${TORCH_LIBRARIES})
target_link_libraries(locus_torch INTERFACE Threads::Threads)
separate_arguments(torch_flags NATIVE_COMMAND "${TORCH_CXX_FLAGS}")
target_compile_options(locus_torch INTERFACE ${torch_flags})
# at::parallel_for is a template that runs on one thread unless its caller is compiled with OpenMP. GNU's OpenMP is not
# known to ThreadSanitizer, which would report every barrier of it: there it stays away (core/attention/tasks.h).
if(NOT LOCUS_SANITIZE MATCHES "thread")
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
  # Files are decoded with the library of their format (models/image/decode.h); OpenCV's own codecs write those of tests.
  find_package(OpenCV REQUIRED COMPONENTS core imgproc imgcodecs)
  add_library(locus_opencv INTERFACE)
  target_include_directories(locus_opencv SYSTEM INTERFACE ${OpenCV_INCLUDE_DIRS})
  target_link_libraries(locus_opencv INTERFACE opencv_core opencv_imgproc)
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
