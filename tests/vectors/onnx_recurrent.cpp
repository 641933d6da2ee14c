// The ONNX operators `GRU` and `LSTM` in terms of attend's layers: their gate orders, layouts and joined biases are turned into ours here.
#include "attend/base/error.h"
#include "attend/core/tensor_file.h"
#include "attend/layers/recurrent.h"
#include "tests/reference/tensors.h"
#include "tests/vectors/vector_set.h"

namespace attend::vectors {
namespace {

// Places of the operators' inputs; a GRU ends with the initial hidden state.
enum RecurrentInput { X, W, R, B, sequence_lens, initial_h, initial_c, P, recurrent_input_count };

class OnnxRecurrent {
 public:
  explicit OnnxRecurrent(const io::SafetensorsFile& file) : case_(file), path_(file.path().string()), gru_(file.meta("op") == "GRU") {
    const std::vector<std::string> names = case_.names("node_inputs");
    if (names.size() < 3 || names.size() > recurrent_input_count) throw InvalidData("not understood: node_inputs");
    for (std::size_t place = 0; place < names.size(); ++place)
      if (!names[place].empty()) inputs_[place] = case_.required_tensor("input." + names[place]);
    for (const RecurrentInput place : {X, W, R})
      if (!inputs_[place]) throw InvalidData("not understood: an input is missing");
    if (inputs_[P]) throw NotBuilt("peepholes");
    batch_first_ = integer("layout", 0) == 1;
    directions_ = inputs_[W]->size(0);
    hidden_ = integer("hidden_size", 0);
    options_.cell = gru_ ? layers::Cell::gru : layers::Cell::lstm;
    options_.bidirectional = directions_ == 2;
    options_.reset = gru_ && integer("linear_before_reset", 0) == 0 ? layers::Reset::before : layers::Reset::after;
    const io::Value direction = case_.attribute("direction");
    if (!direction.is_null() && direction.as_text() != (options_.bidirectional ? "bidirectional" : "forward"))
      throw NotBuilt("one direction, from the end");
  }

  std::vector<std::string> check() {
    const Tensor input = batch_first_ ? *inputs_[X] : inputs_[X]->transpose(0, 1);                // [B, L, E]
    layers::Recurrent network(input.size(2), hidden_, options_);
    network->to(input.scalar_type());
    load_module_tensors(*network, parameters(), path_);
    layers::RecurrentState initial;
    for (const auto& [place, to] : {std::pair(initial_h, &initial.hidden), std::pair(initial_c, &initial.cell)})
      if (inputs_[place]) *to = batch_first_ ? *inputs_[place] : inputs_[place]->transpose(0, 1);  // [B, directions, H]
    const Tensor lengths = inputs_[sequence_lens] ? inputs_[sequence_lens]->to(at::kLong) : Tensor();
    const layers::RecurrentResult result = network(input, lengths, initial);

    // Y [L, directions, B, H], Y_h and Y_c [directions, B, H]; with layout 1 the batch comes first
    const Tensor output = result.output.unflatten(2, {directions_, hidden_});                     // [B, L, directions, H]
    const auto state = [&](const Tensor& tensor) { return batch_first_ ? tensor : tensor.transpose(0, 1); };
    const std::vector<Tensor> outputs = {batch_first_ ? output : output.permute({1, 2, 0, 3}), state(result.state.hidden),
                                         gru_ ? Tensor() : state(result.state.cell)};
    const std::vector<std::string> names = case_.names("node_outputs");
    if (names.empty() || names.size() > (gru_ ? 2 : 3)) case_.fail("not understood: node_outputs");
    const reference::Tolerance near = reference::stepwise_tolerance(reference::type_of(input), input.size(1) * (input.size(2) + hidden_));
    for (std::size_t place = 0; place < names.size() && place < outputs.size(); ++place)
      if (!names[place].empty()) case_.expect(names[place], outputs[place], case_.required_tensor("output." + names[place]), near);
    return case_.finish();
  }

 private:
  std::int64_t integer(const char* name, std::int64_t otherwise) {
    const io::Value found = case_.attribute(name);
    return found.is_null() ? otherwise : found.as_integer();
  }

  // ONNX has z, r, h of a GRU and i, o, f, c of an LSTM one below the other.
  Tensor in_our_order(const Tensor& gates) const {
    const std::vector<Tensor> parts = gates.chunk(gru_ ? 3 : 4);
    return gru_ ? at::cat({parts[1], parts[0], parts[2]}) : at::cat({parts[0], parts[2], parts[3], parts[1]});
  }

  NamedTensors parameters() const {
    NamedTensors parameters;
    const std::int64_t rows = (gru_ ? 3 : 4) * hidden_;
    for (std::int64_t direction = 0; direction < directions_; ++direction) {
      const std::string suffix = direction == 1 ? "_l0_reverse" : "_l0";
      const Tensor bias = inputs_[B] ? (*inputs_[B])[direction] : at::zeros({2 * rows}, inputs_[W]->options());
      parameters["weight_ih" + suffix] = in_our_order((*inputs_[W])[direction]);
      parameters["weight_hh" + suffix] = in_our_order((*inputs_[R])[direction]);
      parameters["bias_ih" + suffix] = in_our_order(bias.slice(0, 0, rows));
      parameters["bias_hh" + suffix] = in_our_order(bias.slice(0, rows));
    }
    return parameters;
  }

  Case case_;
  std::string path_;
  bool gru_, batch_first_ = false;
  std::int64_t directions_ = 1, hidden_ = 0;
  layers::RecurrentOptions options_;
  std::optional<Tensor> inputs_[recurrent_input_count];
};

}  // namespace

std::vector<std::string> check_onnx_recurrent(const io::SafetensorsFile& file) { return OnnxRecurrent(file).check(); }

}  // namespace attend::vectors
