# The list of position encodings, from the sources of core/position and the headings of encodings.md, whose order it has: the encoding `rope-axial`
# is the function rope_axial_encoding() of a source and a section of that page.
#
# cmake -DROOT=… -DOUT=FILE.cpp -P EncodingList.cmake     writes the list that the program is compiled with
cmake_policy(VERSION 3.25)
set(page assets/manual/encodings.md)

file(GLOB_RECURSE sources ${ROOT}/core/position/*.cpp)
foreach(source ${sources})
  file(STRINGS ${source} functions REGEX "^Entry [a-z0-9_]+_encoding\\(\\)")
  foreach(function ${functions})
    string(REGEX REPLACE "^Entry ([a-z0-9_]+)_encoding.*" "\\1" function ${function})
    set(source_of_${function} ${source})
    list(APPEND defined ${function})
  endforeach()
endforeach()

set(declarations "")
set(entries "")
file(STRINGS ${ROOT}/${page} headings REGEX "^## `[a-z0-9-]+`$")
foreach(heading ${headings})
  string(REGEX REPLACE "^## `(.*)`$" "\\1" name ${heading})
  string(REPLACE "-" "_" function ${name})
  if(NOT function IN_LIST defined)
    message(FATAL_ERROR "${page}: ${name}: expected the function ${function}_encoding() in a source of core/position")
  endif()
  list(REMOVE_ITEM defined ${function})
  string(APPEND declarations "Entry ${function}_encoding();\n")
  string(APPEND entries "      ${function}_encoding(),\n")
endforeach()
foreach(function ${defined})
  message(FATAL_ERROR "${source_of_${function}}: ${function}_encoding() has no section in ${page}")
endforeach()

set(text "// Made from core/position and encodings.md by cmake/EncodingList.cmake.\n#include \"core/position/list.h\"\n\nnamespace locus::position {\n\n")
string(APPEND text "${declarations}\nconst std::vector<Entry>& encodings() {\n  static const std::vector<Entry> list{\n${entries}  };\n  return list;\n}\n")
string(APPEND text "\n}  // namespace locus::position\n")
file(WRITE ${OUT} "${text}")
