# cmake -DFOLDER=… -DOUT=FILE.cpp -P EmbedPages.cmake: the pages of a folder as constants (app/manual/embedded.h), so that
# the manual is found wherever the program lies.
file(GLOB pages ${FOLDER}/*.md)
set(text "// Made from assets/manual by cmake/EmbedPages.cmake.\n#include \"app/manual/embedded.h\"\n\n")
string(APPEND text "namespace locus::manual {\n\nconst std::vector<EmbeddedPage>& embedded_pages() {\n")
string(APPEND text "  static const std::vector<EmbeddedPage> pages{\n")
foreach(page ${pages})
  get_filename_component(name ${page} NAME_WE)
  file(READ ${page} content)
  string(APPEND text "      {\"${name}\", R\"~~~(${content})~~~\"},\n")
endforeach()
string(APPEND text "  };\n  return pages;\n}\n\n}  // namespace locus::manual\n")
file(WRITE ${OUT} "${text}")
