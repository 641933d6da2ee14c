// What recurrent layers compute, as loops over doubles: no libtorch, nothing shared with the library.
#pragma once

#include <cstdint>
#include <vector>

namespace attend::reference {

using Vector = std::vector<double>;

// One direction of one layer. Gates stand one below the other: reset, update, new for a GRU; input, forget, candidate, output for an LSTM.
struct RecurrentWeights {
  Vector weight_ih, weight_hh;  // [G·H, E], [G·H, H]
  Vector bias_ih, bias_hh;      // [G·H]
};

// gru: the reset gate acts on the product with the state; gru_reset_before: on the state before it.
enum class RecurrentCell { gru, gru_reset_before, lstm };

struct RecurrentSizes {
  RecurrentCell cell = RecurrentCell::gru;
  std::int64_t input = 1, hidden = 1, layers = 1, directions = 1;
};

struct CellState {
  Vector hidden, cell;  // [H]; a GRU has no cell
};

// One step of one layer: the state after it has read `input` [E].
CellState recurrent_step(RecurrentCell cell, const RecurrentWeights& weights, const Vector& input, const CellState& before);

struct RecurrentOutcome {
  std::vector<Vector> output;     // for each place, [H · directions]
  std::vector<CellState> states;  // after the last step of each direction; as the weights: layer by layer, forward before backward
};

// One sequence without padding; weights and first states in the order layer 0 forward, layer 0 backward, layer 1 forward, …
// No first states: zeros.
RecurrentOutcome recurrent(const RecurrentSizes& sizes, const std::vector<RecurrentWeights>& weights, const std::vector<Vector>& input,
                           const std::vector<CellState>& first = {});

// W x + b, W [rows, width of x]; an empty b is 0.
Vector affine(const Vector& weight, const Vector& x, const Vector& bias);

}  // namespace attend::reference
