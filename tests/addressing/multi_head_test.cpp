#include "attend/addressing/multi_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "attend/base/error.h"
#include "attend/core/recording.h"
#include "tests/reference/tensors.h"

namespace attend::addressing {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

MultiHead multi_head(std::int64_t size, const MultiHeadOptions& options) {
  at::manual_seed(1);
  MultiHead module(size, options);
  module->to(at::kDouble);
  const torch::NoGradGuard no_gradient;
  for (Tensor& parameter : module->parameters()) parameter.add_(at::randn_like(parameter) * 0.5);  // biases too; peaky
  return module;
}

// Each head by itself, in loops over batch, head and query.
AttentionResult multi_head_by_heads(const MultiHead& module, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& keep) {
  const MultiHeadOptions& o = module->options();
  const auto parameters = module->named_parameters();
  const std::int64_t B = query.size(0), Lq = query.size(1), Lk = key.size(1);
  const auto linear = [&](const Tensor& x, const std::string& name) { return at::linear(x, parameters[name + "_projection"], parameters[name + "_bias"]); };
  const Tensor q = linear(query, "query"), k = linear(key, "key"), v = linear(value, "value");
  Tensor weights = at::zeros({B, o.heads, Lq, Lk}, at::kDouble), heads = at::zeros({B, Lq, o.heads * o.value_width}, at::kDouble);
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t h = 0; h < o.heads; ++h)
      for (std::int64_t i = 0; i < Lq; ++i) {
        const std::int64_t g = h * o.key_heads / o.heads;
        const Tensor own = q[b][i].slice(0, h * o.key_width, (h + 1) * o.key_width);
        Tensor scores = at::mv(k[b].slice(1, g * o.key_width, (g + 1) * o.key_width), own) / std::sqrt(double(o.key_width));
        scores = scores.masked_fill(keep[b][i].logical_not(), -std::numeric_limits<double>::infinity());
        const Tensor row = keep[b][i].any().item<bool>() ? scores.softmax(0) : at::zeros({Lk}, at::kDouble);
        weights[b][h][i] = row.detach();
        heads[b][i].slice(0, h * o.value_width, (h + 1) * o.value_width) = at::mv(v[b].slice(1, g * o.value_width, (g + 1) * o.value_width).t(), row);
      }
  return {linear(heads, "output"), weights, {}, {}};
}

void expect_same(const char* name, const Tensor& got, const Tensor& wanted) {
  EXPECT_EQ(reference::difference(name, reference::numbers(got), reference::numbers(wanted), reference::tolerance(reference::Type::float64, 64)), "");
}

TEST(MultiHead, EqualsItsHeadsOneByOne) {
  for (const MultiHeadOptions& options :
       {MultiHeadOptions{.heads = 4}, MultiHeadOptions{.heads = 4, .key_heads = 2, .value_width = 5}, MultiHeadOptions{.heads = 3, .key_heads = 1, .key_width = 7, .key_size = 6, .value_size = 10}}) {
    const MultiHead module = multi_head(12, options);
    const MultiHeadOptions& o = module->options();
    const Tensor query = at::randn({2, 5, 12}, at::kDouble), key = at::randn({2, 9, o.key_size}, at::kDouble), value = at::randn({2, 9, o.value_size}, at::kDouble);
    const Tensor lengths = at::tensor({9, 3}, at::kLong);
    const Tensor keep = (at::arange(9) < lengths.unsqueeze(1)).unsqueeze(1).expand({2, 5, 9}).contiguous();
    const AttentionResult wanted = multi_head_by_heads(module, query, key, value, keep);
    const AttentionResult got = MultiHead(module)(query, key, value, Mask::lengths(lengths), true);
    expect_same("context", got.context, wanted.context);
    expect_same("weights", got.weights, wanted.weights);
    expect_same("context without weights", MultiHead(module)(query, key, value, Mask::lengths(lengths)).context, wanted.context);
  }
}

