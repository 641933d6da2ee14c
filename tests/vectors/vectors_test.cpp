// One test for each set of vectors, and tests of how sets are found and counted.
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <sstream>

#include "tests/vectors/vector_set.h"

namespace attend::vectors {
namespace {

const FileSet onnx_attention{"onnx", "test_attention_", "Attention", check_onnx_attention};
const FileSet onnx_gru{"onnx", "test_gru_", "GRU", check_onnx_recurrent};
const FileSet onnx_lstm{"onnx", "test_lstm_", "LSTM", check_onnx_recurrent};
const FileSet torch_sdpa{"torch", "sdpa-", "scaled_dot_product_attention", check_torch_sdpa};
const FileSet torch_multi_head{"torch", "multi-head-", "MultiheadAttention", check_torch_multi_head};
const FileSet torch_gru{"torch", "bidirectional-gru", "GRU", check_torch_recurrent};
const FileSet keras{"keras", "", "", check_keras};
const FileSet joeynmt{"joeynmt", "", "", check_joeynmt};
const FileSet opennmt{"opennmt", "", "", check_opennmt};
const FileSet torch_lstm{"torch", "bidirectional-lstm", "LSTM", check_torch_recurrent};
const FileSet entmax_family{"entmax", "", "", check_entmax};

void expect_all(const std::string& set, const std::optional<Tally>& tally) {
  if (!tally) GTEST_SKIP() << set << ": no such vectors in " << vectors_folder();
  EXPECT_TRUE(report(set, *tally, std::cout));
}

TEST(Vectors, OnnxAttention) { expect_all("vectors.onnx.attention", run_files(onnx_attention, vectors_folder())); }
TEST(Vectors, OnnxRecurrent) {
  std::optional<Tally> tally = run_files(onnx_gru, vectors_folder());
  if (const std::optional<Tally> lstm = run_files(onnx_lstm, vectors_folder()); tally && lstm) tally->add(*lstm);
  expect_all("vectors.onnx.recurrent", tally);
}
TEST(Vectors, TorchSdpa) { expect_all("vectors.torch.sdpa", run_files(torch_sdpa, vectors_folder())); }
TEST(Vectors, TorchMultiHead) { expect_all("vectors.torch.multi-head", run_files(torch_multi_head, vectors_folder())); }
TEST(Vectors, TorchRecurrent) {
  std::optional<Tally> tally = run_files(torch_gru, vectors_folder());
  if (const std::optional<Tally> lstm = run_files(torch_lstm, vectors_folder()); tally && lstm) tally->add(*lstm);
  expect_all("vectors.torch.recurrent", tally);
}
TEST(Vectors, Keras) { expect_all("vectors.keras", run_files(keras, vectors_folder())); }
TEST(Vectors, JoeyNmt) { expect_all("vectors.joeynmt", run_files(joeynmt, vectors_folder())); }
TEST(Vectors, OpenNmt) { expect_all("vectors.opennmt", run_files(opennmt, vectors_folder())); }
TEST(Vectors, Entmax) { expect_all("vectors.entmax", run_files(entmax_family, vectors_folder())); }
TEST(Vectors, Small) { expect_all("vectors.small", run_small_attention(vectors_folder())); }

// A folder of vectors that a test makes.
class VectorSet : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "attend-vectors-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path in(const std::string& name) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    return folder_ / name;
  }
  // One query, one key, one value: the context is the value.
  void write_case(const std::string& name, float context, const std::string& attributes = "{}", const std::string& op = "Attention") const {
    const float one = 1, value = 3;
    const auto view = [](const float& number) {
      return io::TensorView{io::ElementType::float32, {1, 1, 1, 1}, std::as_bytes(std::span(&number, 1))};
    };
    io::write_safetensors(in(name), {{"input.a", view(one)}, {"input.b", view(one)}, {"input.c", view(value)}, {"output.d", view(context)}},
                          {{"op", op}, {"attributes", attributes}, {"node_inputs", R"(["a", "b", "c"])"}, {"node_outputs", R"(["d"])"}});
  }
  std::string run(bool expected) const {
    const std::optional<Tally> tally = run_files(onnx_attention, folder_);
    std::ostringstream text;
    EXPECT_EQ(tally.has_value() && report("set", *tally, text), expected) << text.str();
    return text.str();
  }

  std::filesystem::path folder_;
};

TEST_F(VectorSet, AnAbsentFolderHasNoTally) {
  EXPECT_FALSE(run_files(onnx_attention, folder_).has_value());
  EXPECT_FALSE(run_small_attention(folder_).has_value());
}

TEST_F(VectorSet, AFolderWithoutACaseFails) {
  std::filesystem::create_directories(folder_ / "onnx");
  EXPECT_NE(run(false).find("set: 0 of 0 cases"), std::string::npos);
}

TEST_F(VectorSet, CasesAreTheFilesThatAreThere) {
  write_case("onnx/test_attention_new.safetensors", 3);
  write_case("onnx/another_name.safetensors", 3);
  write_case("onnx/another_operator.safetensors", 3, "{}", "Softmax");
  EXPECT_NE(run(true).find("set: 2 of 2 cases"), std::string::npos);
}

