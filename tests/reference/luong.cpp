#include "tests/reference/luong.h"

#include <algorithm>
#include <cmath>

namespace attend::reference {
namespace {

Vector row_of(const Vector& matrix, std::int64_t row, std::int64_t width) {
  return {matrix.begin() + row * width, matrix.begin() + (row + 1) * width};
}

Vector joined(Vector a, const Vector& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Vector tanh_of(Vector x) {
  for (double& number : x) number = std::tanh(number);
  return x;
}

Vector softmax_of(Vector scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - largest);
  for (double& score : scores) score /= sum;
  return scores;
}

// The decoder's first state, layer by layer, from the encoder's last ones.
std::vector<CellState> first_states(const LuongModel& model, const std::vector<CellState>& last) {
  std::vector<CellState> first;
  for (std::size_t layer = 0; layer < last.size() / 2; ++layer) {
    const CellState &forward = last[2 * layer], &backward = last[2 * layer + 1];
    first.push_back({tanh_of(affine(model.first_state_weight, joined(forward.hidden, backward.hidden), model.first_state_bias)), {}});
    if (model.decoder_sizes.cell == RecurrentCell::lstm)
      first.back().cell = tanh_of(affine(model.first_cell_weight, joined(forward.cell, backward.cell), model.first_cell_bias));
  }
  return first;
}

// a_t: equation 7 over the window of target place t, then equation 10.
Vector align(const LuongModel& model, const Vector& hidden, const std::vector<Vector>& memory, std::int64_t t) {
  const auto length = static_cast<std::int64_t>(memory.size());
  const double centre = model.window.centre ? model.window.centre(hidden.data(), t, length) : 0;
  std::vector<std::int64_t> seen;
  Vector scores;
  for (std::int64_t s = 0; s < length; ++s) {
    if (!model.window.has(centre, s)) continue;
    const double* place = memory[static_cast<std::size_t>(s)].data();
    seen.push_back(s);
    scores.push_back(model.place_score ? model.place_score(hidden.data(), s) : model.score(hidden.data(), place));
  }
  Vector alignment(memory.size(), 0.0);
  if (seen.empty()) return alignment;
  const Vector weights = softmax_of(scores);
  double sum = 0;
  for (std::size_t i = 0; i < seen.size(); ++i)
    sum += alignment[static_cast<std::size_t>(seen[i])] = weights[i] * model.window.factor(centre, seen[i]);
  if (model.window.renormalised)
    for (double& weight : alignment) weight /= sum;
  return alignment;
}

}  // namespace

DecodedOutcome luong(const LuongModel& model, const std::vector<std::int64_t>& source, const std::vector<std::int64_t>& target) {
  std::vector<Vector> read;
  for (const std::int64_t token : source) read.push_back(row_of(model.source_embedding, token, model.embedding));
  const RecurrentOutcome encoded = recurrent(model.encoder_sizes, model.encoder, read);
  const std::vector<Vector>& memory = encoded.output;  // h̄_s

  DecodedOutcome outcome;
  std::vector<CellState> state = first_states(model, encoded.states);
  Vector attentional(static_cast<std::size_t>(model.decoder_sizes.hidden), 0.0);  // h̃_0
  for (std::size_t t = 0; t < target.size(); ++t) {
    const std::int64_t token = target[t];
    Vector input = row_of(model.target_embedding, token, model.embedding);
    if (model.input_feeding) input = joined(input, attentional);  // §3.3
    const RecurrentOutcome step = recurrent(model.decoder_sizes, model.decoder, {input}, state);
    state = step.states;
    const Vector& hidden = step.output[0];  // h_t

    const Vector alignment = align(model, hidden, memory, static_cast<std::int64_t>(t));
    Vector context(memory[0].size(), 0.0);  // c_t
    for (std::size_t s = 0; s < memory.size(); ++s)
      for (std::size_t d = 0; d < context.size(); ++d) context[d] += alignment[s] * memory[s][d];
    attentional = tanh_of(affine(model.combine, joined(context, hidden), {}));              // equation 5
    outcome.logits.push_back(affine(model.output_weight, attentional, model.output_bias));  // equation 6, before its softmax
    outcome.alignments.push_back(alignment);
  }
  return outcome;
}

}  // namespace attend::reference
