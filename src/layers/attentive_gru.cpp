#include "attend/layers/attentive_gru.h"

#include <vector>

#include "attend/addressing/additive.h"
#include "attend/core/shapes.h"
#include "attend/layers/recurrent.h"
#include "core/fused_operation.h"
#include "kernels/additive.h"
#include "kernels/recurrent_cell.h"

namespace attend::layers {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr auto attentive_name = "attend::layers::attentive_gru";

void check(const AttentiveGruInput& input) {
  check_shape(attentive_name, "first", input.first, {{"B"}, {"D"}});
  const std::int64_t B = input.first.size(0), D = input.first.size(1);
  check_shape(attentive_name, "projected", input.projected, {{"B", B}, {"L"}, {"3D", 3 * D}});
  check_shape(attentive_name, "keys", input.keys, {{"B", B}, {"Lk"}, {"A"}});
  check_shape(attentive_name, "memory", input.memory, {{"B", B}, {"Lk", input.keys.size(1)}, {"M"}});
  const std::int64_t A = input.keys.size(2), M = input.memory.size(2);
  check_shape(attentive_name, "query_weight", input.query_weight, {{"A", A}, {"D", D}});
  check_shape(attentive_name, "energy", input.energy, {{"A", A}});
  check_shape(attentive_name, "context_weight", input.context_weight, {{"3D", 3 * D}, {"M", M}});
  check_shape(attentive_name, "state_weight", input.state_weight, {{"3D", 3 * D}, {"D", D}});
  check_floating(attentive_name, "projected", input.projected);
  const std::pair<const char*, const Tensor*> others[] = {{"first", &input.first}, {"keys", &input.keys}, {"memory", &input.memory},
                                                          {"query_weight", &input.query_weight}, {"energy", &input.energy},
                                                          {"context_weight", &input.context_weight}, {"state_weight", &input.state_weight}};
  for (const auto& [name, tensor] : others) check_matches(attentive_name, name, *tensor, "projected", input.projected);
  if (input.projected.size(1) < 1 || input.keys.size(1) < 1)
    throw InvalidArgument(format("{}: expected at least one step and one key, got projected {} and keys {}", attentive_name,
                                 shape_text(input.projected), shape_text(input.keys)));
}

// int64 [B] on the device of the input.
Tensor checked_lengths(const AttentiveGruInput& input) {
  const std::int64_t B = input.keys.size(0), Lk = input.keys.size(1);
  if (!input.lengths.defined()) return at::full({B}, Lk, input.keys.options().dtype(at::kLong));
  check_shape(attentive_name, "lengths", input.lengths, {{"B", B}});
  if (input.lengths.scalar_type() != at::kLong)
    throw InvalidArgument(format("{}: expected lengths of type int64, got {}", attentive_name, at::toString(input.lengths.scalar_type())));
  if (B == 0) return input.lengths;
  const auto least = input.lengths.min().item<std::int64_t>(), most = input.lengths.max().item<std::int64_t>();
  if (least < 1 || most > Lk)
    throw InvalidArgument(format("{}: expected lengths from 1 to Lk = {}, got {} to {}", attentive_name, Lk, least, most));
  return input.lengths;
}

// --- composed ------------------------------------------------------------------------------------------------------------------------

AttentiveGruResult composed(const AttentiveGruInput& input) {
  const std::int64_t steps = input.projected.size(1);
  const Mask mask = Mask::lengths(input.lengths);
  const Tensor no_bias = at::zeros({input.state_weight.size(0)}, input.projected.options());
  addressing::ReadOptions how;
  how.return_weights = true;
  how.path = Path::composed;
  std::vector<Tensor> states{input.first}, contexts, weights;
  for (std::int64_t i = 0; i < steps; ++i) {
    const Tensor before = states.back();                                                          // s_{i−1} [B, D]
    const Tensor query = at::matmul(before, input.query_weight.t());                              // [B, A]
    const AttentionResult read = addressing::additive(query.unsqueeze(1).unsqueeze(1), input.keys.unsqueeze(1), input.memory.unsqueeze(1),
                                                      input.energy, mask, how);
    contexts.push_back(read.context.squeeze(1).squeeze(1));                                       // c_i [B, M]
    weights.push_back(read.weights.squeeze(1).squeeze(1));                                        // α_i [B, Lk]
    if (i + 1 == steps) break;
    const Tensor x = input.projected.select(1, i) + at::matmul(contexts.back(), input.context_weight.t());  // [B, 3D]
    states.push_back(gru_step(x, before, input.state_weight, no_bias, Reset::before));
  }
  return {at::stack(states, 1), at::stack(contexts, 1), at::stack(weights, 1).detach()};
}

// --- fused ---------------------------------------------------------------------------------------------------------------------------

struct AttentiveSizes {
  std::int64_t steps, batch, state, keys, hidden, memory;  // L, B, D, Lk, A, M
  explicit AttentiveSizes(const AttentiveGruInput& input)
      : steps(input.projected.size(1)), batch(input.first.size(0)), state(input.first.size(1)), keys(input.keys.size(1)),
        hidden(input.keys.size(2)), memory(input.memory.size(2)) {}
  std::int64_t of_state() const { return hidden + 2 * state; }  // columns of the products that take s as it is
  std::int64_t products() const { return hidden + 3 * state; }
};

// What the forward pass leaves for the backward one, in the order of steps.
struct AttentiveTrace {
  Tensor states;        // [L, B, D]
  Tensor contexts;      // [L, B, M]
  Tensor weights;       // [L, B, Lk]
  Tensor products;      // [L, B, A + 3D]: W_a s, U s of r and z, U (r ∘ s) of n
  Tensor gates;         // [L − 1, B, 3D]
  Tensor reset_states;  // [L − 1, B, D]: r ∘ s
  Tensor exponentials;  // [B, Lk, A]
  Tensor fits;          // bool [B]: whether the row's exponentials are of use
};

kernels::AdditiveSizes row_sizes(const AttentiveSizes& sizes, const Tensor& lengths, std::int64_t row) {
  return {lengths.data_ptr<std::int64_t>()[row], sizes.hidden, sizes.memory};
}

template <class T>
void take_exponentials(const AttentiveGruInput& input, const AttentiveSizes& sizes, AttentiveTrace& trace) {
  const std::int64_t width = sizes.keys * sizes.hidden;
  const T* keys = input.keys.data_ptr<T>();
  T* out = trace.exponentials.data_ptr<T>();
  bool* fits = trace.fits.data_ptr<bool>();
  for_rows(sizes.batch, width, [&](std::int64_t row) {
    const std::int64_t count = input.lengths.data_ptr<std::int64_t>()[row] * sizes.hidden;
    fits[row] = kernels::doubled_exponentials(count, keys + row * width, out + row * width);
  });
}

template <class T>
const T* exponentials_of(const AttentiveSizes& sizes, const AttentiveTrace& trace, std::int64_t row) {
  return trace.fits.data_ptr<bool>()[row] ? trace.exponentials.data_ptr<T>() + row * sizes.keys * sizes.hidden : nullptr;
}

// The read of step i: α_i and c_i of all rows.
template <class T>
void read_memory(const AttentiveGruInput& input, const AttentiveSizes& sizes, AttentiveTrace& trace, std::int64_t i) {
  const T* query = trace.products.data_ptr<T>() + i * sizes.batch * sizes.products();
  T* weights = trace.weights.data_ptr<T>() + i * sizes.batch * sizes.keys;
  T* contexts = trace.contexts.data_ptr<T>() + i * sizes.batch * sizes.memory;
  for_rows(sizes.batch, sizes.keys * (sizes.hidden + sizes.memory), [&](std::int64_t row) {
    kernels::additive_forward(
        row_sizes(sizes, input.lengths, row),
        kernels::AdditiveForward<T>{query + row * sizes.products(), input.keys.data_ptr<T>() + row * sizes.keys * sizes.hidden,
                                    exponentials_of<T>(sizes, trace, row), input.energy.data_ptr<T>(),
                                    input.memory.data_ptr<T>() + row * sizes.keys * sizes.memory, thread_scratch<T>(sizes.hidden), weights + row * sizes.keys,
                                    contexts + row * sizes.memory});
  });
}

// The cell of step i from x = inputs [B, 3D]: s_i into its place. The products of s are there already.
template <class T>
void run_cell(const AttentiveGruInput& input, const AttentiveSizes& sizes, const Tensor& inputs, AttentiveTrace& trace, std::int64_t i) {
  const std::int64_t D = sizes.state, width = 3 * D;
  const T* x = inputs.data_ptr<T>();
  const T* products = trace.products.data_ptr<T>() + i * sizes.batch * sizes.products() + sizes.hidden;
  const T* before = trace.states.data_ptr<T>() + i * sizes.batch * D;
  T* after = trace.states.data_ptr<T>() + (i + 1) * sizes.batch * D;
  T* gates = trace.gates.data_ptr<T>() + i * sizes.batch * width;
  T* reset = trace.reset_states.data_ptr<T>() + i * sizes.batch * D;
  for_rows(sizes.batch, width, [&](std::int64_t row) {
    kernels::gru_gates_forward(D, kernels::GruGatesForward<T>{x + row * width, products + row * sizes.products(), before + row * D,
                                                              gates + row * width, reset + row * D});
  });
  Tensor of_reset = trace.products[i].slice(1, sizes.of_state());                                 // [B, D]
  at::mm_out(of_reset, trace.reset_states[i], input.state_weight.slice(0, 2 * D).t());
  for_rows(sizes.batch, width, [&](std::int64_t row) {
    kernels::gru_candidate_forward(D, kernels::GruCandidateForward<T>{x + row * width, products + row * sizes.products(), before + row * D,
                                                                      gates + row * width, after + row * D});
  });
}

// W_a above U of r and z: what takes s as it is, in one product.
Tensor weight_of_state(const AttentiveGruInput& input) {
  return at::cat({input.query_weight, input.state_weight.slice(0, 0, 2 * input.first.size(1))});  // [A + 2D, D]
}

template <class T>
AttentiveTrace fused_forward(const AttentiveGruInput& input) {
  const AttentiveSizes sizes(input);
  const auto options = input.projected.options();
  AttentiveTrace trace;
  trace.states = at::empty({sizes.steps, sizes.batch, sizes.state}, options);
  trace.contexts = at::empty({sizes.steps, sizes.batch, sizes.memory}, options);
  trace.weights = at::zeros({sizes.steps, sizes.batch, sizes.keys}, options);
  trace.products = at::empty({sizes.steps, sizes.batch, sizes.products()}, options);
  trace.gates = at::empty({sizes.steps - 1, sizes.batch, 3 * sizes.state}, options);
  trace.reset_states = at::empty({sizes.steps - 1, sizes.batch, sizes.state}, options);
  trace.exponentials = at::empty({sizes.batch, sizes.keys, sizes.hidden}, options);
  trace.fits = at::empty({sizes.batch}, options.dtype(at::kBool));
  take_exponentials<T>(input, sizes, trace);
  trace.states[0].copy_(input.first);
  const Tensor of_state = weight_of_state(input).t(), of_context = input.context_weight.t();
  Tensor inputs = at::empty({sizes.batch, 3 * sizes.state}, options);
  for (std::int64_t i = 0; i < sizes.steps; ++i) {
    Tensor product = trace.products[i].slice(1, 0, sizes.of_state());
    at::mm_out(product, trace.states[i], of_state);                                               // [B, A + 2D]
    read_memory<T>(input, sizes, trace, i);
    if (i + 1 == sizes.steps) break;
    at::addmm_out(inputs, input.projected.select(1, i), trace.contexts[i], of_context);           // [B, 3D]
    run_cell<T>(input, sizes, inputs, trace, i);
  }
  return trace;
}

struct AttentiveGradients {
  Tensor projected, first, keys, memory, query_weight, energy, context_weight, state_weight;
};

// Of a step's cell: from the gradient of s_{i+1}, that of x_i into its columns of `row_gradients` [B, A + 3D], and into `through` that of s_i as far as it
// doesn't go through a product of s.
template <class T>
void backward_cell(const AttentiveGruInput& input, const AttentiveSizes& sizes, const AttentiveTrace& trace, std::int64_t i, const Tensor& of_state, Tensor& row_gradients,
                   Tensor& through) {
  const std::int64_t D = sizes.state, width = 3 * D, stride = sizes.products();
  const T* gates = trace.gates.data_ptr<T>() + i * sizes.batch * width;
  const T* before = trace.states.data_ptr<T>() + i * sizes.batch * D;
  const T* dh = of_state.data_ptr<T>();
  T* dx = row_gradients.data_ptr<T>() + sizes.hidden;
  T* direct = through.data_ptr<T>();
  for_rows(sizes.batch, width, [&](std::int64_t row) {
    kernels::gru_candidate_backward(D, kernels::GruCandidateBackward<T>{gates + row * width, before + row * D, dh + row * D, dx + row * stride,
                                                                        direct + row * D});
  });
  const Tensor of_reset = at::mm(row_gradients.slice(1, sizes.of_state()), input.state_weight.slice(0, 2 * D));  // [B, D]
  const T* dr = of_reset.data_ptr<T>();
  for_rows(sizes.batch, width, [&](std::int64_t row) {
    kernels::gru_gates_backward(D, kernels::GruGatesBackward<T>{gates + row * width, before + row * D, dr + row * D, dx + row * stride,
                                                                direct + row * D});
  });
}

// Of a step's read: from the gradient of c_i [B, M], that of the query into the first columns of `row_gradients`; keys' and energy's are added up.
template <class T>
void backward_read(const AttentiveGruInput& input, const AttentiveSizes& sizes, const AttentiveTrace& trace, std::int64_t i, const Tensor& of_context,
                   Tensor& row_gradients, Tensor& of_keys, Tensor& of_energy) {
  const T* query = trace.products.data_ptr<T>() + i * sizes.batch * sizes.products();
  const T* weights = trace.weights.data_ptr<T>() + i * sizes.batch * sizes.keys;
  const std::int64_t key_width = sizes.keys * sizes.hidden;
  for_rows(sizes.batch, sizes.keys * (sizes.hidden + sizes.memory), [&](std::int64_t row) {
    kernels::additive_backward(
        row_sizes(sizes, input.lengths, row),
        kernels::AdditiveBackward<T>{query + row * sizes.products(), input.keys.data_ptr<T>() + row * key_width, exponentials_of<T>(sizes, trace, row),
                                     input.energy.data_ptr<T>(), input.memory.data_ptr<T>() + row * sizes.keys * sizes.memory,
                                     weights + row * sizes.keys, of_context.data_ptr<T>() + row * sizes.memory, thread_scratch<T>(sizes.hidden + sizes.keys),
                                     row_gradients.data_ptr<T>() + row * sizes.products(), of_keys.data_ptr<T>() + row * key_width,
                                     of_energy.data_ptr<T>() + row * sizes.hidden});
  });
}

// state_gradients [L, B, D] and context_gradients [L, B, M] of the outputs.
template <class T>
AttentiveGradients fused_backward(const AttentiveGruInput& input, const AttentiveTrace& trace, const Tensor& state_gradients, const Tensor& context_gradients) {
  const AttentiveSizes sizes(input);
  const std::int64_t L = sizes.steps, B = sizes.batch, D = sizes.state, A = sizes.hidden;
  const auto options = input.projected.options();
  Tensor rows = at::empty({L, B, sizes.products()}, options);  // gradients of the products and, behind the query's, of x
  rows[L - 1].slice(1, A).zero_();
  Tensor of_contexts = context_gradients.clone(at::MemoryFormat::Contiguous);
  Tensor of_keys = at::zeros_like(input.keys), of_energy = at::zeros({B, A}, options);
  Tensor of_state = at::empty({B, D}, options), through = at::zeros({B, D}, options);
  const Tensor weight = weight_of_state(input);                                                   // [A + 2D, D]
  for (std::int64_t i = L - 1; i >= 0; --i) {
    Tensor row_gradients = rows[i], of_context = of_contexts[i];
    if (i + 1 < L) {
      backward_cell<T>(input, sizes, trace, i, of_state, row_gradients, through);
      of_context.addmm_(row_gradients.slice(1, A), input.context_weight);                         // [B, 3D] × [3D, M]
    }
    backward_read<T>(input, sizes, trace, i, of_context, row_gradients, of_keys, of_energy);
    at::add_out(of_state, through, state_gradients[i]);
    of_state.addmm_(row_gradients.slice(1, 0, sizes.of_state()), weight);                         // [B, A + 2D] × [A + 2D, D]
  }
  const Tensor flat = rows.view({L * B, sizes.products()});
  const Tensor of_weight = at::mm(flat.slice(1, 0, sizes.of_state()).t(), trace.states.view({L * B, D}));  // [A + 2D, D]
  const Tensor of_candidate = at::mm(flat.slice(0, 0, (L - 1) * B).slice(1, sizes.of_state()).t(), trace.reset_states.view({(L - 1) * B, D}));
  AttentiveGradients gradients;
  gradients.projected = rows.slice(2, A).transpose(0, 1);
  gradients.first = of_state;
  gradients.keys = of_keys;
  gradients.memory = at::bmm(trace.weights.permute({1, 2, 0}), of_contexts.transpose(0, 1));      // [B, Lk, L] × [B, L, M]
  gradients.query_weight = of_weight.slice(0, 0, A);
  gradients.energy = of_energy.sum(0);
  gradients.context_weight = at::mm(flat.slice(1, A).t(), trace.contexts.view({L * B, sizes.memory}));  // [3D, M]
  gradients.state_weight = at::cat({of_weight.slice(0, A), of_candidate});
  return gradients;
}

AttentiveGruInput input_of(const variable_list& saved) {
  return {saved[0], saved[1], saved[2], saved[3], saved[4], saved[5], saved[6], saved[7], saved[8]};
}

// Under create_graph: gradients that can be differentiated again.
variable_list composed_gradients(const AttentiveGruInput& input, const Tensor& state_gradients, const Tensor& context_gradients) {
  const AttentiveGruResult result = composed(input);
  return differentiable_gradients({result.states, result.contexts}, {state_gradients.transpose(0, 1), context_gradients.transpose(0, 1)},
                                  {input.projected, input.first, input.keys, input.memory, Tensor(), input.query_weight, input.energy,
                                   input.context_weight, input.state_weight});
}

// Inputs in the order of AttentiveGruInput; outputs in the order of steps: states [L, B, D], contexts [L, B, M], weights [L, B, Lk].
class FusedAttentiveGru : public torch::autograd::Function<FusedAttentiveGru> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& projected, const Tensor& first, const Tensor& keys, const Tensor& memory,
                               const Tensor& lengths, const Tensor& query_weight, const Tensor& energy, const Tensor& context_weight,
                               const Tensor& state_weight) {
    const AttentiveGruInput input{projected, first, keys, memory, lengths, query_weight, energy, context_weight, state_weight};
    const AttentiveTrace trace = projected.scalar_type() == at::kDouble ? fused_forward<double>(input) : fused_forward<float>(input);
    context->save_for_backward({projected, first, keys, memory, lengths, query_weight, energy, context_weight, state_weight, trace.states, trace.contexts,
                                trace.weights, trace.products, trace.gates, trace.reset_states, trace.exponentials, trace.fits});
    context->mark_non_differentiable({trace.weights});
    return {trace.states, trace.contexts, trace.weights};
  }

  static variable_list backward(AutogradContext* context, variable_list output_gradients) {
    const variable_list saved = context->get_saved_variables();
    const AttentiveGruInput input = input_of(saved);
    const AttentiveTrace trace{saved[9], saved[10], saved[11], saved[12], saved[13], saved[14], saved[15], saved[16]};
    const auto upstream = [&](std::size_t output, const Tensor& like) {
      const Tensor& given = output_gradients[output];
      return given.defined() ? given.contiguous() : at::zeros_like(like);
    };
    const Tensor of_states = upstream(0, trace.states), of_contexts = upstream(1, trace.contexts);
    if (at::GradMode::is_enabled()) return composed_gradients(input, of_states, of_contexts);
    const bool wide = input.projected.scalar_type() == at::kDouble;
    const AttentiveGradients all = wide ? fused_backward<double>(input, trace, of_states, of_contexts)
                               : fused_backward<float>(input, trace, of_states, of_contexts);
    return {all.projected, all.first, all.keys, all.memory, Tensor(), all.query_weight, all.energy, all.context_weight, all.state_weight};
  }
};

}  // namespace

AttentiveGruResult attentive_gru(const AttentiveGruInput& given, Path path) {
  check(given);
  AttentiveGruInput input = given;
  input.lengths = checked_lengths(given);
  const bool possible = has_kernels(input.projected);
  if (path == Path::fused && !possible)
    throw NotSupported(format("{}: path \"fused\" needs float32 or float64 on the CPU; use \"automatic\" or \"composed\"", attentive_name));
  if (path == Path::composed || !possible) return composed(input);
  const variable_list found = FusedAttentiveGru::apply(
      input.projected.contiguous(), input.first.contiguous(), input.keys.contiguous(), input.memory.contiguous(), input.lengths.contiguous(),
      input.query_weight.contiguous(), input.energy.contiguous(), input.context_weight.contiguous(), input.state_weight.contiguous());
  return {found[0].transpose(0, 1), found[1].transpose(0, 1), found[2].transpose(0, 1)};
}

}  // namespace attend::layers
