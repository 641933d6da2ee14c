#include "tests/reference/encoder_decoder.h"

#include <algorithm>
#include <cmath>

namespace attend::reference {
namespace {

Vector mapped(const Affine& map, const Vector& x) { return affine(map.weight, x, map.bias); }

Vector embedded_token(const Vector& table, std::int64_t token, std::int64_t width) {
  return {table.begin() + token * width, table.begin() + (token + 1) * width};
}

std::vector<Vector> embedded_tokens(const Vector& table, const TokenRow& tokens, std::int64_t width) {
  std::vector<Vector> rows;
  for (const std::int64_t token : tokens) rows.push_back(embedded_token(table, token, width));
  return rows;
}

Vector side_by_side(const std::vector<Vector>& parts) {
  Vector whole;
  for (const Vector& part : parts) whole.insert(whole.end(), part.begin(), part.end());
  return whole;
}

Vector each_tanh(Vector x) {
  for (double& number : x) number = std::tanh(number);
  return x;
}

Vector total(const std::vector<Vector>& parts) {
  Vector sum(parts[0].size(), 0.0);
  for (const Vector& part : parts)
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
  return sum;
}

Vector largest_of_pairs(const Vector& x) {
  Vector result;
  for (std::size_t i = 0; i + 1 < x.size(); i += 2) result.push_back(std::max(x[i], x[i + 1]));
  return result;
}

Vector part_of(const Vector& x, std::size_t part, std::size_t width) {
  return {x.begin() + static_cast<std::ptrdiff_t>(part * width), x.begin() + static_cast<std::ptrdiff_t>((part + 1) * width)};
}

struct Read {
  Vector weights, context;
};

Read read_memory(const PairScore& score, const Vector& query, const std::vector<Vector>& memory) {
  Read read;
  double largest = -INFINITY, sum = 0;
  for (const Vector& place : memory) read.weights.push_back(score(query.data(), place.data()));
  for (const double one : read.weights) largest = std::max(largest, one);
  for (double& one : read.weights) sum += one = std::exp(one - largest);
  read.context.assign(memory[0].size(), 0.0);
  for (std::size_t place = 0; place < memory.size(); ++place) {
    read.weights[place] /= sum;
    for (std::size_t d = 0; d < read.context.size(); ++d) read.context[d] += read.weights[place] * memory[place][d];
  }
  return read;
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// s_i of Bahdanau 2014 A.2.2 from W y_{i−1}, s_{i−1} and C c_i.
Vector conditional_gru(const RnnsearchModel& model, const Vector& token, const Vector& state, const Vector& context) {
  const std::size_t D = state.size();
  const Vector given = total({mapped(model.of_token, token), mapped(model.of_context, context)}), from_state = mapped(model.of_state, state);
  Vector reset_state = state, next = state;
  for (std::size_t d = 0; d < D; ++d) reset_state[d] *= logistic(given[d] + from_state[d]);
  const Vector from_reset = mapped(model.of_state, reset_state);
  for (std::size_t d = 0; d < D; ++d) {
    const double keep = logistic(given[D + d] + from_state[D + d]);
    next[d] = (1 - keep) * std::tanh(given[2 * D + d] + from_reset[2 * D + d]) + keep * state[d];
  }
  return next;
}

// The same of an LSTM's gates i, f, g, o: `cell` goes on with the state.
Vector conditional_lstm(const RnnsearchModel& model, const Vector& token, const Vector& state, const Vector& context, Vector& cell) {
  const std::size_t D = state.size();
  const Vector given = total({mapped(model.of_token, token), mapped(model.of_context, context), mapped(model.of_state, state)});
  Vector next = state;
  for (std::size_t d = 0; d < D; ++d) {
    cell[d] = logistic(given[D + d]) * cell[d] + logistic(given[d]) * std::tanh(given[2 * D + d]);
    next[d] = logistic(given[3 * D + d]) * std::tanh(cell[d]);
  }
  return next;
}

}  // namespace

DecodedOutcome rnn(const RnnModel& model, const TokenRow& source, const TokenRow& target) {
  TokenRow read = source;
  if (model.reverse_source) std::reverse(read.begin(), read.end());
  const RecurrentOutcome encoded = recurrent(model.encoder_sizes, model.encoder, embedded_tokens(model.source_embedding, read, model.embedding));
  std::vector<CellState> state = encoded.states;
  Vector vector;  // c
  if (model.every_step) {
    vector = each_tanh(mapped(model.summary, encoded.states.back().hidden));
    const auto H = static_cast<std::size_t>(model.decoder_sizes.hidden);
    const Vector hidden = each_tanh(mapped(model.first_state, vector));
    for (std::size_t layer = 0; layer < state.size(); ++layer) {
      state[layer].hidden = part_of(hidden, layer, H);
      if (model.decoder_sizes.cell == RecurrentCell::lstm) state[layer].cell = part_of(each_tanh(mapped(model.first_cell, vector)), layer, H);
    }
  }
  DecodedOutcome outcome;
  for (const std::int64_t token : target) {
    const Vector y = embedded_token(model.target_embedding, token, model.embedding);
    const RecurrentOutcome step = recurrent(model.decoder_sizes, model.decoder, {model.every_step ? side_by_side({y, vector}) : y}, state);
    state = step.states;
    const Vector& hidden = step.output[0];
    const Vector last = model.every_step ? largest_of_pairs(mapped(model.deep, side_by_side({hidden, y, vector}))) : hidden;
    outcome.logits.push_back(mapped(model.output, last));
  }
  return outcome;
}

DecodedOutcome rnnsearch(const RnnsearchModel& model, const TokenRow& source, const TokenRow& target) {
  const RecurrentOutcome encoded = recurrent(model.encoder_sizes, model.encoder, embedded_tokens(model.source_embedding, source, model.embedding));
  Vector state = each_tanh(mapped(model.first_state, encoded.states[1].hidden));  // of ←h_1
  Vector cell(state.size(), 0.0);
  DecodedOutcome outcome;
  for (const std::int64_t token : target) {
    const Vector y = embedded_token(model.target_embedding, token, model.embedding);
    const Read read = read_memory(model.score, state, encoded.output);
    const Vector deep = total({mapped(model.deep_of_state, state), mapped(model.deep_of_token, y), mapped(model.deep_of_context, read.context)});
    outcome.logits.push_back(mapped(model.output, largest_of_pairs(deep)));
    outcome.alignments.push_back(read.weights);
    state = model.cell == RecurrentCell::lstm ? conditional_lstm(model, y, state, read.context, cell) : conditional_gru(model, y, state, read.context);
  }
  return outcome;
}

DecodedOutcome attention_layer(const AttentionLayerModel& model, const TokenRow& source, const TokenRow& target) {
  const RecurrentOutcome encoded = recurrent(model.encoder_sizes, model.encoder, embedded_tokens(model.source_embedding, source, model.embedding));
  std::vector<CellState> first;
  const auto directions = static_cast<std::size_t>(model.encoder_sizes.directions);
  for (std::size_t state = 0; state < encoded.states.size(); state += directions) {
    std::vector<Vector> parts;
    for (std::size_t direction = 0; direction < directions; ++direction) parts.push_back(encoded.states[state + direction].hidden);
    first.push_back({side_by_side(parts), {}});
  }
  const RecurrentOutcome decoded = recurrent(model.decoder_sizes, model.decoder, embedded_tokens(model.target_embedding, target, model.embedding), first);
  DecodedOutcome outcome;
  for (const Vector& hidden : decoded.output) {
    const Read read = read_memory(model.score, hidden, encoded.output);
    outcome.logits.push_back(mapped(model.output, side_by_side({hidden, read.context})));
    outcome.alignments.push_back(read.weights);
  }
  return outcome;
}

}  // namespace attend::reference
