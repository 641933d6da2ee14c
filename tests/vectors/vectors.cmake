# Vectors that others have written, one CTest test for each set. They are looked for when a test runs; where they are absent it is skipped.
attend_test_binary(vectors attend_core attend_reference)
attend_use_libtorch(test_vectors)

# The scores are in the whole library.
if(ATTEND_BUILD_ALL)
  attend_test_binary(metric_vectors attend attend_reference)
  attend_use_libtorch(test_metric_vectors)
  target_sources(test_metric_vectors PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/vectors/vector_set.cpp)
endif()

# attend_vector_test(NAME FILTER [BINARY])
function(attend_vector_test name filter)
  set(binary test_vectors ${ARGN})
  list(GET binary -1 binary)
  add_test(NAME ${name} COMMAND ${binary} --gtest_filter=${filter})
  set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]" FAIL_REGULAR_EXPRESSION "Running 0 tests")
endfunction()

attend_vector_test(vectors.sets VectorSet.*)
attend_vector_test(vectors.onnx.attention Vectors.OnnxAttention)
attend_vector_test(vectors.torch.sdpa Vectors.TorchSdpa)
attend_vector_test(vectors.torch.recurrent Vectors.TorchRecurrent)
attend_vector_test(vectors.small Vectors.Small)
if(ATTEND_BUILD_ALL)
  attend_vector_test(vectors.metric_sets MetricVectorSet.* test_metric_vectors)
  attend_vector_test(vectors.bleu MetricVectors.Bleu test_metric_vectors)
  attend_vector_test(vectors.alignment MetricVectors.Alignment test_metric_vectors)
endif()
