# Read by CPack first: the time of every file in the package.
include(${CMAKE_CURRENT_LIST_DIR}/CommitTime.cmake)
commit_time(seconds ${CPACK_LOCUS_SOURCE})
set(ENV{SOURCE_DATE_EPOCH} ${seconds})
