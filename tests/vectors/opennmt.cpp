// OpenNMT's global attention, attentional vector, weights and gradients, by the module Attention.
#include "attend/base/error.h"
#include "tests/vectors/attention_module.h"

namespace attend::vectors {
namespace {

Tensor transposed(const Tensor& tensor) { return tensor.t(); }

void load_score(ModuleCase& module, Case& from, const std::string& score) {
  if (score == "dot") {
    module.make(addressing::Score::dot);
  } else if (score == "general") {
    module.make(addressing::Score::general);
    module.load("weight", "linear_in.weight", transposed);  // (W q) · k
  } else if (score == "mlp") {
    module.make(addressing::Score::additive, from.required_tensor("parameter.linear_query.weight").size(0));
    module.load("query_projection", "linear_query.weight");
    module.load("bias", "linear_query.bias");
    module.load("key_projection", "linear_context.weight");
    module.load("energy", "v.weight", [](const Tensor& theirs) { return theirs.squeeze(0); });
  } else {
    throw InvalidData("not understood: score \"" + score + "\"");
  }
}

}  // namespace

std::vector<std::string> check_opennmt(const io::SafetensorsFile& file) {
  if (file.meta("op") != "GlobalAttention") throw InvalidData("not understood: op \"" + file.meta("op") + "\"");
  Case from(file);
  ModuleCase module(from, "query", "memory");
  const std::string score = from.attribute("score").as_text();
  load_score(module, from, score);
  // coverage is what was read before: it is mixed into the memory, and attention goes on as ever with the first query
  if (from.attribute("coverage").as_bool()) {
    const Tensor cover = module.leaf("coverage").unsqueeze(2), weight = module.parameter("linear_cover.weight");
    module.memory = (module.memory + at::matmul(cover, weight.t())).tanh();                       // [B, Lk, D]
    module.query = module.query.narrow(1, 0, 1);
  }
  const AttentionResult result = module.run();
  Tensor output = at::matmul(at::cat({result.context, module.query}, 2), module.parameter("linear_out.weight").t());  // [B, Lq, D]
  if (score == "mlp") {
    output = output + module.parameter("linear_out.bias");
  } else {
    output = output.tanh();
  }
  module.expect("output", output);
  module.expect("weights", result.weights.squeeze(1));
  module.expect_gradients();
  return from.finish();
}

}  // namespace attend::vectors
