#include "attend/core/tensor_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "attend/base/error.h"

namespace attend {
namespace {

using testing::ElementsAre;
using testing::StrEq;
using testing::ThrowsMessage;

// A folder of its own, and a round trip through a file in it.
class TensorFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "attend-tensors-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Tensor through_a_file(const Tensor& tensor) const {
    save_tensors(folder_ / "one", {{"x", tensor}}, {});
    return tensor_of(io::SafetensorsFile::read(folder_ / "one").tensor("x"));
  }

  std::filesystem::path folder_;
};

void expect_same(const Tensor& got, const Tensor& wanted) {
  EXPECT_EQ(got.scalar_type(), wanted.scalar_type());
  EXPECT_EQ(got.sizes(), wanted.sizes());
  EXPECT_TRUE(got.equal(wanted)) << at::toString(wanted.scalar_type());
}

TEST_F(TensorFile, KeepsEveryType) {
  for (const at::ScalarType type :
       {at::kBool, at::kByte, at::kChar, at::kShort, at::kInt, at::kLong, at::kHalf, at::kBFloat16, at::kFloat, at::kDouble}) {
    const Tensor tensor = at::tensor({0.0, 1.0, 100.0, 2.0, 0.0, 5.0}, at::kDouble).view({2, 3}).to(type);
    expect_same(through_a_file(tensor), tensor);
  }
}

TEST_F(TensorFile, KeepsNumbersToTheBit) {
  const Tensor tensor = at::tensor({0.1, -0.0, 1e-310, HUGE_VAL, -HUGE_VAL, 1.7976931348623157e308}, at::kDouble);
  const Tensor read = through_a_file(tensor);
  expect_same(read, tensor);
  EXPECT_TRUE(std::signbit(read[1].item<double>()));
  EXPECT_TRUE(std::isnan(through_a_file(at::tensor({std::nan("")}, at::kDouble)).item<double>()));
}

TEST_F(TensorFile, KeepsEmptyTensorsAndNumbers) {
  expect_same(through_a_file(at::zeros({0})), at::zeros({0}));
  expect_same(through_a_file(at::zeros({2, 0, 3}, at::kLong)), at::zeros({2, 0, 3}, at::kLong));
  expect_same(through_a_file(at::scalar_tensor(3.5)), at::scalar_tensor(3.5));
}

TEST_F(TensorFile, WritesNonContiguousTensorsInTheirLogicalOrder) {
  const Tensor matrix = at::arange(12, at::kFloat).view({3, 4});
  expect_same(through_a_file(matrix.t()), matrix.t().contiguous());
  expect_same(through_a_file(matrix.slice(1, 1, 4, 2)), matrix.slice(1, 1, 4, 2).contiguous());
  expect_same(through_a_file(matrix[0].expand({5, 4})), matrix[0].repeat({5, 1}));
}

TEST_F(TensorFile, WritesParametersWithTheirMetadata) {
  const Tensor parameter = torch::ones({2}).set_requires_grad(true);
  save_tensors(folder_ / "file", {{"a.weight", parameter}, {"b", at::zeros({1})}}, {{"step", "7"}});
  const io::SafetensorsFile file = io::SafetensorsFile::read(folder_ / "file");
  EXPECT_EQ(file.meta("step"), "7");
  EXPECT_EQ(file.tensors().size(), 2u);
  EXPECT_FALSE(tensor_of(file.tensor("a.weight")).requires_grad());
}

TEST_F(TensorFile, WhatIsReadIsACopy) {
  save_tensors(folder_ / "file", {{"x", at::ones({2})}}, {});
  const io::SafetensorsFile file = io::SafetensorsFile::read(folder_ / "file");
  tensor_of(file.tensor("x")).fill_(5);
  EXPECT_EQ(tensor_of(file.tensor("x")).sum().item<double>(), 2);
}

TEST_F(TensorFile, RefusesTypesThatTheContainerLacks) {
  EXPECT_THAT(
      [&] {
        save_tensors(folder_ / "file", {{"x", at::zeros({1}, at::kComplexFloat)}}, {});
      },
      ThrowsMessage<NotSupported>(StrEq("attend::save_tensors: the file format has no type for ComplexFloat")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "file"));
}

struct Counted : torch::nn::Module {
  Counted() {
    linear = register_module("linear", torch::nn::Linear(3, 2));
    count = register_buffer("count", at::zeros({1}, at::kLong));
  }
  torch::nn::Linear linear{nullptr};
  Tensor count;
};

TEST(ModuleTensors, AreParametersAndBuffersByTheirPathsAndShareTheirMemory) {
  const Counted module;
  const NamedTensors tensors = module_tensors(module);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("count", "linear.bias", "linear.weight"));
  tensors.at("count").fill_(4);
  EXPECT_EQ(module.count.item<std::int64_t>(), 4);
}

TEST(ModuleTensors, AreLoadedInPlace) {
  Counted from, to;
  from.count.fill_(9);
  const Tensor weight = to.linear->weight;
  load_module_tensors(to, module_tensors(from), "model.safetensors");
  EXPECT_TRUE(weight.equal(from.linear->weight)) << "the parameter is the same tensor as before";
  EXPECT_TRUE(to.linear->bias.equal(from.linear->bias));
  EXPECT_EQ(to.count.item<std::int64_t>(), 9);
  EXPECT_TRUE(to.linear->weight.requires_grad());
  from.count.fill_(1);
  EXPECT_EQ(to.count.item<std::int64_t>(), 9) << "it is a copy";
}

TEST(ModuleTensors, AreConvertedToTheModulesTypes) {
  Counted module;
  NamedTensors tensors = module_tensors(module);
  tensors["linear.bias"] = at::tensor({0.5, 0.25}, at::kDouble);
  load_module_tensors(module, tensors, "file");
  EXPECT_EQ(module.linear->bias.scalar_type(), at::kFloat);
  EXPECT_EQ(module.linear->bias[1].item<double>(), 0.25);
}

TEST(ModuleTensors, OfAnotherModelAreRefusedAndLeaveTheModuleAsItWas) {
  Counted module;
  const Tensor bias = module.linear->bias.detach().clone();
  const auto loading = [&](const std::function<void(NamedTensors&)>& change) {
    NamedTensors tensors;
    for (const auto& [name, tensor] : module_tensors(module)) tensors[name] = tensor.detach() + 1;
    change(tensors);
    return [&module, tensors] { load_module_tensors(module, tensors, "model.safetensors"); };
  };
  EXPECT_THAT(loading([](NamedTensors& tensors) { tensors.erase("linear.weight"); }),
              ThrowsMessage<InvalidData>(StrEq(R"(model.safetensors: lacks the tensor "linear.weight" of this model)")));
  EXPECT_THAT(loading([](NamedTensors& tensors) { tensors["linear.wieght"] = at::zeros({1}); }),
              ThrowsMessage<InvalidData>(StrEq(
                  R"(model.safetensors: has the tensor "linear.wieght", which this model doesn't have; did you mean "linear.weight"?)")));
  EXPECT_THAT(loading([](NamedTensors& tensors) {
                tensors["linear.weight"] = at::zeros({3, 2});
              }),
              ThrowsMessage<InvalidData>(StrEq(R"(model.safetensors: expected the tensor "linear.weight" [2, 3], got [3, 2]; recipe or )"
                                               R"(vocabulary don't belong to this file)")));
  EXPECT_TRUE(module.linear->bias.equal(bias));
  EXPECT_EQ(module.count.item<std::int64_t>(), 0);
}

}  // namespace
}  // namespace attend
