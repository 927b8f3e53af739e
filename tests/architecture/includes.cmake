# Fails on an include that goes up a floor, or a third-party header where its floor does not own it (CONTRIBUTING, "Floors").
# cmake -DROOT=<source tree> -P includes.cmake
set(failures "")

# forbid(FOLDERS PATTERN WHY): no #include matching PATTERN in any source below FOLDERS.
function(forbid folders pattern why)
  foreach(folder ${folders})
    file(GLOB_RECURSE sources ${ROOT}/${folder}/*.h ${ROOT}/${folder}/*.cpp)
    foreach(source ${sources})
      file(STRINGS ${source} lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"](${pattern})")
      foreach(line ${lines})
        list(APPEND failures "${source}: ${line} (${why})")
      endforeach()
    endforeach()
  endforeach()
  set(failures "${failures}" PARENT_SCOPE)
endfunction()

set(torch "ATen/|torch/|c10/|caffe2/")
set(qt "Q[A-Z]|Qt")
forbid("core/base" "core/(position|attention|analysis|products)/|models/|renderers/|app/|${torch}|${qt}|opencv|nlohmann|vulkan|imgui"
       "core/base is the standard library alone")
forbid("core/position" "core/(attention|analysis)/" "position is below attention and analysis")
forbid("core/products" "core/(position|attention|analysis)/" "products know nothing of attention")
forbid("core/attention" "core/analysis/" "attention is below analysis")
forbid("core" "models/|renderers/|app/|${qt}|opencv|nlohmann|vulkan|imgui|yaml|CLI/|torch/(nn|optim|torch)" "core sees ATen only")
forbid("models" "renderers/|app/|${qt}|vulkan|imgui|CLI/" "models see core")
forbid("models/checkpoint;models/text;models/image" "core/(position|attention|analysis|products)/|models/(transformer|training|model\\.h)|${torch}"
       "readers are free of LibTorch")
forbid("renderers" "models/|app/|core/(position|attention|analysis|products)/|${torch}|opencv|imgui|CLI/" "renderers see core/base")
forbid("renderers/figure" "renderers/(vulkan|paper)/|${qt}|vulkan" "a Figure knows nothing of its renderers")
forbid("app" "core/(position|attention|analysis|products)/|models/(checkpoint|text|image|transformer|training)/.*_aten|${torch}|opencv"
       "app reaches the mathematics through models")
forbid("app/cli;app/views;app/session" "Q(Widgets|MainWindow|Application|Dialog)|app/workbench/|app/viewport/" "sub-commands make no window")

if(failures)
  list(JOIN failures "\n" text)
  message(FATAL_ERROR "includes that go up the house:\n${text}")
endif()
