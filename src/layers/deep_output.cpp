#include "attend/layers/deep_output.h"

#include "attend/core/shapes.h"
#include "core/fused_operation.h"
#include "kernels/maxout.h"
#include "layers/maxout.h"
#include "layers/packed_weight.h"
#include "layers/weight_gradients.h"

namespace attend::layers {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr auto deep_name = "attend::layers::deep_output";

void check(const DeepOutputInput& input) {
  check_shape(deep_name, "states", input.states, {{"B"}, {"L"}, {"D"}});
  const std::int64_t B = input.states.size(0), L = input.states.size(1), D = input.states.size(2);
  check_shape(deep_name, "tokens", input.tokens, {{"B", B}, {"L", L}, {"E"}});
  check_shape(deep_name, "contexts", input.contexts, {{"B", B}, {"L", L}, {"M"}});
  check_shape(deep_name, "state_weight", input.state_weight, {{"2l"}, {"D", D}});
  const std::int64_t pairs = input.state_weight.size(0);
  if (pairs % 2 != 0)
    throw InvalidArgument(format("{}: expected state_weight [2l, D] with an even number of rows, got {}", deep_name, shape_text(input.state_weight)));
  check_shape(deep_name, "token_weight", input.token_weight, {{"2l", pairs}, {"E", input.tokens.size(2)}});
  check_shape(deep_name, "context_weight", input.context_weight, {{"2l", pairs}, {"M", input.contexts.size(2)}});
  check_shape(deep_name, "bias", input.bias, {{"2l", pairs}});
  check_floating(deep_name, "states", input.states);
  const std::pair<const char*, const Tensor*> others[] = {{"tokens", &input.tokens}, {"contexts", &input.contexts}, {"state_weight", &input.state_weight},
                                                          {"token_weight", &input.token_weight}, {"context_weight", &input.context_weight},
                                                          {"bias", &input.bias}};
  for (const auto& [name, tensor] : others) check_matches(deep_name, name, *tensor, "states", input.states);
}

// --- composed ------------------------------------------------------------------------------------------------------------------------

Tensor composed_deep_output(const DeepOutputInput& input) {
  return maxout(at::linear(input.states, input.state_weight, input.bias) + at::linear(input.tokens, input.token_weight) +
                at::linear(input.contexts, input.context_weight));                                // [B, L, l]
}

// --- fused ---------------------------------------------------------------------------------------------------------------------------

// Batch first as they are given, steps first as rows are taken. [B, L, width] ↔ [L, B, width]
Tensor other_first(const Tensor& tensor) { return tensor.transpose(0, 1); }

struct DeepResult {
  Tensor largest;  // t [B, L, l]
  Tensor second;   // [L, B, l]: 1 where t is the second of its pair, else 0
};

template <class T>
DeepResult fused_deep_output(const DeepOutputInput& input) {
  const std::int64_t B = input.states.size(0), L = input.states.size(1), pairs = input.bias.size(0), l = pairs / 2;
  const DeepResult result = {at::empty({B, L, l}, input.states.options()), at::empty({L, B, l}, input.states.options())};
  const Steps<T> states(other_first(input.states)), tokens(other_first(input.tokens)), contexts(other_first(input.contexts));
  const Steps<T> largest(other_first(result.largest)), second(result.second);
  const auto of_state = PackedWeight<T>::forward(input.state_weight, L), of_token = PackedWeight<T>::forward(input.token_weight, L),
             of_context = PackedWeight<T>::forward(input.context_weight, L);
  const Rows<T> bias = {input.bias.data_ptr<T>(), 0};
  for_row_blocks(B, L, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t count = end - begin;
    const Rows<T> sum = {thread_scratch<T>(count * pairs), pairs};                                // t̃ of a step
    for (std::int64_t i = 0; i < L; ++i) {
      of_state.multiply(count, states.rows(i, begin), bias, sum);
      of_token.multiply(count, tokens.rows(i, begin), sum, sum);
      of_context.multiply(count, contexts.rows(i, begin), sum, sum);
      for (std::int64_t row = begin; row < end; ++row)
        kernels::maxout_forward(l, kernels::MaxoutForward<T>{sum.data + (row - begin) * pairs, largest.at(i, row), second.at(i, row)});
    }
  });
  return result;
}