TEST(MultiHead, ReadsAMemoryInTwoPartsAsInOne) {
  MultiHead module = multi_head(8, {.heads = 2});
  const Tensor x = at::randn({2, 6, 8}, at::kDouble);
  const Tensor whole = module->self(x, Mask::causal()).context;
  const KeyValue memory = module->project(x, x);
  for (std::int64_t t = 0; t < 6; ++t) {
    const KeyValue so_far{memory.key.narrow(2, 0, t + 1), memory.value.narrow(2, 0, t + 1)};
    expect_same("step", module->read(x.narrow(1, t, 1), so_far, Mask::causal()).context, whole.narrow(1, t, 1));
  }
}

// Rule 6: neither a context that doesn't see it nor any gradient is touched.
TEST(MultiHead, NaNStaysWhereItIsSeen) {
  MultiHead module = multi_head(8, {.heads = 2});
  const Tensor clean = at::randn({1, 5, 8}, at::kDouble);
  Tensor bad = clean.clone();
  bad[0][4][3] = std::numeric_limits<double>::quiet_NaN();
  Tensor zeroed = clean.clone();
  zeroed[0][4].zero_();
  const auto gradients = [&](const Tensor& x) {
    const Tensor context = module->self(x, Mask::causal()).context;
    return torch::autograd::grad({context.narrow(1, 0, 4).pow(2).sum()}, module->parameters());
  };
  const Tensor context = module->self(bad, Mask::causal()).context;
  expect_same("rows before", context.narrow(1, 0, 4), module->self(clean, Mask::causal()).context.narrow(1, 0, 4));
  EXPECT_TRUE(context[0][4].isnan().all().item<bool>());
  const std::vector<Tensor> got = gradients(bad), wanted = gradients(zeroed);
  for (std::size_t i = 0; i < got.size(); ++i) expect_same("gradient", got[i], wanted[i]);
}

TEST(MultiHead, HasTheGradientsOfItsHeads) {
  const MultiHead module = multi_head(6, {.heads = 2, .key_heads = 1});
  const Tensor query = at::randn({2, 4, 6}, at::kDouble), memory = at::randn({2, 5, 6}, at::kDouble), keep = at::rand({2, 4, 5}) > 0.3;
  const auto gradients = [&](const AttentionResult& result) { return torch::autograd::grad({result.context.pow(2).sum()}, module->parameters()); };
  const std::vector<Tensor> wanted = gradients(multi_head_by_heads(module, query, memory, memory, keep));
  for (const Path path : {Path::fused, Path::composed}) {
    MultiHeadOptions options = module->options();
    options.path = path;
    MultiHead own(6, options);
    own->to(at::kDouble);
    const torch::NoGradGuard no_gradient;
    for (std::size_t i = 0; i < wanted.size(); ++i) own->parameters()[i].copy_(module->parameters()[i]);
    const at::AutoGradMode with_gradient(true);
    const std::vector<Tensor> got = torch::autograd::grad({own(query, memory, memory, Mask::keep(keep.unsqueeze(1))).context.pow(2).sum()}, own->parameters());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_EQ(reference::difference("gradient", reference::numbers(got[i]), reference::numbers(wanted[i]), reference::gradient_tolerance(reference::Type::float64, 64)), "");
  }
}

TEST(MultiHead, DropsWeightsOnlyWhileTraining) {
  MultiHead module = multi_head(8, {.heads = 2, .dropout = 0.5});
  const Tensor x = at::randn({1, 20, 8}, at::kDouble);
  EXPECT_FALSE(module->self(x).context.equal(module->self(x).context));
  module->eval();
  EXPECT_TRUE(module->self(x).context.equal(module->self(x).context));
}

TEST(MultiHead, TakesHalfTypes) {
  MultiHead module(8, MultiHeadOptions{.heads = 2});
  const Tensor x = at::randn({1, 20, 8});
  const Tensor got = module->self(x.to(at::kBFloat16)).context;
  EXPECT_EQ(got.scalar_type(), at::kBFloat16);
  EXPECT_LT((got.to(at::kFloat) - module->self(x).context).abs().max().item<float>(), 0.05);
}

