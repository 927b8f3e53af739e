# Run by CPack in the folder of the package before it is closed: the documents that Debian's policy asks of a package.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # of SOURCE_DATE_EPOCH
set(documents ${CPACK_TEMPORARY_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}/share/doc/${CPACK_PACKAGE_NAME})
file(MAKE_DIRECTORY ${documents})
file(COPY ${CPACK_LOCUS_SOURCE}/assets/desktop/copyright DESTINATION ${documents})
file(COPY ${CPACK_LOCUS_SOURCE}/CHANGELOG.md DESTINATION ${documents})
file(RENAME ${documents}/CHANGELOG.md ${documents}/NEWS)
file(WRITE ${documents}/changelog "${CPACK_PACKAGE_NAME} (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n")
file(APPEND ${documents}/changelog "  * NEWS.gz lists what has changed.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
execute_process(COMMAND gzip -9nf ${documents}/changelog ${documents}/NEWS COMMAND_ERROR_IS_FATAL ANY)
