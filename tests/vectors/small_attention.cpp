// small-attention.json: scores of AllenNLP and attention of Keras on a few numbers.
#include <algorithm>
#include <cmath>

#include "attend/addressing/additive.h"
#include "attend/addressing/dot_product.h"
#include "attend/addressing/scores/additive.h"
#include "attend/addressing/scores/cosine.h"
#include "attend/addressing/scores/dot.h"
#include "attend/addressing/scores/general.h"
#include "attend/base/error.h"
#include "attend/decode/back_trace.h"
#include "attend/io/file.h"
#include "attend/io/json.h"
#include "tests/reference/tensors.h"
#include "tests/vectors/vector_set.h"

namespace attend::vectors {
namespace {

void collect(const io::Value& value, std::vector<double>& numbers, std::vector<std::int64_t>& shape, std::size_t depth = 0) {
  if (!value.is_list()) return numbers.push_back(value.as_number());
  if (shape.size() == depth) shape.push_back(static_cast<std::int64_t>(value.as_list().size()));
  for (const io::Value& item : value.as_list()) collect(item, numbers, shape, depth + 1);
}

Tensor tensor(const io::Value& nested) {
  std::vector<double> numbers;
  std::vector<std::int64_t> shape;
  collect(nested, numbers, shape);
  return reference::tensor_of(numbers, shape, at::kDouble);
}

using Problems = std::vector<std::string>;

// The texts print five digits or more, unless they give a tolerance.
reference::Tolerance tolerance(const io::Value& table, const io::Value& group) {
  for (const io::Value* place : {&table, &group})
    if (const io::Value* given = place->find("tol")) return {given->as_number(), 0};
  return reference::printed_tolerance(5);
}

Problems compare(const std::string& name, const Tensor& got, const io::Value& wanted, const reference::Tolerance& near) {
  const Tensor expected = tensor(wanted);
  if (got.sizes() != expected.sizes()) return {name + ": of another shape than the expected one"};
  const std::string problem = reference::difference(name, reference::numbers(got), reference::numbers(expected), near);
  return problem.empty() ? Problems{} : Problems{problem};
}

// One query [B, D] and keys [B, L, D], as AllenNLP has them, become [B, 1, 1, D] and [B, 1, L, D]; scores come back as [B, L].
Tensor as_query(const Tensor& vectors) { return vectors.unsqueeze(1).unsqueeze(1); }
Tensor as_keys(const Tensor& matrices) { return matrices.unsqueeze(1); }
Tensor as_rows(const Tensor& scores) { return scores.squeeze(2).squeeze(1); }

Problems allennlp_additive(const io::Value& test, const io::Value& group) {
  const Tensor query = at::matmul(tensor(test.at("vectors")), tensor(test.at("W"))),
               keys = at::matmul(tensor(test.at("matrices")), tensor(test.at("U")));
  const Tensor scores = addressing::additive_score(as_query(query), as_keys(keys), tensor(test.at("v")));
  return compare("scores", as_rows(scores), test.at("expected"), tolerance(test, group));
}

Problems allennlp_bilinear(const io::Value& test, const io::Value& group) {
  const Tensor scores = addressing::general_score(as_query(tensor(test.at("a"))), as_keys(tensor(test.at("m"))), tensor(test.at("W")));
  return compare("scores", as_rows(scores) + test.at("b").as_number(), test.at("expected"), tolerance(test, group));
}

Problems allennlp_scaled_dot(const io::Value& test, const io::Value& group) {
  const Tensor scores =
      addressing::dot_score(as_query(tensor(test.at("a"))), as_keys(tensor(test.at("m"))), 1 / std::sqrt(test.at("scale").as_number()));
  return compare("scores", as_rows(scores), test.at("expected"), tolerance(test, group));
}

Problems allennlp_cosine(const io::Value& test, const io::Value& group) {
  const Tensor scores = addressing::cosine_score(as_query(tensor(test.at("a"))), as_keys(tensor(test.at("m"))));
  return compare("scores", as_rows(scores), test.at("expected"), tolerance(test, group));
}

// What Keras calls scores are the weights.
Problems compare_keras(const AttentionResult& result, const io::Value& test, const io::Value& group) {
  Problems problems = compare("output", result.context.squeeze(1), test.at("output"), tolerance(test, group));
  const Problems of_weights = compare("weights", result.weights.squeeze(1), test.at("scores"), tolerance(test, group));
  problems.insert(problems.end(), of_weights.begin(), of_weights.end());
  return problems;
}

Problems keras_dot(const io::Value& test, const io::Value& group) {
  const Tensor query = as_keys(tensor(group.at("q"))), key = as_keys(tensor(group.at("k"))), value = as_keys(tensor(group.at("v")));
  addressing::DotProductOptions options{.scale = 1.0};
  options.read.return_weights = true;
  return compare_keras(addressing::dot_product(query, key, value, {}, options), test, group);
}

Problems keras_additive(const io::Value& test, const io::Value& group) {
  const Tensor query = as_keys(tensor(group.at("q"))), key = as_keys(tensor(group.at("k"))), value = as_keys(tensor(group.at("v")));
  addressing::ReadOptions options;
  options.return_weights = true;
  return compare_keras(addressing::additive(query, key, value, at::ones({query.size(3)}, query.options()), {}, options), test, group);
}

// Beams [time][beam], each step with its parent's place; a step that is negative is past the last one. Expected are the sequences that end in each beam of the last
// step, with the end token behind the first end, and behind what has none.
Problems gather_tree(const io::Value& test, const io::Value& group) {
  const io::Value::List &tokens = test.at("step_ids").as_list(), &parents = test.at("parent_ids").as_list();
  const auto steps = static_cast<std::size_t>(test.at("max_len").as_integer());
  const std::int64_t end = test.at("end_token").as_integer();
  decode::BackTrace trace;
  std::vector<std::int64_t> last;
  for (std::size_t t = 0; t < steps; ++t) {
    std::vector<std::int64_t> numbers;
    for (std::size_t beam = 0; beam < tokens.at(t).as_list().size(); ++beam) {
      const auto parent = static_cast<std::size_t>(parents.at(t).as_list().at(beam).as_integer());
      numbers.push_back(trace.add({tokens.at(t).as_list().at(beam).as_integer(), t == 0 ? decode::BackTrace::root : last.at(parent)}));
    }
    last = numbers;
  }
  const auto beams = static_cast<std::int64_t>(last.size());
  Tensor got = at::full({static_cast<std::int64_t>(tokens.size()), beams}, static_cast<double>(end), at::kDouble);
  for (std::int64_t beam = 0; beam < beams; ++beam) {
    const std::vector<decode::BackTrace::Node> path = trace.path(last[static_cast<std::size_t>(beam)]);
    for (std::size_t t = 0; t < path.size() && path[t].token != end; ++t) got[static_cast<std::int64_t>(t)][beam] = static_cast<double>(path[t].token);
  }
  return compare("sequences", got, test.at("expected"), tolerance(test, group));
}

struct SmallCase {
  const char* name;
  Problems (*check)(const io::Value& test, const io::Value& group);  // null where the mechanism isn't built
};

constexpr SmallCase small_cases[] = {
    {"allennlp.additive", allennlp_additive},
    {"allennlp.bilinear", allennlp_bilinear},
    {"allennlp.scaled_dot", allennlp_scaled_dot},
    {"allennlp.linear", nullptr},
    {"allennlp.cosine", allennlp_cosine},
    {"keras.dot", keras_dot},
    {"keras.additive_noscale", keras_additive},
    {"gather_tree", gather_tree},
};

void run_small_case(Tally& tally, const std::string& name, const io::Value& test, const io::Value& group) {
  const auto* found =
      std::find_if(std::begin(small_cases), std::end(small_cases), [&](const SmallCase& known) { return name == known.name; });
  if (found == std::end(small_cases)) {
    tally.run(name, []() -> Problems { return {"not understood: no adapter knows this case"}; });
  } else if (found->check == nullptr) {
    tally.not_built.push_back(name);
  } else {
    tally.run(name, [&] { return found->check(test, group); });
  }
}

}  // namespace

std::optional<Tally> run_small_attention(const std::filesystem::path& vectors) {
  const std::filesystem::path path = vectors / "small-attention.json";
  if (!std::filesystem::exists(path)) return std::nullopt;
  Tally tally;
  io::Value groups;
  try {
    groups = io::parse_json(io::read_file(path), path.string());
  } catch (const Error& error) {
    tally.run(path.filename().string(), [&]() -> Problems { return {std::string("not understood: ") + error.what()}; });
    return tally;
  }
  for (const auto& [group_name, group] : groups.as_table()) {
    const bool one_case = group.find("expected") != nullptr;
    if (one_case) run_small_case(tally, group_name, group, group);
    for (const auto& [name, test] : group.as_table())
      if (!one_case && test.is_table()) run_small_case(tally, group_name + "." + name, test, group);
  }
  return tally;
}

}  // namespace attend::vectors