TEST(MultiHead, ReportsItsWeightsToARecording) {
  MultiHead module = multi_head(8, {.heads = 2});
  const Tensor x = at::randn({1, 3, 8}, at::kDouble), memory = at::randn({1, 5, 8}, at::kDouble);
  Recording recording(*module);
  module->self(x);
  module(x, memory, memory);
  const std::vector<Recording::Item> items = recording.take();
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].kind, "self");
  EXPECT_EQ(items[1].kind, "alignment");
  EXPECT_EQ(items[1].tensor.sizes(), at::IntArrayRef({1, 2, 3, 5}));
}

TEST(MultiHead, RefusesWhatDoesntFit) {
  const auto refuses = [](const std::string& message) { return ThrowsMessage<InvalidArgument>(HasSubstr("attend::addressing::MultiHead: " + message)); };
  EXPECT_THAT([] { MultiHead(10, MultiHeadOptions{.heads = 4}); }, refuses("expected query_size to be a multiple of heads, got 10 and 4; or set key_width"));
  EXPECT_THAT([] { MultiHead(12, MultiHeadOptions{.heads = 4, .key_heads = 3}); }, refuses("expected heads to be a multiple of key_heads, got 4 and 3"));
  EXPECT_THAT([] { MultiHead(0); }, refuses("expected positive sizes"));
  EXPECT_THAT([] { MultiHead(8, MultiHeadOptions{.value_width = -1}); }, refuses("expected value_width ≥ 1"));
  EXPECT_THAT([] { MultiHead(8, MultiHeadOptions{.dropout = 1}); }, refuses("expected dropout from 0 to below 1"));
  MultiHead module(8);
  EXPECT_THAT([&] { module->self(at::zeros({2, 3, 9})); }, refuses("expected key [B, Lk, Ek] with Ek = 8, got [2, 3, 9]"));
  EXPECT_THAT([&] { module->read(at::zeros({2, 8}), {}); }, refuses("expected query [B, Lq, E]"));
}

TEST(MultiHead, AcceptsSizesOfZero) {
  MultiHead module(8);
  EXPECT_EQ(module->self(at::zeros({0, 3, 8})).context.sizes(), at::IntArrayRef({0, 3, 8}));
  EXPECT_EQ(module->self(at::zeros({2, 0, 8})).context.sizes(), at::IntArrayRef({2, 0, 8}));
  // nothing to read: the output's bias
  const Tensor context = module(at::ones({1, 2, 8}), at::zeros({1, 0, 8}), at::zeros({1, 0, 8})).context;
  EXPECT_TRUE(context.equal(module->named_parameters()["output_bias"].expand({1, 2, 8})));
}

TEST(LearnedQueries, ReadsOneMemoryWithEachAndPutsContextsSideBySide) {
  at::manual_seed(1);
  LearnedQueries module(3, 4);
  module->to(at::kDouble);
  const Tensor key = at::randn({2, 7, 4}, at::kDouble) * 2, value = at::randn({2, 7, 5}, at::kDouble);
  const AttentionResult got = module(key, value, Mask::lengths(at::tensor({7, 4}, at::kLong)), true);
  EXPECT_EQ(got.context.sizes(), at::IntArrayRef({2, 15}));
  const Tensor queries = module->parameters()[0];
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t m = 0; m < 3; ++m) {
      const std::int64_t length = b == 0 ? 7 : 4;
      const Tensor weights = at::mv(key[b].narrow(0, 0, length), queries[m]).softmax(0);
      expect_same("weights", got.weights[b][0][m].narrow(0, 0, length), weights);
      expect_same("context", got.context[b].narrow(0, m * 5, 5), at::mv(value[b].narrow(0, 0, length).t(), weights));
    }
  EXPECT_THROW(LearnedQueries(0, 4), InvalidArgument);
  EXPECT_THAT([&] { module(at::zeros({1, 2, 3}, at::kDouble), value); }, ThrowsMessage<InvalidArgument>(HasSubstr("expected key [B, Lk, Ek] with Ek = 4")));
}

}  // namespace
}  // namespace attend::addressing
