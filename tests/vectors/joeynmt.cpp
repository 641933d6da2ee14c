// Joey NMT's Bahdanau and Luong attention, context, weights and gradients, by the module Attention.
#include "attend/base/error.h"
#include "tests/vectors/attention_module.h"

namespace attend::vectors {

std::vector<std::string> check_joeynmt(const io::SafetensorsFile& file) {
  const std::string& op = file.meta("op");
  if (op != "BahdanauAttention" && op != "LuongAttention") throw InvalidData("not understood: op \"" + op + "\"");
  Case from(file);
  ModuleCase module(from, "query", "value");
  if (op == "BahdanauAttention") {
    module.make(addressing::Score::additive, from.required_tensor("parameter.query_layer.weight").size(0));
    module.load("query_projection", "query_layer.weight");
    module.load("key_projection", "key_layer.weight");
    module.load("energy", "energy_layer.weight", [](const Tensor& theirs) { return theirs.squeeze(0); });
    module.clear("bias");
  } else {
    module.make(addressing::Score::general);
    module.load("weight", "key_layer.weight");  // q · (W k)
  }
  const AttentionResult result = module.run();
  module.expect("context", result.context);
  module.expect("weights", result.weights.squeeze(1));
  module.expect_gradients();
  return from.finish();
}

}  // namespace attend::vectors
