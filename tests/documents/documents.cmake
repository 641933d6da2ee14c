add_test(NAME documents
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/documents/check_documents.sh ${PROJECT_SOURCE_DIR} $<TARGET_FILE:attend_tool> ${CMAKE_CURRENT_BINARY_DIR}/documents)
