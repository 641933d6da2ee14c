# Vectors that others have written, one CTest test for each set. They are looked for when a test runs; where they are absent it is skipped.
attend_test_binary(vectors attend_core attend_reference)
attend_use_libtorch(test_vectors)

function(attend_vector_test name filter)
  add_test(NAME ${name} COMMAND test_vectors --gtest_filter=${filter})
  set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]" FAIL_REGULAR_EXPRESSION "Running 0 tests")
endfunction()

attend_vector_test(vectors.sets VectorSet.*)
attend_vector_test(vectors.onnx.attention Vectors.OnnxAttention)
attend_vector_test(vectors.onnx.recurrent Vectors.OnnxRecurrent)
attend_vector_test(vectors.torch.sdpa Vectors.TorchSdpa)
attend_vector_test(vectors.torch.recurrent Vectors.TorchRecurrent)
attend_vector_test(vectors.keras Vectors.Keras)
attend_vector_test(vectors.joeynmt Vectors.JoeyNmt)
attend_vector_test(vectors.opennmt Vectors.OpenNmt)
attend_vector_test(vectors.entmax Vectors.Entmax)
attend_vector_test(vectors.small Vectors.Small)
