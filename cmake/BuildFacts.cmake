# cmake -DSOURCE=… -DVERSION=… -DLIBRARIES=… -DOUT=FILE.cpp -P BuildFacts.cmake: what `locus --version` prints (app/build_facts.h).
# A tree without git has no commit.
find_program(GIT git)
set(commit "")
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
if(commit)
  set(commit " (${commit})")
endif()
file(WRITE ${OUT} "// Written by cmake/BuildFacts.cmake.\n#include \"app/build_facts.h\"\n\nnamespace locus {\n\n")
file(APPEND ${OUT} "const char* const kVersionText = \"locus ${VERSION}${commit}\\n${LIBRARIES}\";\n\n}  // namespace locus\n")
