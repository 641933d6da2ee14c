// Keras's Attention and AdditiveAttention, context, weights and gradients.
#include "attend/addressing/additive.h"
#include "attend/addressing/dot_product.h"
#include "attend/base/error.h"
#include "tests/reference/tensors.h"
#include "tests/vectors/vector_set.h"

namespace attend::vectors {
namespace {

struct KerasCall {
  Tensor query, key, value;  // [B, 1, L, D]
  Mask mask;
  bool additive = false;
  Tensor additive_weight;  // [D]
  double dot_scale = 1;
};

Mask keras_mask(Case& from) {
  std::vector<std::int64_t> lengths;
  const io::Value list = from.attribute("value_lengths");
  for (const io::Value& length : list.as_list()) lengths.push_back(length.as_integer());
  Mask mask = Mask::lengths(at::tensor(lengths, at::kLong));
  return from.attribute("causal").as_bool() ? mask & Mask::causal(Align::upper_left) : mask;
}

// Scores: dot `scale · q·k`; concat `weight · Σ tanh(q + k)`; additive `Σ scale ⊙ tanh(q + k)`.
KerasCall read_call(Case& from, const std::string& op) {
  KerasCall call;
  call.mask = keras_mask(from);
  for (const auto& [name, tensor] : {std::pair{"query", &call.query}, {"key", &call.key}, {"value", &call.value}})
    *tensor = from.required_tensor(std::string("input.") + name).set_requires_grad(true);
  const io::Value mode = from.attribute("score_mode");
  from.attribute("use_scale");  // what counts is whether there is one
  const Tensor one = at::ones({}, call.query.options().requires_grad(false));
  const Tensor scale = from.tensor("parameter.scale").value_or(one);
  if (op == "AdditiveAttention") {
    call.additive = true;
    call.additive_weight = scale.expand({call.query.size(2)});
  } else if (mode.is_null() || mode.as_text() == "dot") {
    call.dot_scale = scale.item<double>();
  } else if (mode.as_text() == "concat") {
    call.additive = true;
    call.additive_weight = (from.tensor("parameter.concat_score_weight").value_or(one) * scale).expand({call.query.size(2)});
  } else {
    throw InvalidData("not understood: score_mode \"" + mode.as_text() + "\"");
  }
  return call;
}

AttentionResult attend_as_keras(const KerasCall& call) {
  const Tensor query = call.query.unsqueeze(1), key = call.key.unsqueeze(1), value = call.value.unsqueeze(1);
  addressing::ReadOptions read;
  read.return_weights = true;
  return call.additive ? addressing::additive(query, key, value, call.additive_weight, call.mask, read)
                       : addressing::dot_product(query, key, value, call.mask, {.scale = call.dot_scale, .read = read});
}

}  // namespace

std::vector<std::string> check_keras(const io::SafetensorsFile& file) {
  const std::string& op = file.meta("op");
  if (op != "Attention" && op != "AdditiveAttention") throw InvalidData("not understood: op \"" + op + "\"");
  Case from(file);
  const KerasCall call = read_call(from, op);
  const AttentionResult result = attend_as_keras(call);
  const std::int64_t Lk = call.key.size(1);
  reference::Type coarsest = reference::Type::float64;
  Tensor loss = at::zeros({}, at::kDouble);
  for (const auto& [name, tensor] : {std::pair{"context", result.context}, {"weights", result.weights}}) {
    const Tensor wanted = from.required_tensor(std::string("output.") + name), got = tensor.squeeze(1);
    // Keras took some steps in float32
    if (wanted.scalar_type() == at::kFloat) coarsest = reference::Type::float32;
    from.expect(name, got.to(wanted.scalar_type()), wanted, reference::tolerance(reference::type_of(wanted), Lk));
    loss = loss + (got * from.required_tensor(std::string("cotangent.") + name).to(at::kDouble)).sum();
  }
  loss.backward();
  for (const auto& [name, tensor] : {std::pair{"query", call.query}, {"key", call.key}, {"value", call.value}})
    from.expect(std::string("gradient of ") + name, tensor.grad(), from.required_tensor(std::string("gradient.") + name),
                reference::gradient_tolerance(coarsest, Lk));
  return from.finish();
}

}  // namespace attend::vectors
