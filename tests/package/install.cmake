# Installs the build in BUILD into FIRST, then moves it to MOVED.
file(REMOVE_RECURSE ${FIRST} ${MOVED})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${FIRST} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
file(RENAME ${FIRST} ${MOVED})
