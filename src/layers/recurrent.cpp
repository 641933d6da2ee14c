#include "attend/layers/recurrent.h"

#include <cmath>

#include "attend/core/shapes.h"
#include "layers/recurrent_sequence.h"

namespace attend::layers {

namespace {
constexpr auto recurrent_name = "attend::layers::Recurrent";

std::int64_t gates(Cell cell) { return cell == Cell::gru ? 3 : 4; }
}  // namespace

RecurrentImpl::RecurrentImpl(std::int64_t input_size, std::int64_t hidden_size, RecurrentOptions options)
    : input_size_(input_size), hidden_size_(hidden_size), options_(options) {
  if (input_size < 1 || hidden_size < 1 || options.layers < 1)
    throw InvalidArgument(format("{}: expected positive sizes and layers, got input {}, hidden {}, layers {}", recurrent_name, input_size,
                                 hidden_size, options.layers));
  if (!(options.dropout >= 0 && options.dropout < 1))
    throw InvalidArgument(format("{}: expected dropout from 0 to below 1, got {}", recurrent_name, options.dropout));
  if (options.cell == Cell::lstm && options.reset == Reset::before)
    throw InvalidArgument(format("{}: expected reset \"after\" for an LSTM, which has no reset gate, got \"before\"", recurrent_name));
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
         << (options_.bidirectional ? ", bidirectional" : "") << (options_.reset == Reset::before ? ", reset=before" : "") << ")";
}

// bool [L, B], true at real steps; undefined where no sequence is padded.
Tensor RecurrentImpl::real_steps(const Tensor& input, const Tensor& lengths) const {
  if (!lengths.defined()) return {};
  check_shape(recurrent_name, "lengths", lengths, {{"B", input.size(0)}});
  if (lengths.scalar_type() != at::kLong)
    throw InvalidArgument(format("{}: expected lengths of type int64, got {}", recurrent_name, at::toString(lengths.scalar_type())));
  if (input.size(0) == 0) return {};
  const auto least = lengths.min().item<std::int64_t>(), most = lengths.max().item<std::int64_t>();
  if (least < 1 || most > input.size(1))
    throw InvalidArgument(format("{}: expected lengths from 1 to L = {}, got {} to {}", recurrent_name, input.size(1), least, most));
  if (least == input.size(1)) return {};
  return at::arange(input.size(1), lengths.options()).unsqueeze(1) < lengths.unsqueeze(0);
}

RecurrentResult RecurrentImpl::forward(const Tensor& input, const Tensor& lengths, const RecurrentState& initial) {
  check_shape(recurrent_name, "input", input, {{"B"}, {"L"}, {"E", input_size_}});
  if (input.size(1) == 0) throw InvalidArgument(format("{}: expected input [B, L, E] with L ≥ 1, got {}", recurrent_name, shape_text(input)));
  const bool lstm = options_.cell == Cell::lstm;
  const std::int64_t batch = input.size(0), states = options_.layers * directions();
  check_matches(recurrent_name, "input", input, "the parameters", weights_.front());
  const auto check_initial = [&](const char* name, const Tensor& given) {
    if (!given.defined()) return;
    check_shape(recurrent_name, name, given, {{"B", batch}, {"layers · directions", states}, {"H", hidden_size_}});
    check_matches(recurrent_name, name, given, "input", input);
  };
  check_initial("initial hidden state", initial.hidden);
  check_initial("initial cell state", initial.cell);
  if (initial.cell.defined() && !lstm)
    throw InvalidArgument(format("{}: expected no initial cell state, which a GRU doesn't have, got {}", recurrent_name, shape_text(initial.cell)));
  const Tensor valid = real_steps(input, lengths);
  const Tensor zeros = at::zeros({batch, hidden_size_}, input.options());
  std::vector<Tensor> last_hidden, last_cell;

  Tensor current = input.transpose(0, 1);                                                         // [L, B, E]
  // what stands in padding must not reach the input weight's gradient: 0 · NaN is NaN
  if (valid.defined()) current = current.masked_fill(valid.logical_not().unsqueeze(2), 0.0);
  for (std::int64_t layer = 0; layer < options_.layers; ++layer) {
    std::vector<Tensor> outputs;
    for (std::int64_t direction = 0; direction < directions(); ++direction) {
      const std::int64_t number = layer * directions() + direction;
      const Tensor* weights = &weights_[static_cast<std::size_t>(4 * number)];  // W_i, W_h, b_i, b_h
      SequenceInput sequence;
      sequence.cell = options_.cell;
      sequence.reset = options_.reset;
      sequence.reverse = direction == 1;
      sequence.input = current;
      sequence.input_weight = weights[0];
      sequence.input_bias = lstm ? weights[2] + weights[3] : weights[2];
      sequence.recurrent_weight = weights[1];
      sequence.recurrent_bias = lstm ? Tensor() : weights[3];
      sequence.hidden = initial.hidden.defined() ? initial.hidden.select(1, number) : zeros;
      if (lstm) sequence.cell_state = initial.cell.defined() ? initial.cell.select(1, number) : zeros;
      sequence.valid = valid;
      const SequenceOutput output = recurrent_sequence(sequence, options_.path);                  // [L, B, H]
      last_hidden.push_back(output.last);
      if (lstm) last_cell.push_back(output.cell_state);
      outputs.push_back(valid.defined() ? output.hidden.masked_fill(valid.logical_not().unsqueeze(2), 0.0) : output.hidden);
    }
    current = outputs.size() == 1 ? outputs[0] : at::cat(outputs, 2);                             // [L, B, H · directions]
    if (layer + 1 < options_.layers && options_.dropout > 0) current = at::dropout(current, options_.dropout, is_training());
  }
  return {current.transpose(0, 1), {at::stack(last_hidden, 1), lstm ? at::stack(last_cell, 1) : Tensor()}};
}

Tensor gru_step(const Tensor& projected, const Tensor& hidden, const Tensor& recurrent_weight, const Tensor& recurrent_bias, Reset reset) {
  constexpr auto where = "attend::layers::gru_step";
  check_shape(where, "hidden", hidden, {{"B"}, {"H"}});
  const std::int64_t H = hidden.size(1);
  check_shape(where, "projected", projected, {{"B", hidden.size(0)}, {"3H", 3 * H}});
  check_shape(where, "recurrent_weight", recurrent_weight, {{"3H", 3 * H}, {"H", H}});
  check_shape(where, "recurrent_bias", recurrent_bias, {{"3H", 3 * H}});
  check_floating(where, "projected", projected);
  check_matches(where, "hidden", hidden, "projected", projected);
  check_matches(where, "recurrent_weight", recurrent_weight, "projected", projected);
  check_matches(where, "recurrent_bias", recurrent_bias, "projected", projected);
  SequenceInput sequence;
  sequence.cell = Cell::gru;
  sequence.reset = reset;
  sequence.input = projected.unsqueeze(0);                                                    // [1, B, 3H]
  sequence.recurrent_weight = recurrent_weight;
  sequence.recurrent_bias = recurrent_bias;
  sequence.hidden = hidden;
  return recurrent_sequence(sequence, Path::automatic).hidden[0];
}

RecurrentState lstm_step(const Tensor& projected, const RecurrentState& before, const Tensor& recurrent_weight) {
  constexpr auto where = "attend::layers::lstm_step";
  check_shape(where, "hidden", before.hidden, {{"B"}, {"H"}});
  const std::int64_t B = before.hidden.size(0), H = before.hidden.size(1);
  check_shape(where, "cell", before.cell, {{"B", B}, {"H", H}});
  check_shape(where, "projected", projected, {{"B", B}, {"4H", 4 * H}});
  check_shape(where, "recurrent_weight", recurrent_weight, {{"4H", 4 * H}, {"H", H}});
  check_floating(where, "projected", projected);
  check_matches(where, "hidden", before.hidden, "projected", projected);
  check_matches(where, "cell", before.cell, "projected", projected);
  check_matches(where, "recurrent_weight", recurrent_weight, "projected", projected);
  SequenceInput sequence;
  sequence.cell = Cell::lstm;
  sequence.input = projected.unsqueeze(0);                                                    // [1, B, 4H]
  sequence.recurrent_weight = recurrent_weight;
  sequence.hidden = before.hidden, sequence.cell_state = before.cell;
  const SequenceOutput after = recurrent_sequence(sequence, Path::automatic);
  return {after.hidden[0], after.cell_state};
}

}  // namespace attend::layers