TEST_F(VectorSet, AWrongResultFails) {
  write_case("onnx/test_attention_right.safetensors", 3);
  write_case("onnx/test_attention_wrong.safetensors", 4);
  const std::string text = run(false);
  EXPECT_NE(text.find("test_attention_wrong.safetensors: Y[0]: got 3, wanted 4"), std::string::npos) << text;
  EXPECT_NE(text.find("set: 1 of 2 cases"), std::string::npos) << text;
}

TEST_F(VectorSet, WhatIsNotUnderstoodFails) {
  write_case("onnx/test_attention_right.safetensors", 3);
  write_case("onnx/test_attention_attribute.safetensors", 3, R"({"sliding_window": 4})");
  write_case("onnx/test_attention_operator.safetensors", 3, "{}", "Softmax");
  std::ofstream(in("onnx/notes.txt")) << "not a container";
  const std::string text = run(false);
  EXPECT_NE(text.find("attribute.safetensors: not understood: attribute sliding_window"), std::string::npos) << text;
  EXPECT_NE(text.find("operator.safetensors: not understood: expected metadata op"), std::string::npos) << text;
  EXPECT_NE(text.find("notes.txt: not understood: "), std::string::npos) << text;
  EXPECT_NE(text.find("set: 1 of 4 cases"), std::string::npos) << text;
}

TEST_F(VectorSet, ASetOfAFolderTakesEveryFileAndFailsOnUnknownOnes) {
  for (const FileSet& set : {keras, joeynmt, opennmt}) {
    write_case(set.folder + "/new.safetensors", 3, R"({"score": "another", "lengths": [1], "coverage": false})", "AnotherOperator");
    std::ofstream(in(set.folder + "/notes.txt")) << "not a container";
    const std::optional<Tally> tally = run_files(set, folder_);
    ASSERT_TRUE(tally.has_value());
    EXPECT_EQ(tally->cases, 2);
    EXPECT_EQ(tally->passed, 0);
    ASSERT_GE(tally->failures.size(), 2u);
    EXPECT_EQ(tally->failures[0], "new.safetensors: threw: not understood: op \"AnotherOperator\"");
    EXPECT_EQ(tally->failures.back().find("notes.txt: not understood: "), 0u) << tally->failures.back();
  }
}

TEST_F(VectorSet, ASetWithoutAnOperatorTakesEveryFile) {
  const double numbers[] = {0.8, -0.2, 1, 0, 0, 0};  // by hand: sparsemax of two that are 1 apart is a corner, and flat there
  const auto view = [&](int first) { return io::TensorView{io::ElementType::float64, {1, 2}, std::as_bytes(std::span(numbers + first, 2))}; };
  const auto write = [&](const std::string& name, const std::string& op, int weights) {
    io::write_safetensors(
        in(name),
        {{"input.scores", view(0)}, {"output.weights", view(weights)}, {"cotangent.weights", view(0)}, {"gradient.scores", view(4)}},
        {{"op", op}});
  };
  write("entmax/right.safetensors", "sparsemax", 2);
  write("entmax/wrong.safetensors", "sparsemax", 0);
  write("entmax/unknown.safetensors", "entmax-alpha-flat", 2);
  const std::optional<Tally> tally = run_files(entmax_family, folder_);
  ASSERT_TRUE(tally.has_value());
  EXPECT_EQ(tally->cases, 3);
  EXPECT_EQ(tally->passed, 1);
  std::ostringstream text;
  EXPECT_FALSE(report("set", *tally, text));
  EXPECT_NE(text.str().find("unknown.safetensors: threw: not understood: op \"entmax-alpha-flat\""), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("wrong.safetensors: sparsemax[1]: got 0, wanted -0.2"), std::string::npos) << text.str();
}

TEST_F(VectorSet, WhatIsNotBuiltIsNamedAndNeitherPassesNorFails) {
  Tally tally;
  tally.run("right", []() -> std::vector<std::string> { return {}; });
  tally.run("other", []() -> std::vector<std::string> { throw NotBuilt("peepholes"); });
  std::ostringstream text;
  EXPECT_TRUE(report("set", tally, text));
  EXPECT_EQ(text.str(), "set: 1 of 1 cases; not built yet: 1 (other: peepholes)\n");
}

TEST_F(VectorSet, SmallCasesAreCountedAndNamed) {
  std::ofstream(in("small-attention.json")) << R"({"allennlp": {
    "bilinear": {"W": [[2]], "b": 1, "a": [[3]], "m": [[[4]]], "expected": [[25]]}, "linear": {"expected": []}, "unheard_of": {}}})";
  const std::optional<Tally> tally = run_small_attention(folder_);
  ASSERT_TRUE(tally.has_value());
  EXPECT_EQ(tally->passed, 1);
  EXPECT_EQ(tally->cases, 2);
  EXPECT_EQ(tally->not_built, std::vector<std::string>{"allennlp.linear"});
  EXPECT_EQ(tally->failures, std::vector<std::string>{"allennlp.unheard_of: not understood: no adapter knows this case"});
}

}  // namespace
}  // namespace attend::vectors
