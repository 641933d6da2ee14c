// The ONNX operator `Attention` (opset 23 and later) in terms of attend's public functions.
#include <limits>

#include "attend/addressing/dot_product.h"
#include "attend/addressing/scores/dot.h"
#include "attend/base/error.h"
#include "tests/reference/tensors.h"
#include "tests/vectors/vector_set.h"

namespace attend::vectors {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

// Places of the operator's inputs and outputs; a file gives the names that stand there.
enum Input { Q, K, V, attn_mask, past_key, past_value, nonpad_kv_seqlen, input_count };
enum Output { Y, present_key, present_value, qk_matmul_output, output_count };

struct Attributes {
  std::int64_t q_num_heads = 0, kv_num_heads = 0, is_causal = 0, qk_matmul_output_mode = 0;
  std::optional<double> scale;
  double softcap = 0;
  reference::Type softmax_precision = reference::Type::float64;
};

reference::Type precision_of(std::int64_t onnx_type) {
  switch (onnx_type) {
    case 1:
      return reference::Type::float32;
    case 10:
      return reference::Type::float16;
    case 11:
      return reference::Type::float64;
    case 16:
      return reference::Type::bfloat16;
    default:
      throw InvalidData(format("not understood: softmax_precision {}", onnx_type));
  }
}

Attributes read_attributes(Case& from) {
  Attributes to;
  const auto read = [&](const char* name, std::int64_t& value) {
    if (const io::Value found = from.attribute(name); !found.is_null()) value = found.as_integer();
  };
  read("q_num_heads", to.q_num_heads);
  read("kv_num_heads", to.kv_num_heads);
  read("is_causal", to.is_causal);
  read("qk_matmul_output_mode", to.qk_matmul_output_mode);
  if (const io::Value scale = from.attribute("scale"); !scale.is_null()) to.scale = scale.as_number();
  if (const io::Value softcap = from.attribute("softcap"); !softcap.is_null()) to.softcap = softcap.as_number();
  if (const io::Value type = from.attribute("softmax_precision"); !type.is_null()) to.softmax_precision = precision_of(type.as_integer());
  return to;
}

// [B, L, H·D] → [B, H, L, D]
Tensor split_heads(const Tensor& tensor, std::int64_t heads) {
  if (tensor.dim() == 4) return tensor;
  if (tensor.dim() != 3 || heads < 1) throw InvalidData("not understood: three dimensions without a number of heads");
  return tensor.view({tensor.size(0), tensor.size(1), heads, -1}).transpose(1, 2);
}

class OnnxAttention {
 public:
  explicit OnnxAttention(const io::SafetensorsFile& file) : case_(file) {
    attributes_ = read_attributes(case_);
    read_inputs();
  }

  std::vector<std::string> check() {
    const Mask mask = this->mask();
    addressing::DotProductOptions options{.scale = attributes_.scale};
    options.read.soft_cap = attributes_.softcap;
    options.read.return_weights = true;
    AttentionResult result = addressing::dot_product(query_, key_, value_, mask, options);
    const std::vector<std::string> names = case_.names("node_outputs");
    if (names.empty() || names.size() > output_count) case_.fail("not understood: node_outputs");
    for (std::size_t place = 0; place < names.size() && place < output_count; ++place)
      if (!names[place].empty()) expect(place, case_.required_tensor("output." + names[place]), result, mask);
    for (const Tensor& context : fused_contexts(mask, options)) {
      result.context = context;
      if (!names[0].empty()) expect(0, case_.required_tensor("output." + names[0]), result, mask);
    }
    return case_.finish();
  }

 private:
  void read_inputs();
  Mask mask() const;
  Mask causal() const;
  Tensor scores(const AttentionResult& result, const Mask& mask) const;
  std::vector<Tensor> fused_contexts(const Mask& mask, addressing::DotProductOptions options) const;
  void expect(std::size_t place, const Tensor& wanted, const AttentionResult& result, const Mask& mask);

