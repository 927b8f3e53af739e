# LibTorch on demand: the program starts without it (core/lazy/torch_on_demand.h). On x86-64, where the linker is GNU's; elsewhere, and
# under sanitizers, it is linked as usual.
set(LOCUS_LAZY_TORCH OFF)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64" AND NOT LOCUS_SANITIZE)
  set(LOCUS_LAZY_TORCH ON)
  enable_language(ASM)
endif()

# locus_lazy_torch(PROGRAM FOLDER): the program calls LibTorch through functions that load it. What needs more of LibTorch than its
# functions (its classes) lies in a library beside the program, in FOLDER.
function(locus_lazy_torch program folder)
  if(NOT LOCUS_LAZY_TORCH OR NOT TARGET torch_cpu)
    return()
  endif()
  set(core ${PROJECT_SOURCE_DIR}/core)
  # One file of a unity build each: a compiler cache writes no path of its own into those.
  add_library(locus_gradients SHARED ${core}/position/cope/function.cpp ${core}/position/shared/tile_kernels.cpp
              ${core}/base/instruction_sets.cpp ${core}/base/shown.cpp)
  target_link_libraries(locus_gradients PRIVATE locus_options locus_torch)
  set_target_properties(locus_gradients PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${folder} UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 1
                        LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/gradients.map)
  target_link_options(locus_gradients PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/gradients.map LINKER:--no-undefined)

  set(functions ${CMAKE_CURRENT_BINARY_DIR}/torch_functions.S)
  set(archives $<TARGET_FILE:locus_core> $<TARGET_FILE:locus_models>)
  add_custom_command(OUTPUT ${functions} DEPENDS ${PROJECT_SOURCE_DIR}/cmake/lazy_torch.sh locus_core locus_models locus_gradients
                     COMMAND ${PROJECT_SOURCE_DIR}/cmake/lazy_torch.sh ${CMAKE_NM} ${functions}
                             "$<TARGET_FILE:torch_cpu> $<TARGET_FILE:locus_gradients>" ${archives} VERBATIM)
  target_sources(${program} PRIVATE ${functions} ${core}/lazy/load_torch.cpp)
  set_target_properties(${program} PROPERTIES LOCUS_LAZY_TORCH ON)
  target_link_libraries(${program} PRIVATE ${CMAKE_DL_LIBS})
  install(TARGETS locus_gradients LIBRARY DESTINATION libexec/locus)
endfunction()
