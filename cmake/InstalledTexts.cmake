# cmake -DSOURCE=… -DVERSION=… -DLOCUS=PROGRAM -DOUT=FOLDER -P InstalledTexts.cmake: the man page and the completions, as the
# program prints them, and the AppStream metadata with version and date.
include(${CMAKE_CURRENT_LIST_DIR}/CommitTime.cmake)
set(files locus.1 locus.bash _locus locus.fish)
foreach(option man "completion;bash" "completion;zsh" "completion;fish")
  list(POP_FRONT files file)
  execute_process(COMMAND ${LOCUS} help --${option} OUTPUT_FILE ${OUT}/${file} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
execute_process(COMMAND gzip -9nf ${OUT}/locus.1 COMMAND_ERROR_IS_FATAL ANY)

commit_time(seconds ${SOURCE})
set(ENV{SOURCE_DATE_EPOCH} ${seconds})
string(TIMESTAMP DATE "%Y-%m-%d" UTC)
configure_file(${SOURCE}/assets/desktop/org.locus.locus.metainfo.xml.in ${OUT}/org.locus.locus.metainfo.xml @ONLY)
