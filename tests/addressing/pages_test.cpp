// The examples of docs/addressing, run here; that a page shows just this code is tested too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "attend/addressing/additive.h"
#include "attend/addressing/attention.h"
#include "attend/addressing/dot_product.h"
#include "attend/addressing/multi_head.h"
#include "attend/addressing/normalizers/entmax.h"
#include "attend/addressing/normalizers/entmax15.h"
#include "attend/addressing/normalizers/hard_max.h"
#include "attend/addressing/normalizers/hard_sample.h"
#include "attend/addressing/normalizers/softmax.h"
#include "attend/addressing/normalizers/sparsemax.h"
#include "attend/addressing/normalizers/uniform.h"
#include "attend/addressing/score_function.h"
#include "attend/addressing/scores/additive.h"
#include "attend/addressing/scores/cosine.h"
#include "attend/addressing/scores/dot.h"
#include "attend/addressing/scores/general.h"
#include "attend/addressing/scores/location.h"
#include "attend/addressing/weight_summary.h"
#include "attend/addressing/windows/local_m.h"
#include "attend/addressing/windows/local_p.h"
#include "attend/core/recording.h"
#include "attend/io/file.h"
#include "attend/layers/key_value_cache.h"

namespace {

TEST(Page, Read) {
  // a score of one's own, here the negative distance, inherits every rule above
  const auto nearness = [](const at::Tensor& query, const at::Tensor& key) { return -at::cdist(query, key); };
  const at::Tensor query = at::randn({2, 1, 3, 16}), memory = at::randn({2, 1, 5, 16});
  const attend::Mask padding = attend::Mask::lengths(at::tensor({5, 2}, at::kLong));
  const at::Tensor context = attend::addressing::read("nearness", query, memory, memory, nearness, padding).context;

  EXPECT_EQ(context.sizes(), at::IntArrayRef({2, 1, 3, 16}));
  EXPECT_TRUE(at::isfinite(context).all().item<bool>());
}

TEST(Page, DotProduct) {
  // eight query heads over two key heads; the first two of five keys come from a cache
  const at::Tensor query = at::randn({1, 8, 3, 64}), key = at::randn({1, 2, 5, 64}), value = at::randn({1, 2, 5, 32});
  attend::addressing::DotProductOptions options;
  options.read.return_weights = true;
  const auto [context, weights] = attend::addressing::dot_product(query, key, value, attend::Mask::causal(), options);

  EXPECT_EQ(context.sizes(), at::IntArrayRef({1, 8, 3, 32}));
  EXPECT_EQ(weights[0][0][0][3].item<double>(), 0) << "the first query sees the cache and its own key";
  EXPECT_GT(weights[0][0][0][2].item<double>(), 0);
}

TEST(Page, MultiHead) {
  // a decoder's step reads all places so far: kept as bfloat16, four query heads on one key head
  attend::addressing::MultiHead attention(64, attend::addressing::MultiHeadOptions{.heads = 4, .key_heads = 1});
  attend::layers::KeyValueCache cache({.storage = at::kBFloat16});
  const at::NoGradGuard no_gradient;
  for (int step = 0; step < 5; ++step) {
    const at::Tensor now = at::randn({2, 1, 64});
    const attend::addressing::KeyValue made = attention->project(now, now);
    cache.append(made.key, made.value);
    const at::Tensor context = attention->read(now, {cache.key(), cache.value()}, attend::Mask::causal()).context;
  }
  cache.truncate(3);                               // takes back two steps
  cache.reorder(at::tensor({1, 1, 0}, at::kLong));  // a search goes on with these rows

  EXPECT_EQ(cache.key().sizes(), at::IntArrayRef({3, 1, 3, 16}));
}

TEST(Page, WeightSummary) {
  // 3,000 × 3,000 weights are never stored
  const at::Tensor x = at::randn({1, 4, 3000, 16});
  const attend::addressing::WeightSummary summary = attend::addressing::summarise_weights("example", x, x, attend::addressing::DotForm{0.25}, attend::Mask::causal());
  const at::Tensor last_row = attend::addressing::chosen_weights("example", x, x, attend::addressing::DotForm{0.25}, {{0}, {2999}}, attend::Mask::causal());

  EXPECT_EQ(summary.top_keys.sizes(), at::IntArrayRef({1, 4, 3000, 8}));
  EXPECT_EQ(last_row.sizes(), at::IntArrayRef({1, 1, 1, 3000}));
}

TEST(Page, Additive) {
  const at::Tensor query = at::randn({2, 1, 3, 16}), key = at::randn({2, 1, 7, 16}), value = at::randn({2, 1, 7, 32});
  const at::Tensor weight = at::randn({16});
  const attend::Mask padding = attend::Mask::lengths(at::tensor({7, 4}, at::kLong));
  const at::Tensor context = attend::addressing::additive(query, key, value, weight, padding).context;

  EXPECT_EQ(context.sizes(), at::IntArrayRef({2, 1, 3, 32}));
}

TEST(Page, Dropout) {
  const std::int64_t seed = attend::addressing::draw_dropout_seed({});
  const at::Tensor like = at::zeros({}, at::kFloat);
  const at::Tensor whole = attend::addressing::dropout_multipliers({4, 8, 16, 16}, 0.1, seed, like);
  // the second half of the batch by itself
  const at::Tensor half = attend::addressing::dropout_multipliers({2, 8, 16, 16}, 0.1, seed, like, {.batch = 2});

  EXPECT_TRUE(half.equal(whole.slice(0, 2)));
}

TEST(Page, Attention) {
  attend::addressing::Attention attention(512, 256,
                                          attend::addressing::AttentionOptions{.score = attend::addressing::Score::additive, .hidden = 64});
  const at::Tensor query = at::randn({2, 1, 512}), memory = at::randn({2, 9, 256});
  const attend::Mask padding = attend::Mask::lengths(at::tensor({9, 5}, at::kLong));
  attend::Recording recording(*attention);
  const at::Tensor context = attention(query, memory, memory, padding).context;
  const at::Tensor weights = recording.take()[0].tensor;

  EXPECT_EQ(context.sizes(), at::IntArrayRef({2, 1, 256}));
  EXPECT_EQ(weights.sizes(), at::IntArrayRef({2, 1, 1, 9}));

  attend::addressing::Attention local(
      512, 256, attend::addressing::AttentionOptions{.window = attend::addressing::Window::local_m, .window_width = 3});
  const attend::addressing::AttentionPlace place{.first_query = 4};
  const at::Tensor read_from_1_to_7 = local(query, memory, memory, padding, /*return_weights=*/false, place).context;

  const at::Tensor read = local(query, memory, memory, padding, true, place).weights > 0;
  EXPECT_TRUE(read[0][0][0].equal(at::tensor({0, 1, 1, 1, 1, 1, 1, 1, 0}, at::kInt).to(at::kBool)));
  EXPECT_TRUE(read[1][0][0].equal(at::tensor({0, 1, 1, 1, 1, 0, 0, 0, 0}, at::kInt).to(at::kBool))) << "padding is not read";
  EXPECT_EQ(read_from_1_to_7.sizes(), at::IntArrayRef({2, 1, 256}));
}

TEST(Page, LocalM) {
  // a decoder's step 4: keys 2 to 6 of 9
  const at::Tensor query = at::randn({2, 1, 1, 16}), memory = at::randn({2, 1, 9, 16});
  attend::addressing::DotProductOptions options;
  options.read.window = [](const at::Tensor& q) {
    return attend::addressing::local_m_window(q.size(2), 9, {.half_width = 2, .first_query = 4}, q);
  };
  options.read.return_weights = true;
  const at::Tensor weights = attend::addressing::dot_product(query, memory, memory, {}, options).weights;

  EXPECT_TRUE((weights[0][0][0] > 0).equal(at::tensor({0, 0, 1, 1, 1, 1, 1, 0, 0}, at::kInt).to(at::kBool)));
}

TEST(Page, LocalP) {
  const at::Tensor query = at::randn({2, 1, 3, 16}), memory = at::randn({2, 1, 9, 16});
  const at::Tensor projection = at::randn({16, 16}), energy = at::randn({16});
  const attend::Mask padding = attend::Mask::lengths(at::tensor({9, 5}, at::kLong));
  attend::addressing::DotProductOptions options;
  options.read.window = [&](const at::Tensor& q) {
    const at::Tensor lengths = attend::addressing::key_lengths(padding, 2, 9, q);
    return attend::addressing::local_p_window(attend::addressing::local_p_centre(q, projection, energy, lengths), 9, 4);
  };
  options.read.return_weights = true;
  const at::Tensor weights = attend::addressing::dot_product(query, memory, memory, padding, options).weights;

  EXPECT_EQ(weights.sizes(), at::IntArrayRef({2, 1, 3, 9}));
  EXPECT_TRUE((weights.sum(-1) > 0).all().item<bool>());
  EXPECT_TRUE((weights.sum(-1) < 1).all().item<bool>());
}

TEST(Page, CosineScore) {
  const at::Tensor query = at::randn({2, 8, 3, 64}), key = at::randn({2, 2, 5, 64});
  const at::Tensor cosines = attend::addressing::cosine_score(query, key, 10.0);

  EXPECT_EQ(cosines.sizes(), at::IntArrayRef({2, 8, 3, 5}));
  EXPECT_LE(cosines.abs().max().item<double>(), 10.001);
}

TEST(Page, LocationScore) {
  const at::Tensor query = at::randn({2, 1, 3, 16}), weight = at::randn({50, 16});
  const at::Tensor places = attend::addressing::location_score(query, 7, weight);

  EXPECT_EQ(places.sizes(), at::IntArrayRef({2, 1, 3, 7}));
}

TEST(Page, DotScore) {
  const at::Tensor query = at::randn({2, 8, 3, 64}), key = at::randn({2, 2, 5, 64});
  const at::Tensor scores = attend::addressing::dot_score(query, key, 1.0 / 8);

  EXPECT_EQ(scores.sizes(), at::IntArrayRef({2, 8, 3, 5}));
}

TEST(Page, GeneralScore) {
  const at::Tensor query = at::randn({2, 1, 1, 512}), key = at::randn({2, 1, 9, 256}), weight = at::randn({512, 256});
  const at::Tensor scores = attend::addressing::general_score(query, key, weight);

  EXPECT_EQ(scores.sizes(), at::IntArrayRef({2, 1, 1, 9}));
}

TEST(Page, AdditiveScore) {
  const at::Tensor query = at::randn({2, 1, 3, 16}), key = at::randn({2, 1, 7, 16}), weight = at::randn({16});
  const at::Tensor scores = attend::addressing::additive_score(query, key, weight);

  EXPECT_EQ(scores.sizes(), at::IntArrayRef({2, 1, 3, 7}));
}

TEST(Page, Softmax) {
  const at::Tensor scores = at::randn({1, 1, 2, 3});
  const at::Tensor keep = at::arange(3) < at::tensor({2, 0}).view({1, 1, 2, 1});  // two keys for the first query, none for the second
  const at::Tensor weights = attend::addressing::masked_softmax(scores, keep);

  EXPECT_EQ(weights[0][0][1].abs().sum().item<double>(), 0);
}

TEST(Page, Sparsemax) {
  const at::Tensor scores = at::tensor({0.5, 0.3, -0.4}).view({1, 1, 1, 3});
  const at::Tensor weights = attend::addressing::sparsemax(scores, {});  // 0.6, 0.4, 0

  EXPECT_TRUE(at::allclose(weights.flatten(), at::tensor({0.6, 0.4, 0.0})));
}

TEST(Page, Entmax15) {
  const at::Tensor scores = at::tensor({1.6, 1.2, -0.1}).view({1, 1, 1, 3});
  const at::Tensor weights = attend::addressing::entmax15(scores, {});  // 0.64, 0.36, 0

  EXPECT_TRUE(at::allclose(weights.flatten(), at::tensor({0.64, 0.36, 0.0})));
}

TEST(Page, Entmax) {
  const at::Tensor scores = at::randn({2, 1, 3, 8});
  const at::Tensor weights = attend::addressing::entmax(scores, {}, 1.25);

  EXPECT_TRUE(at::allclose(weights.sum(-1), at::ones({2, 1, 3})));
}

TEST(Page, Uniform) {
  const at::Tensor scores = at::zeros({1, 1, 2, 4});
  const at::Tensor keep = at::arange(4) < at::tensor({4, 2}).view({1, 1, 2, 1});
  const at::Tensor weights = attend::addressing::masked_uniform(scores, keep);  // four quarters; two halves

  EXPECT_TRUE(weights.flatten().equal(at::tensor({0.25, 0.25, 0.25, 0.25, 0.5, 0.5, 0.0, 0.0}).to(at::kFloat)));
}

TEST(Page, HardMax) {
  const at::Tensor scores = at::tensor({1.0, 3.0, 3.0}).view({1, 1, 1, 3});
  const at::Tensor weights = attend::addressing::hard_max(scores, {});  // 0, 1, 0

  EXPECT_TRUE(weights.flatten().to(at::kDouble).equal(at::tensor({0.0, 1.0, 0.0}, at::kDouble)));
}

TEST(Page, HardSample) {
  const at::Tensor scores = at::randn({2, 1, 3, 8}).set_requires_grad(true);
  const attend::addressing::HardSample drawn =
      attend::addressing::hard_sample(scores, {}, {.seed = attend::addressing::draw_dropout_seed({})});

  EXPECT_TRUE(drawn.weights.amax(-1).equal(at::ones({2, 1, 3})));
  EXPECT_TRUE(drawn.log_probability.requires_grad());
}

TEST(Page, ScoreFunction) {
  attend::addressing::Attention attention(
      16, 16, attend::addressing::AttentionOptions{.normalizer = attend::addressing::Normalizer::hard_sample});
  attend::addressing::ScoreFunctionLoss score_function(attend::addressing::ScoreFunctionOptions{.entropy = 0.01});
  const at::Tensor query = at::randn({2, 3, 16}), memory = at::randn({2, 7, 16}), wanted = at::randn({2, 3, 16});
  const attend::AttentionResult read = attention(query, memory, memory);
  const at::Tensor reward = -(read.context - wanted).square().sum(-1);  // [B, Lq]
  const auto [taught, entropy] = score_function(read.log_probability, read.entropy, reward, at::ones({2, 3}, at::kBool));
  (-reward.mean() + taught + 0.01 * entropy).backward();

  EXPECT_GT(attention->parameters()[0].grad().abs().sum().item<double>(), 0);
}

// Without its white space, so that lines may be broken differently.
std::string letters(const std::string& text) {
  std::string kept;
  for (const char c : text)
    if (c != ' ' && c != '\n') kept += c;
  return kept;
}

std::vector<std::string> code_of(const std::string& page) {
  const std::string begin = "```cpp\n", end = "```\n";
  std::vector<std::string> blocks;
  for (std::size_t at = page.find(begin); at != std::string::npos; at = page.find(begin, at)) {
    at += begin.size();
    blocks.push_back(page.substr(at, page.find(end, at) - at));
  }
  return blocks;
}

TEST(Page, EachShowsCodeThatIsRunHere) {
  const std::filesystem::path source = ATTEND_SOURCE_DIR;
  const std::string run = letters(attend::io::read_file(source / "tests/addressing/pages_test.cpp"));
  int pages = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source / "docs/addressing")) {
    if (entry.path().extension() != ".md") continue;
    ++pages;
    const std::vector<std::string> blocks = code_of(attend::io::read_file(entry.path()));
    EXPECT_FALSE(blocks.empty()) << entry.path() << " has no example";
    for (const std::string& block : blocks)
      EXPECT_NE(run.find(letters(block)), std::string::npos) << entry.path() << " shows code that differs from this file's:\n" << block;
  }
  EXPECT_GE(pages, 20);
}

}  // namespace
