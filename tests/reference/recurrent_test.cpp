// The recurrent reference by cells that can be worked out by hand.
#include "tests/reference/recurrent.h"

#include <gtest/gtest.h>

#include <cmath>

namespace attend::reference {
namespace {

constexpr double large = 100;  // a gate that is open or shut to the last bit

TEST(RecurrentReference, AGruMixesItsStateWithTheCandidate) {
  // update gate 1/4 (its argument −ln 3), reset shut: the candidate doesn't see the state
  const RecurrentWeights weights{{0, 0, 0.5}, {0, 0, 7}, {-large, -std::log(3.0), 0}, {0, 0, 9}};
  EXPECT_NEAR(recurrent_step(RecurrentCell::gru, weights, {1}, {{2}, {}}).hidden[0], 0.75 * std::tanh(0.5) + 0.25 * 2, 1e-15);
}

TEST(RecurrentReference, AGruAppliesItsResetGateAfterTheProductAndItsBias) {
  const RecurrentWeights weights{{0, 0, 0}, {0, 0, 0.25}, {0, -large, 0}, {0, 0, 0.5}};  // reset 1/2, update shut
  EXPECT_NEAR(recurrent_step(RecurrentCell::gru, weights, {1}, {{2}, {}}).hidden[0], std::tanh(0.5 * (0.25 * 2 + 0.5)), 1e-15);
}

TEST(RecurrentReference, AGruWithItsResetGateBeforeResetsTheStateNotTheBias) {
  const RecurrentWeights weights{{0, 0, 0}, {0, 0, 0.25}, {0, -large, 0}, {0, 0, 0.5}};  // reset 1/2, update shut
  EXPECT_NEAR(recurrent_step(RecurrentCell::gru_reset_before, weights, {1}, {{2}, {}}).hidden[0], std::tanh(0.25 * 0.5 * 2 + 0.5), 1e-15);
  // two units: the second one's gate reaches the first one's candidate
  const RecurrentWeights two{Vector(6, 0.0), {0, 0, 0, 0, 0, 0, 0, 0, 0, 0.5, 0, 0}, {large, -large, -large, -large, 0, 0}, Vector(6, 0.0)};
  EXPECT_NEAR(recurrent_step(RecurrentCell::gru_reset_before, two, {1}, {{2, 4}, {}}).hidden[0], 0, 1e-15);
  EXPECT_NEAR(recurrent_step(RecurrentCell::gru, two, {1}, {{2, 4}, {}}).hidden[0], std::tanh(0.5 * 4), 1e-15);
}

TEST(RecurrentReference, AnLstmForgetsAddsAndShows) {
  // input gate 1/2, forget gate 3/4, candidate tanh(0.5 + 0.25), output gate 1/4
  const RecurrentWeights weights{{0, 0, 0.5, 0}, {0, 0, 0.125, 0}, {0, std::log(3.0), 0, -std::log(3.0)}, {0, 0, 0, 0}};
  const CellState after = recurrent_step(RecurrentCell::lstm, weights, {1}, {{2}, {8}});
  EXPECT_NEAR(after.cell[0], 0.75 * 8 + 0.5 * std::tanh(0.75), 1e-14);
  EXPECT_NEAR(after.hidden[0], 0.25 * std::tanh(after.cell[0]), 1e-15);
}

TEST(RecurrentReference, TheSecondDirectionReadsFromTheEnd) {
  // a GRU whose state becomes tanh of its input
  const RecurrentWeights follow{{0, 0, 1}, {0, 0, 0}, {0, -large, 0}, {0, 0, 0}}, negate{{0, 0, -1}, {0, 0, 0}, {0, -large, 0}, {0, 0, 0}};
  const RecurrentOutcome outcome = recurrent({RecurrentCell::gru, 1, 1, 1, 2}, {follow, negate}, {{0.5}, {2}});
  EXPECT_NEAR(outcome.output[0][0], std::tanh(0.5), 1e-15);
  EXPECT_NEAR(outcome.output[0][1], -std::tanh(0.5), 1e-15);
  EXPECT_NEAR(outcome.states[0].hidden[0], std::tanh(2.0), 1e-15) << "after the last place";
  EXPECT_NEAR(outcome.states[1].hidden[0], -std::tanh(0.5), 1e-15) << "after the first place";
}

}  // namespace
}  // namespace attend::reference
