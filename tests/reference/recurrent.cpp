#include "tests/reference/recurrent.h"

#include <algorithm>
#include <cmath>

namespace attend::reference {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Gate `gate` of what affine() gives for all of them.
double gate_of(const Vector& gates, std::size_t hidden, std::size_t gate, std::size_t unit) { return gates[gate * hidden + unit]; }

}  // namespace

Vector affine(const Vector& weight, const Vector& x, const Vector& bias) {
  const std::size_t rows = weight.size() / x.size();
  Vector result(rows, 0.0);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < x.size(); ++column) result[row] += weight[row * x.size() + column] * x[column];
    if (!bias.empty()) result[row] += bias[row];
  }
  return result;
}

CellState recurrent_step(RecurrentCell cell, const RecurrentWeights& weights, const Vector& input, const CellState& before) {
  const Vector from_input = affine(weights.weight_ih, input, weights.bias_ih);
  const Vector from_hidden = affine(weights.weight_hh, before.hidden, weights.bias_hh);
  const std::size_t H = before.hidden.size();
  Vector reset_hidden = before.hidden;  // r ∘ h, all units of it before any candidate
  if (cell == RecurrentCell::gru_reset_before)
    for (std::size_t unit = 0; unit < H; ++unit)
      reset_hidden[unit] *= sigmoid(gate_of(from_input, H, 0, unit) + gate_of(from_hidden, H, 0, unit));
  const Vector from_reset = affine(weights.weight_hh, reset_hidden, weights.bias_hh);
  CellState after = before;
  for (std::size_t unit = 0; unit < H; ++unit) {
    const auto both = [&](std::size_t gate) { return gate_of(from_input, H, gate, unit) + gate_of(from_hidden, H, gate, unit); };
    if (cell != RecurrentCell::lstm) {
      const double reset = sigmoid(both(0)), update = sigmoid(both(1));
      const double from_state = cell == RecurrentCell::gru ? reset * gate_of(from_hidden, H, 2, unit) : gate_of(from_reset, H, 2, unit);
      const double candidate = std::tanh(gate_of(from_input, H, 2, unit) + from_state);
      after.hidden[unit] = (1 - update) * candidate + update * before.hidden[unit];
    } else {
      const double in = sigmoid(both(0)), forget = sigmoid(both(1)), candidate = std::tanh(both(2)), out = sigmoid(both(3));
      after.cell[unit] = forget * before.cell[unit] + in * candidate;
      after.hidden[unit] = out * std::tanh(after.cell[unit]);
    }
  }
  return after;
}

RecurrentOutcome recurrent(const RecurrentSizes& sizes, const std::vector<RecurrentWeights>& weights, const std::vector<Vector>& input,
                           const std::vector<CellState>& first) {
  const auto H = static_cast<std::size_t>(sizes.hidden);
  RecurrentOutcome outcome;
  outcome.output = input;
  for (std::size_t layer = 0; layer < static_cast<std::size_t>(sizes.layers); ++layer) {
    const std::vector<Vector> below = outcome.output;
    std::fill(outcome.output.begin(), outcome.output.end(), Vector());
    for (std::size_t direction = 0; direction < static_cast<std::size_t>(sizes.directions); ++direction) {
      const std::size_t index = layer * static_cast<std::size_t>(sizes.directions) + direction;
      CellState state = first.empty() ? CellState{Vector(H, 0.0), Vector(H, 0.0)} : first[index];
      for (std::size_t step = 0; step < below.size(); ++step) {
        const std::size_t place = direction == 0 ? step : below.size() - 1 - step;
        state = recurrent_step(sizes.cell, weights[index], below[place], state);
        outcome.output[place].insert(outcome.output[place].end(), state.hidden.begin(), state.hidden.end());
      }
      outcome.states.push_back(state);
    }
  }
  return outcome;
}

}  // namespace attend::reference
