#include "attend/layers/recurrent.h"

#include <cmath>

#include "attend/core/shapes.h"

namespace attend::layers {

namespace {
constexpr auto recurrent_name = "attend::layers::Recurrent";

std::int64_t gates(Cell cell) { return cell == Cell::gru ? 3 : 4; }

// libtorch keeps layers first
Tensor layers_first(const Tensor& state) { return state.transpose(0, 1).contiguous(); }
Tensor batch_first(const Tensor& state) { return state.transpose(0, 1); }
}  // namespace

RecurrentImpl::RecurrentImpl(std::int64_t input_size, std::int64_t hidden_size, RecurrentOptions options)
    : input_size_(input_size), hidden_size_(hidden_size), options_(options) {
  if (input_size < 1 || hidden_size < 1 || options.layers < 1)
    throw InvalidArgument(format("{}: expected positive sizes and layers, got input {}, hidden {}, layers {}", recurrent_name, input_size,
                                 hidden_size, options.layers));
  if (!(options.dropout >= 0 && options.dropout < 1))
    throw InvalidArgument(format("{}: expected dropout from 0 to below 1, got {}", recurrent_name, options.dropout));
  reset();
}

void RecurrentImpl::reset() {
  weights_.clear();
  const double bound = std::sqrt(1.0 / static_cast<double>(hidden_size_));
  const std::int64_t rows = gates(options_.cell) * hidden_size_;
  const auto add = [&](const std::string& name, at::IntArrayRef sizes) {
    weights_.push_back(register_parameter(name, torch::empty(sizes).uniform_(-bound, bound)));
  };
  for (std::int64_t layer = 0; layer < options_.layers; ++layer)
    for (std::int64_t direction = 0; direction < directions(); ++direction) {
      const std::string suffix = format("_l{}{}", layer, direction == 1 ? "_reverse" : "");
      const std::int64_t width = layer == 0 ? input_size_ : hidden_size_ * directions();
      add("weight_ih" + suffix, {rows, width});
      add("weight_hh" + suffix, {rows, hidden_size_});
      add("bias_ih" + suffix, {rows});
      add("bias_hh" + suffix, {rows});
      if (options_.cell == Cell::lstm) {
        torch::NoGradGuard no_gradient;
        weights_[weights_.size() - 2].slice(0, hidden_size_, 2 * hidden_size_).fill_(1.0);
        weights_[weights_.size() - 1].slice(0, hidden_size_, 2 * hidden_size_).fill_(0.0);
      }
    }
}

void RecurrentImpl::pretty_print(std::ostream& stream) const {
  stream << recurrent_name << "(" << input_size_ << ", " << hidden_size_ << ", cell=" << name_of(options_.cell) << ", layers=" << options_.layers
         << (options_.bidirectional ? ", bidirectional" : "") << ")";
}

RecurrentResult RecurrentImpl::forward(const Tensor& input, const Tensor& lengths, const RecurrentState& initial) {
  check_shape(recurrent_name, "input", input, {{"B"}, {"L"}, {"E", input_size_}});
  if (input.size(1) == 0) throw InvalidArgument(format("{}: expected input [B, L, E] with L ≥ 1, got {}", recurrent_name, shape_text(input)));
  const std::int64_t batch = input.size(0), states = options_.layers * directions();
  if (initial.hidden.defined())
    check_shape(recurrent_name, "initial hidden state", initial.hidden, {{"B", batch}, {"layers", states}, {"H", hidden_size_}});
  const auto start = [&](const Tensor& given) {
    return given.defined() ? layers_first(given) : at::zeros({states, batch, hidden_size_}, input.options());
  };
  const bool lstm = options_.cell == Cell::lstm, train = is_training() && options_.layers > 1;

  bool padded = false;
  Tensor lengths_on_cpu;
  if (lengths.defined()) {
    check_shape(recurrent_name, "lengths", lengths, {{"B", batch}});
    lengths_on_cpu = lengths.to(at::kCPU);
    if (batch > 0) {
      const auto least = lengths_on_cpu.min().item<std::int64_t>(), most = lengths_on_cpu.max().item<std::int64_t>();
      if (least < 1 || most > input.size(1))
        throw InvalidArgument(format("{}: expected lengths from 1 to L = {}, got {} to {}", recurrent_name, input.size(1), least, most));
      padded = least < input.size(1);
    }
  }

  if (!padded) {
    if (lstm) {
      auto [output, hidden, cell] = at::lstm(input, {start(initial.hidden), start(initial.cell)}, weights_, true, options_.layers,
                                             options_.dropout, train, options_.bidirectional, true);
      return {output, {batch_first(hidden), batch_first(cell)}};
    }
    auto [output, hidden] = at::gru(input, start(initial.hidden), weights_, true, options_.layers, options_.dropout, train,
                                    options_.bidirectional, true);
    return {output, {batch_first(hidden), {}}};
  }

  // Packed: libtorch wants the longest sequence first.
  const Tensor order = lengths_on_cpu.argsort(0, /*descending=*/true), back = order.argsort();
  const auto sorted = [&](const Tensor& state) { return start(state).index_select(1, order.to(input.device())); };
  auto [data, sizes] = at::_pack_padded_sequence(input.index_select(0, order.to(input.device())), lengths_on_cpu.index_select(0, order), true);
  Tensor packed, hidden, cell;
  if (lstm)
    std::tie(packed, hidden, cell) = at::lstm(data, sizes, {sorted(initial.hidden), sorted(initial.cell)}, weights_, true, options_.layers,
                                              options_.dropout, train, options_.bidirectional);
  else
    std::tie(packed, hidden) = at::gru(data, sizes, sorted(initial.hidden), weights_, true, options_.layers, options_.dropout, train,
                                       options_.bidirectional);
  const Tensor output = std::get<0>(at::_pad_packed_sequence(packed, sizes, true, 0.0, input.size(1)));
  const Tensor places = back.to(input.device());
  const auto unsorted = [&](const Tensor& state) { return state.defined() ? batch_first(state).index_select(0, places) : state; };
  return {output.index_select(0, places), {unsorted(hidden), unsorted(cell)}};
}

}  // namespace attend::layers