  Case case_;
  Attributes attributes_;
  std::optional<Tensor> inputs_[input_count];
  bool three_dimensional_ = false;
  Tensor query_, key_, value_;  // [B, H, L, D], the past before the new keys and values
};

void OnnxAttention::read_inputs() {
  const std::vector<std::string> names = case_.names("node_inputs");
  if (names.size() < 3 || names.size() > input_count) throw InvalidData("not understood: node_inputs");
  for (std::size_t place = 0; place < names.size(); ++place)
    if (!names[place].empty()) inputs_[place] = case_.required_tensor("input." + names[place]);
  for (const Input place : {Q, K, V})
    if (!inputs_[place]) throw InvalidData("not understood: an input is missing");
  three_dimensional_ = inputs_[Q]->dim() == 3;
  query_ = split_heads(*inputs_[Q], attributes_.q_num_heads);
  key_ = split_heads(*inputs_[K], attributes_.kv_num_heads);
  value_ = split_heads(*inputs_[V], attributes_.kv_num_heads);
  if (inputs_[past_key]) key_ = at::cat({*inputs_[past_key], key_}, 2);
  if (inputs_[past_value]) value_ = at::cat({*inputs_[past_value], value_}, 2);
}

// Without weights: of the kernel for steps where there are few queries, and of the one that gradients take.
std::vector<Tensor> OnnxAttention::fused_contexts(const Mask& mask, addressing::DotProductOptions options) const {
  options.read.path = Path::fused;
  options.read.return_weights = false;
  const Tensor differentiable = query_.detach().clone().set_requires_grad(true);
  return {addressing::dot_product(query_, key_, value_, mask, options).context, addressing::dot_product(differentiable, key_, value_, mask, options).context.detach()};
}

// Query i sees keys j ≤ i + P, P the keys that came before this call.
Mask OnnxAttention::causal() const {
  const std::int64_t Lq = query_.size(2), Lk = key_.size(2);
  if (!inputs_[past_key] && inputs_[nonpad_kv_seqlen]) {  // a cache that the caller keeps: P differs from row to row of the batch
    const Tensor past = inputs_[nonpad_kv_seqlen]->to(at::kLong).view({-1, 1, 1, 1}) - Lq;
    return Mask::keep(at::arange(Lk, at::kLong).view({1, 1, 1, Lk}) <= at::arange(Lq, at::kLong).view({1, 1, Lq, 1}) + past);
  }
  const std::int64_t past = inputs_[past_key] ? inputs_[past_key]->size(2) : 0;
  if (past == 0) return Mask::causal(Align::upper_left);
  if (past == Lk - Lq) return Mask::causal(Align::lower_right);
  return Mask::band(Lq + Lk, past, Align::upper_left);
}

Mask OnnxAttention::mask() const {
  Mask result;
  if (attributes_.is_causal != 0) result = result & causal();
  if (inputs_[nonpad_kv_seqlen]) result = result & Mask::lengths(inputs_[nonpad_kv_seqlen]->to(at::kLong));
  if (!inputs_[attn_mask]) return result;
  Tensor given = *inputs_[attn_mask];
  while (given.dim() < 4) given = given.unsqueeze(0);  // NumPy's broadcasting
  const bool boolean = given.scalar_type() == at::kBool;
  if (given.size(3) < key_.size(2)) {  // a short mask hides the keys that it doesn't reach
    std::vector<std::int64_t> rest = given.sizes().vec();
    rest[3] = key_.size(2) - given.size(3);
    given = at::cat({given, at::full(rest, boolean ? 0 : minus_infinity, given.options())}, 3);
  }
  return result & (boolean ? Mask::keep(given) : Mask::bias(given));
}

// qk_matmul_output_mode: 0 scaled products, 1 after the soft cap, 2 after the mask as well, 3 the weights.
Tensor OnnxAttention::scores(const AttentionResult& result, const Mask& mask) const {
  const std::int64_t mode = attributes_.qk_matmul_output_mode;
  if (mode < 0 || mode > 3) throw InvalidData(format("not understood: qk_matmul_output_mode {}", mode));
  if (mode == 3) return result.weights;
  const bool half = query_.scalar_type() == at::kHalf || query_.scalar_type() == at::kBFloat16;
  const Tensor query = half ? query_.to(at::kFloat) : query_, key = half ? key_.to(at::kFloat) : key_;
  Tensor scores = addressing::dot_score(query, key, attributes_.scale.value_or(1 / std::sqrt(static_cast<double>(query.size(3)))));
  if (mode >= 1 && attributes_.softcap > 0) scores = (scores / attributes_.softcap).tanh() * attributes_.softcap;
  if (mode == 2) {
    const Mask::Tensors parts = mask.tensors("vectors", {query.size(0), query.size(1), query.size(2), key.size(2)}, query);
    if (parts.bias) scores = scores + *parts.bias;
    if (parts.keep) scores = scores.masked_fill(parts.keep->logical_not(), minus_infinity);
  }
  return scores.to(query_.scalar_type());
}

void OnnxAttention::expect(std::size_t place, const Tensor& wanted, const AttentionResult& result, const Mask& mask) {
  const reference::Tolerance stored = reference::stepwise_tolerance(reference::type_of(query_), key_.size(2));
  const reference::Tolerance normalised = reference::stepwise_tolerance(attributes_.softmax_precision, key_.size(2));
  const reference::Tolerance near{stored.absolute + normalised.absolute, stored.relative + normalised.relative};
  switch (place) {
    case Y: {
      const Tensor context = three_dimensional_ ? result.context.transpose(1, 2).flatten(2) : result.context;
      return case_.expect("Y", context, wanted, near);
    }
    case present_key:
      return case_.expect("present_key", key_, wanted, {});
    case present_value:
      return case_.expect("present_value", value_, wanted, {});
    default:
      return case_.expect("qk_matmul_output", scores(result, mask), wanted, near);
  }
}

}  // namespace

std::vector<std::string> check_onnx_attention(const io::SafetensorsFile& file) { return OnnxAttention(file).check(); }

}  // namespace attend::vectors