template <class T>
variable_list fused_deep_gradients(const DeepOutputInput& input, const Tensor& second, const Tensor& gradient) {
  const std::int64_t B = input.states.size(0), L = input.states.size(1), pairs = input.bias.size(0);
  const auto empty = [&](std::int64_t width) { return at::empty({L, B, width}, input.states.options()); };
  const Tensor of_sums = empty(pairs), of_states = empty(input.states.size(2)), of_tokens = empty(input.tokens.size(2)),
               of_contexts = empty(input.contexts.size(2));
  const Steps<T> seconds(second), given(other_first(gradient)), sums(of_sums), states(of_states), tokens(of_tokens), contexts(of_contexts);
  const auto to_state = PackedWeight<T>::backward(input.state_weight, L), to_token = PackedWeight<T>::backward(input.token_weight, L),
             to_context = PackedWeight<T>::backward(input.context_weight, L);
  for_row_blocks(B, L, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t count = end - begin;
    for (std::int64_t i = 0; i < L; ++i) {
      for (std::int64_t row = begin; row < end; ++row)
        kernels::maxout_backward(pairs / 2, kernels::MaxoutBackward<T>{seconds.at(i, row), given.at(i, row), sums.at(i, row)});
      to_state.multiply(count, sums.rows(i, begin), {}, states.rows(i, begin));                   // [B, 2l] × [2l, D]
      to_token.multiply(count, sums.rows(i, begin), {}, tokens.rows(i, begin));
      to_context.multiply(count, sums.rows(i, begin), {}, contexts.rows(i, begin));
    }
  });
  const Tensor of_state_weight = empty_gradient(input.state_weight), of_token_weight = empty_gradient(input.token_weight),
               of_context_weight = empty_gradient(input.context_weight);
  fill_weight_gradients(of_sums, {{0, pairs, other_first(input.states), of_state_weight},
                                  {0, pairs, other_first(input.tokens), of_token_weight},
                                  {0, pairs, other_first(input.contexts), of_context_weight}});
  return {other_first(of_states), other_first(of_tokens), other_first(of_contexts), of_state_weight, of_token_weight, of_context_weight,
          bias_gradient(of_sums)};
}

DeepOutputInput deep_input_of(const variable_list& given) { return {given[0], given[1], given[2], given[3], given[4], given[5], given[6]}; }

// Inputs in the order of DeepOutputInput.
class FusedDeepOutput : public torch::autograd::Function<FusedDeepOutput> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& states, const Tensor& tokens, const Tensor& contexts, const Tensor& state_weight,
                        const Tensor& token_weight, const Tensor& context_weight, const Tensor& bias) {
    variable_list saved = {states, tokens, contexts, state_weight, token_weight, context_weight, bias};
    const DeepOutputInput input = deep_input_of(saved);
    const DeepResult result = states.scalar_type() == at::kDouble ? fused_deep_output<double>(input) : fused_deep_output<float>(input);
    saved.push_back(result.second);
    context->save_for_backward(saved);
    return result.largest;
  }

  static variable_list backward(AutogradContext* context, variable_list output_gradients) {
    const variable_list saved = context->get_saved_variables();
    const DeepOutputInput input = deep_input_of(saved);
    const Tensor& second = saved.back();
    const Tensor gradient = with_whole_rows(output_gradients[0]);
    if (at::GradMode::is_enabled())
      return differentiable_gradients({composed_deep_output(input)}, {gradient}, {saved.begin(), saved.end() - 1});
    return gradient.scalar_type() == at::kDouble ? fused_deep_gradients<double>(input, second, gradient) : fused_deep_gradients<float>(input, second, gradient);
  }
};

}  // namespace

Tensor deep_output(const DeepOutputInput& input, Path path) {
  check(input);
  const bool possible = has_kernels(input.states);
  if (path == Path::fused && !possible)
    throw NotSupported(format("{}: path \"fused\" needs float32 or float64 on the CPU; use \"automatic\" or \"composed\"", deep_name));
  if (path == Path::composed || !possible) return composed_deep_output(input);
  return FusedDeepOutput::apply(with_whole_rows(input.states), with_whole_rows(input.tokens), with_whole_rows(input.contexts), input.state_weight.contiguous(),
                                input.token_weight.contiguous(), input.context_weight.contiguous(), input.bias.contiguous());
}

}  // namespace attend::layers
