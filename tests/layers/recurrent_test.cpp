#include "attend/layers/recurrent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "attend/base/error.h"
#include "attend/core/shapes.h"
#include "tests/reference/gradients.h"
#include "tests/reference/recurrent.h"

namespace attend::layers {
namespace {

using testing::ElementsAre;
using testing::StrEq;
using testing::ThrowsMessage;

// H is no multiple of a vector's width: kernels have a rest.
constexpr std::int64_t E = 3, H = 5;

std::vector<std::pair<Cell, Reset>> cells() { return {{Cell::gru, Reset::after}, {Cell::gru, Reset::before}, {Cell::lstm, Reset::after}}; }

// Every form of the layer that the tests go through.
std::vector<RecurrentOptions> all_forms() {
  std::vector<RecurrentOptions> forms;
  for (const auto& [cell, reset] : cells())
    for (const std::int64_t layers : {1, 2})
      for (const bool bidirectional : {false, true})
        for (const Path path : {Path::fused, Path::composed})
          forms.push_back({.cell = cell, .layers = layers, .bidirectional = bidirectional, .path = path, .reset = reset});
  return forms;
}

// In float64, with weights that are large enough to matter.
Recurrent make_network(const RecurrentOptions& options) {
  Recurrent network(E, H, options);
  network->to(at::kDouble);
  const torch::NoGradGuard no_gradient;
  for (Tensor& parameter : network->parameters()) parameter.normal_(0, 0.8);
  return network;
}

std::string printed(const RecurrentOptions& options) {
  std::ostringstream text;
  text << Recurrent(E, H, options);
  return text.str();
}

std::string form_of(const RecurrentOptions& options) { return printed(options) + " " + std::string(name_of(options.path)); }

reference::RecurrentSizes reference_sizes(const RecurrentOptions& options) {
  const auto cell = options.cell == Cell::lstm          ? reference::RecurrentCell::lstm
                    : options.reset == Reset::before ? reference::RecurrentCell::gru_reset_before
                                                     : reference::RecurrentCell::gru;
  return {cell, E, H, options.layers, options.bidirectional ? 2 : 1};
}

std::vector<reference::RecurrentWeights> weights_of(const Recurrent& network) {
  std::vector<reference::RecurrentWeights> weights;
  const std::vector<Tensor> parameters = network->parameters();
  for (std::size_t i = 0; i < parameters.size(); i += 4)
    weights.push_back({reference::numbers(parameters[i]), reference::numbers(parameters[i + 1]), reference::numbers(parameters[i + 2]),
                       reference::numbers(parameters[i + 3])});
  return weights;
}

std::vector<reference::CellState> states_of(const RecurrentState& state, std::int64_t row, std::int64_t count) {
  std::vector<reference::CellState> states;
  for (std::int64_t i = 0; i < count && state.hidden.defined(); ++i)
    states.push_back(
        {reference::numbers(state.hidden[row][i]), state.cell.defined() ? reference::numbers(state.cell[row][i]) : reference::Vector()});
  return states;
}

// Every row by itself, without its padding, through the loops.
void expect_loops(const RecurrentOptions& options, const Recurrent& network, const RecurrentResult& got, const Tensor& input,
                  const std::vector<std::int64_t>& lengths, const RecurrentState& initial = {}) {
  const reference::RecurrentSizes sizes = reference_sizes(options);
  const auto width = static_cast<std::size_t>(H * sizes.directions);
  std::vector<double> output, hidden, cell;
  for (std::int64_t row = 0; row < input.size(0); ++row) {
    const std::int64_t length = lengths[static_cast<std::size_t>(row)];
    std::vector<reference::Vector> sequence;
    for (std::int64_t place = 0; place < length; ++place) sequence.push_back(reference::numbers(input[row][place]));
    const reference::RecurrentOutcome wanted =
        reference::recurrent(sizes, weights_of(network), sequence, states_of(initial, row, sizes.layers * sizes.directions));
    for (const reference::Vector& one : wanted.output) output.insert(output.end(), one.begin(), one.end());
    output.resize(output.size() + static_cast<std::size_t>(input.size(1) - length) * width, 0.0);
    for (const reference::CellState& state : wanted.states) {
      hidden.insert(hidden.end(), state.hidden.begin(), state.hidden.end());
      cell.insert(cell.end(), state.cell.begin(), state.cell.end());
    }
  }
  const reference::Tolerance near = reference::tolerance(reference::Type::float64, E + H);
  const std::string form = form_of(options);
  EXPECT_EQ(reference::difference("output", reference::numbers(got.output), output, near), "") << form;
  EXPECT_EQ(reference::difference("hidden", reference::numbers(got.state.hidden), hidden, near), "") << form;
  EXPECT_EQ(got.state.hidden.sizes(), at::IntArrayRef({input.size(0), sizes.layers * sizes.directions, H})) << form;
  EXPECT_EQ(got.state.cell.defined(), options.cell == Cell::lstm) << form;
  if (got.state.cell.defined()) {
    EXPECT_EQ(reference::difference("cell", reference::numbers(got.state.cell), cell, near), "") << form;
  }
}

RecurrentState random_state(const RecurrentOptions& options, std::int64_t batch) {
  const std::int64_t count = options.layers * (options.bidirectional ? 2 : 1);
  const Tensor hidden = at::randn({batch, count, H}, at::kDouble);
  return {hidden, options.cell == Cell::lstm ? at::randn({batch, count, H}, at::kDouble) : Tensor()};
}

TEST(Recurrent, EqualsTheLoopsWithoutPadding) {
  const Tensor input = at::randn({3, 5, E}, at::kDouble);
  for (const RecurrentOptions& options : all_forms()) {
    Recurrent network = make_network(options);
    expect_loops(options, network, network(input), input, {5, 5, 5});
    expect_loops(options, network, network(input, at::tensor({5, 5, 5}, at::kLong)), input, {5, 5, 5});
  }
}

TEST(Recurrent, EqualsTheLoopsWithPaddingInAnyOrderOfLengths) {
  const Tensor input = at::randn({4, 5, E}, at::kDouble);
  for (const RecurrentOptions& options : all_forms()) {
    Recurrent network = make_network(options);
    expect_loops(options, network, network(input, at::tensor({2, 5, 1, 4}, at::kLong)), input, {2, 5, 1, 4});
    expect_loops(options, network, network(input, at::tensor({3, 3, 2, 3}, at::kLong)), input, {3, 3, 2, 3});  // padding in every row
  }
}

TEST(Recurrent, BeginsWithTheGivenState) {
  const Tensor input = at::randn({3, 4, E}, at::kDouble);
  for (const RecurrentOptions& options : all_forms()) {
    Recurrent network = make_network(options);
    const RecurrentState initial = random_state(options, 3);
    expect_loops(options, network, network(input, Tensor(), initial), input, {4, 4, 4}, initial);
    expect_loops(options, network, network(input, at::tensor({1, 4, 2}, at::kLong), initial), input, {1, 4, 2}, initial);
  }
}

TEST(Recurrent, TheStateOfOneCallContinuesInTheNext) {
  const Tensor input = at::randn({2, 6, E}, at::kDouble);
  for (const RecurrentOptions& options : all_forms()) {
    if (options.bidirectional) continue;
    Recurrent network = make_network(options);
    const RecurrentResult whole = network(input), first = network(input.slice(1, 0, 2)),
                          second = network(input.slice(1, 2), Tensor(), first.state);
    EXPECT_TRUE(at::allclose(at::cat({first.output, second.output}, 1), whole.output, 1e-13, 1e-13)) << form_of(options);
    EXPECT_TRUE(at::allclose(second.state.hidden, whole.state.hidden, 1e-13, 1e-13)) << form_of(options);
  }
}

TEST(Recurrent, MorePaddingChangesNothing) {
  const Tensor input = at::randn({3, 4, E}, at::kDouble), lengths = at::tensor({4, 1, 3}, at::kLong);
  Tensor longer = at::full({3, 9, E}, 1e3, at::kDouble);
  for (std::int64_t row = 0; row < 3; ++row) {
    const auto length = lengths[row].item<std::int64_t>();
    longer[row].slice(0, 0, length).copy_(input[row].slice(0, 0, length));
  }
  for (const RecurrentOptions& options : all_forms()) {
    Recurrent network = make_network(options);
    const RecurrentResult little = network(input, lengths), much = network(longer, lengths);
    EXPECT_TRUE(at::allclose(much.output.slice(1, 0, 4), little.output, 1e-13, 1e-13)) << form_of(options);
    EXPECT_TRUE(much.output.slice(1, 4).equal(at::zeros_like(much.output.slice(1, 4)))) << form_of(options);
    EXPECT_TRUE(at::allclose(much.state.hidden, little.state.hidden, 1e-13, 1e-13)) << form_of(options);
    const Tensor padded = longer.detach().clone().set_requires_grad(true);
    const RecurrentResult result = network(padded, lengths);
    const Tensor gradient = torch::autograd::grad({result.output.sum() + result.state.hidden.sum()}, {padded})[0];
    for (std::int64_t row = 0; row < 3; ++row)
      EXPECT_EQ(gradient[row].slice(0, lengths[row].item<std::int64_t>()).abs().max().item<double>(), 0) << form_of(options);
  }
}

TEST(Recurrent, HasTheGradientsOfItsFormula) {
  for (const RecurrentOptions& options : all_forms()) {
    if (options.path == Path::composed && options.layers > 1) continue;  // libtorch's own backward pass: once is enough
    Recurrent network = make_network(options);
    const Tensor input = at::randn({2, 3, E}, at::kDouble).set_requires_grad(true), lengths = at::tensor({1, 3}, at::kLong);
    RecurrentState initial = random_state(options, 2);
    std::vector<Tensor> inputs = network->parameters();
    inputs.push_back(input);
    inputs.push_back(initial.hidden.set_requires_grad(true));
    if (initial.cell.defined()) inputs.push_back(initial.cell.set_requires_grad(true));
    const RecurrentResult shapes = network(input, lengths, initial);
    const Tensor of_output = at::randn_like(shapes.output), of_hidden = at::randn_like(shapes.state.hidden);
    const auto loss = [&] {
      const RecurrentResult result = network(input, lengths, initial);
      const Tensor sum = (result.output * of_output).sum() + (result.state.hidden * of_hidden).sum();
      return result.state.cell.defined() ? sum + (result.state.cell * of_hidden).sum() : sum;
    };
    EXPECT_EQ(reference::gradient_difference(loss, inputs), "") << form_of(options);
  }
}

TEST(Recurrent, FusedAndComposedAgreeInEachTypeWithItsGradients) {
  constexpr std::int64_t width = 19;  // whole vectors and a rest
  for (const at::ScalarType type : {at::kFloat, at::kDouble})
    for (const auto& [cell, reset] : cells())
      for (const Tensor& lengths : {Tensor(), at::tensor({4, 7, 1}, at::kLong)}) {
        RecurrentOptions options{.cell = cell, .layers = 2, .bidirectional = true, .path = Path::fused, .reset = reset};
        Recurrent fused(E, width, options);
        options.path = Path::composed;
        Recurrent composed(E, width, options);
        fused->to(type), composed->to(type);
        const Tensor input = at::randn({3, 7, E}, at::kDouble).to(type).set_requires_grad(true);
        const torch::NoGradGuard copying;
        const std::vector<Tensor> from = fused->parameters(), to = composed->parameters();
        for (std::size_t i = 0; i < from.size(); ++i) to[i].copy_(from[i]);
        const at::AutoGradMode taking_gradients(true);
        const Tensor cotangent = at::randn({3, 7, 2 * width}, type);
        const auto gradients_of = [&](Recurrent& network, const Tensor& output) {
          std::vector<Tensor> inputs = network->parameters();
          inputs.push_back(input);
          return torch::autograd::grad({(output * cotangent).sum()}, inputs);
        };
        const Tensor got = fused(input, lengths).output, wanted = composed(input, lengths).output;
        const reference::Type kind = reference::type_of(got);
        EXPECT_EQ(reference::difference("output", reference::numbers(got), reference::numbers(wanted), reference::tolerance(kind, width)),
                  "");
        const std::vector<Tensor> got_gradients = gradients_of(fused, got), wanted_gradients = gradients_of(composed, wanted);
        for (std::size_t i = 0; i < got_gradients.size(); ++i)
          EXPECT_EQ(reference::difference("gradient", reference::numbers(got_gradients[i]), reference::numbers(wanted_gradients[i]),
                                          reference::gradient_tolerance(kind, width)),
                    "")
              << "of input " << i;
      }
}

TEST(Recurrent, ANaNIsSeenFromItsPlaceOnInItsRow) {
  for (const RecurrentOptions& options : all_forms()) {
    if (options.bidirectional) continue;
    Recurrent network = make_network(options);
    Tensor input = at::randn({2, 4, E}, at::kDouble);
    input[1][2][0] = std::nan("");
    const Tensor output = network(input).output;
    EXPECT_TRUE(at::isnan(output[1].slice(0, 2)).all().item<bool>()) << form_of(options);
    EXPECT_TRUE(at::isfinite(output[1].slice(0, 0, 2)).all().item<bool>()) << form_of(options);
    EXPECT_TRUE(at::isfinite(output[0]).all().item<bool>()) << form_of(options);
  }
}

TEST(Recurrent, WhatStandsInPaddingReachesNeitherOutputsNorGradients) {
  for (const RecurrentOptions& options : all_forms()) {
    Recurrent network = make_network(options);
    const Tensor lengths = at::tensor({2, 4}, at::kLong);
    const auto all = [&](double padding) {
      Tensor input = at::arange(2 * 4 * E, at::kDouble).sin().reshape({2, 4, E});
      input[0].slice(0, 2).fill_(padding);
      input.set_requires_grad(true);
      const Tensor output = network(input, lengths).output;
      std::vector<Tensor> inputs = network->parameters();
      inputs.push_back(input);
      std::vector<Tensor> found = torch::autograd::grad({output.pow(2).sum()}, inputs);
      found.push_back(output.detach());
      return found;
    };
    const std::vector<Tensor> clean = all(0.0), dirty = all(std::nan(""));
    for (std::size_t i = 0; i < clean.size(); ++i) EXPECT_TRUE(at::equal(clean[i], dirty[i])) << form_of(options) << ", tensor " << i;
  }
}

// The fused backward pass is written by hand: under create_graph it must hand over to a form that can be differentiated again.
TEST(Recurrent, HasTheSecondDerivativesOfItsFormula) {
  for (const RecurrentOptions& options : all_forms()) {
    if (options.path == Path::composed || options.layers > 1 || !options.bidirectional) continue;
    Recurrent network = make_network(options);
    const Tensor input = at::randn({2, 3, E}, at::kDouble).set_requires_grad(true), lengths = at::tensor({2, 3}, at::kLong);
    const Tensor hidden = random_state(options, 2).hidden.set_requires_grad(true);
    const Tensor cotangent = at::randn({2, 3, H * network->directions()}, at::kDouble);
    std::vector<Tensor> inputs = {input, hidden, network->parameters()[1]};
    const auto loss = [&] {
      const torch::AutoGradMode taking_gradients(true);
      const Tensor first = (network(input, lengths, RecurrentState{hidden, {}}).output * cotangent).sum();
      Tensor sum = at::zeros({}, at::kDouble);
      for (const Tensor& gradient : torch::autograd::grad({first}, inputs, {}, {}, /*create_graph=*/true))
        sum = sum + gradient.pow(2).sum();
      return sum;
    };
    EXPECT_EQ(reference::gradient_difference(loss, inputs), "") << form_of(options);
  }
}

TEST(Recurrent, ParametersHavePyTorchsNamesAndShapes) {
  const auto named = [](const RecurrentOptions& options) {
    std::vector<std::string> names;
    for (const auto& item : Recurrent(E, H, options)->named_parameters()) names.push_back(item.key() + " " + shape_text(item.value()));
    return names;
  };
  EXPECT_THAT(named({.cell = Cell::gru}),
              ElementsAre("weight_ih_l0 [15, 3]", "weight_hh_l0 [15, 5]", "bias_ih_l0 [15]", "bias_hh_l0 [15]"));
  EXPECT_THAT(
      named({.cell = Cell::lstm, .layers = 2, .bidirectional = true}),
      ElementsAre("weight_ih_l0 [20, 3]", "weight_hh_l0 [20, 5]", "bias_ih_l0 [20]", "bias_hh_l0 [20]", "weight_ih_l0_reverse [20, 3]",
                  "weight_hh_l0_reverse [20, 5]", "bias_ih_l0_reverse [20]", "bias_hh_l0_reverse [20]", "weight_ih_l1 [20, 10]",
                  "weight_hh_l1 [20, 5]", "bias_ih_l1 [20]", "bias_hh_l1 [20]", "weight_ih_l1_reverse [20, 10]",
                  "weight_hh_l1_reverse [20, 5]", "bias_ih_l1_reverse [20]", "bias_hh_l1_reverse [20]"));
}

TEST(Recurrent, BeginsWithUniformWeightsAndAnLstmThatRemembers) {
  for (const RecurrentOptions& options : all_forms())
    for (const auto& item : Recurrent(E, 100, options)->named_parameters()) {
      const bool is_bias = item.key().find("bias") == 0;
      if (is_bias && options.cell == Cell::lstm) continue;
      EXPECT_LE(item.value().abs().max().item<double>(), 0.1 * 1.0001) << item.key();
      EXPECT_GE(item.value().abs().max().item<double>(), 0.09) << item.key();
    }
  const Recurrent network(E, H, RecurrentOptions{.cell = Cell::lstm, .layers = 2, .bidirectional = true});
  const auto parameters = network->named_parameters();
  for (const char* suffix : {"_l0", "_l0_reverse", "_l1", "_l1_reverse"}) {
    const Tensor sum = parameters[std::string("bias_ih") + suffix] + parameters[std::string("bias_hh") + suffix];
    EXPECT_TRUE(sum.slice(0, H, 2 * H).equal(at::ones({H}))) << suffix;
    EXPECT_LE(sum.slice(0, 0, H).abs().max().item<double>(), 1.0) << suffix;
  }
}

TEST(Recurrent, DropsBetweenLayersOnlyWhileTraining) {
  const Tensor input = at::randn({2, 5, E}, at::kDouble), lengths = at::tensor({5, 3}, at::kLong);
  for (const Cell cell : {Cell::gru, Cell::lstm}) {
    Recurrent two = make_network({.cell = cell, .layers = 2, .dropout = 0.5}), one = make_network({.cell = cell, .dropout = 0.5});
    EXPECT_FALSE(two(input).output.equal(two(input).output));
    EXPECT_FALSE(two(input, lengths).output.equal(two(input, lengths).output));
    EXPECT_TRUE(one(input).output.equal(one(input).output)) << "there is no layer below the last";
    two->eval();
    EXPECT_TRUE(two(input).output.equal(two(input).output));
    EXPECT_TRUE(two(input, lengths).output.equal(two(input, lengths).output));
  }
}

// The product before the operation is libtorch's: of small whole numbers, so that it is exact in any order.
TEST(Recurrent, NeitherThreadsNorOtherRowsChangeARow) {
  constexpr std::int64_t steps = 5, batch = 29, width = 40;
  for (const auto& [cell, reset] : cells()) {
    Recurrent network(E, width, RecurrentOptions{.cell = cell, .path = Path::fused, .reset = reset});
    network->named_parameters()["weight_ih_l0"].detach().random_(-2, 3), network->named_parameters()["bias_ih_l0"].detach().random_(-2, 3);
    const Tensor input = at::randint(-2, 3, {batch, steps, E}).to(at::kFloat), first = at::randn({batch, 1, width}).set_requires_grad(true);
    const int before = at::get_num_threads();
    std::vector<Tensor> runs;
    for (const int threads : {1, 2, 5}) {
      at::set_num_threads(threads);
      const Tensor output = network->forward(input, Tensor(), {first, {}}).output;
      runs.push_back(at::cat({output.detach().flatten(), torch::autograd::grad({output.pow(2).sum()}, {first})[0].flatten()}));
    }
    at::set_num_threads(before);
    EXPECT_TRUE(runs[1].equal(runs[0]) && runs[2].equal(runs[0])) << name_of(cell) << ", " << name_of(reset);
    const Tensor some = network->forward(input.slice(0, 3, 20), Tensor(), {first.slice(0, 3, 20), {}}).output;
    EXPECT_TRUE(some.equal(network->forward(input, Tensor(), {first, {}}).output.slice(0, 3, 20))) << name_of(cell) << ", " << name_of(reset);
  }
}

TEST(Recurrent, TakesAnEmptyBatch) {
  for (const RecurrentOptions& options : all_forms()) {
    Recurrent network = make_network(options);
    const std::int64_t directions = network->directions();
    for (const Tensor& lengths : {Tensor(), at::zeros({0}, at::kLong)}) {
      const RecurrentResult result = network(at::zeros({0, 5, E}, at::kDouble), lengths);
      EXPECT_EQ(result.output.sizes(), at::IntArrayRef({0, 5, H * directions})) << form_of(options);
      EXPECT_EQ(result.state.hidden.sizes(), at::IntArrayRef({0, options.layers * directions, H})) << form_of(options);
    }
  }
}

TEST(Recurrent, PrintsWhatItIs) {
  EXPECT_EQ(printed({.cell = Cell::gru, .layers = 2}), "attend::layers::Recurrent(3, 5, cell=gru, layers=2)");
  EXPECT_EQ(printed({.bidirectional = true}), "attend::layers::Recurrent(3, 5, cell=lstm, layers=1, bidirectional)");
  EXPECT_EQ(printed({.cell = Cell::gru, .reset = Reset::before}), "attend::layers::Recurrent(3, 5, cell=gru, layers=1, reset=before)");
}

TEST(Recurrent, ACloneHasParametersOfItsOwn) {
  const Tensor input = at::randn({2, 3, E}, at::kDouble);
  for (const RecurrentOptions& options : all_forms()) {
    Recurrent network = make_network(options), copy(std::dynamic_pointer_cast<RecurrentImpl>(network->clone()));
    const Tensor before = copy(input).output;
    EXPECT_TRUE(before.equal(network(input).output)) << form_of(options);
    const torch::NoGradGuard no_gradient;
    for (Tensor& parameter : network->parameters()) parameter.zero_();
    EXPECT_TRUE(before.equal(copy(input).output)) << form_of(options);
  }
}

auto refuses(const std::string& message) { return ThrowsMessage<InvalidArgument>(StrEq("attend::layers::Recurrent: " + message)); }

TEST(Recurrent, RefusesTheFusedPathWhereThereIsNoKernelForTheType) {
  Recurrent fused(E, H, RecurrentOptions{.path = Path::fused}), automatic(E, H);
  fused->to(at::kBFloat16), automatic->to(at::kBFloat16);
  const Tensor input = at::randn({2, 3, E}).to(at::kBFloat16);
  EXPECT_THAT([&] { fused(input); },
              ThrowsMessage<NotSupported>(StrEq("attend::layers::Recurrent: path \"fused\" needs float32 or float64 on the CPU; use "
                                                "\"automatic\" or \"composed\"")));
  EXPECT_EQ(automatic(input).output.scalar_type(), at::kBFloat16);
}

TEST(Recurrent, RefusesOptionsOutOfRange) {
  const auto making = [](std::int64_t input, std::int64_t hidden, const RecurrentOptions& options) {
    return [=] { Recurrent(input, hidden, options); };
  };
  EXPECT_THAT(making(0, 4, {}), refuses("expected positive sizes and layers, got input 0, hidden 4, layers 1"));
  EXPECT_THAT(making(3, 0, {}), refuses("expected positive sizes and layers, got input 3, hidden 0, layers 1"));
  EXPECT_THAT(making(3, 4, {.layers = 0}), refuses("expected positive sizes and layers, got input 3, hidden 4, layers 0"));
  EXPECT_THAT(making(3, 4, {.dropout = 1}), refuses("expected dropout from 0 to below 1, got 1"));
  EXPECT_THAT(making(3, 4, {.dropout = -0.25}), refuses("expected dropout from 0 to below 1, got -0.25"));
  EXPECT_THAT(making(3, 4, {.reset = Reset::before}), refuses("expected reset \"after\" for an LSTM, which has no reset gate, got \"before\""));
}

TEST(Recurrent, RefusesInputsThatDontFit) {
  Recurrent lstm(E, H), gru(E, H, RecurrentOptions{.cell = Cell::gru, .layers = 2, .bidirectional = true});
  const Tensor input = at::zeros({2, 5, E});
  EXPECT_THAT([&] { lstm(input[0]); }, refuses("expected input [B, L, E] with E = 3, got [5, 3]"));
  EXPECT_THAT([&] { lstm(at::zeros({2, 5, 7})); }, refuses("expected input [B, L, E] with E = 3, got [2, 5, 7]"));
  EXPECT_THAT([&] { lstm(at::zeros({2, 0, E})); }, refuses("expected input [B, L, E] with L ≥ 1, got [2, 0, 3]"));
  EXPECT_THAT([&] { lstm(input.to(at::kDouble)); }, refuses("expected input of the type of the parameters (Float), got Double"));
  EXPECT_THAT([&] { lstm(input, at::tensor({1, 2, 3}, at::kLong)); }, refuses("expected lengths [B] with B = 2, got [3]"));
  EXPECT_THAT([&] { lstm(input, at::tensor({1, 2}, at::kInt)); }, refuses("expected lengths of type int64, got Int"));
  EXPECT_THAT([&] { lstm(input, at::tensor({0, 5}, at::kLong)); }, refuses("expected lengths from 1 to L = 5, got 0 to 5"));
  EXPECT_THAT([&] { lstm(input, at::tensor({2, 6}, at::kLong)); }, refuses("expected lengths from 1 to L = 5, got 2 to 6"));
  const auto starting = [&input](Recurrent& network, const RecurrentState& initial) {
    return [&input, &network, initial] { network(input, Tensor(), initial); };
  };
  const Tensor one = at::zeros({2, 1, H});
  EXPECT_THAT(
      starting(gru, {one, {}}),
      refuses("expected initial hidden state [B, layers · directions, H] with B = 2, layers · directions = 4, H = 5, got [2, 1, 5]"));
  EXPECT_THAT(starting(lstm, {one, at::zeros({2, 1, 4})}),
              refuses("expected initial cell state [B, layers · directions, H] with B = 2, layers · directions = 1, H = 5, got [2, 1, 4]"));
  EXPECT_THAT(starting(lstm, {one.to(at::kDouble), {}}), refuses("expected initial hidden state of the type of input (Float), got Double"));
  EXPECT_THAT(starting(gru, {{}, at::zeros({2, 4, H})}),
              refuses("expected no initial cell state, which a GRU doesn't have, got [2, 4, 5]"));
}

// --- one step ----------------------------------------------------------------------------------------------------------------------------

TEST(GruStep, IsTheStepOfALayer) {
  for (const Reset reset : {Reset::after, Reset::before})
    for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
      Recurrent network = make_network({.cell = Cell::gru, .reset = reset});
      network->to(type);
      const std::vector<Tensor> weights = network->parameters();
      const Tensor input = at::randn({3, 4, E}, at::kDouble).to(type), wanted = network(input).output;
      const Tensor projected = at::linear(input, weights[0], weights[2]);
      Tensor hidden = at::zeros({3, H}, input.options());
      for (std::int64_t t = 0; t < 4; ++t) {
        hidden = gru_step(projected.select(1, t), hidden, weights[1], weights[3], reset);
        EXPECT_EQ(reference::difference("hidden", reference::numbers(hidden), reference::numbers(wanted.select(1, t)),
                                        reference::tolerance(reference::type_of(input), H)),
                  "")
            << name_of(reset) << ", step " << t;
      }
    }
}

TEST(GruStep, HasTheGradientsOfItsFormulaAlsoTheSecondOnes) {
  for (const Reset reset : {Reset::after, Reset::before}) {
    std::vector<Tensor> inputs = {at::randn({2, 3 * H}, at::kDouble), at::randn({2, H}, at::kDouble), at::randn({3 * H, H}, at::kDouble),
                                  at::randn({3 * H}, at::kDouble)};
    for (Tensor& input : inputs) input.set_requires_grad(true);
    const Tensor cotangent = at::randn({2, H}, at::kDouble);
    const auto loss = [&] { return (gru_step(inputs[0], inputs[1], inputs[2], inputs[3], reset) * cotangent).sum(); };
    EXPECT_EQ(reference::gradient_difference(loss, inputs), "") << name_of(reset);
    const auto squared = [&] {
      const torch::AutoGradMode taking_gradients(true);
      Tensor sum = at::zeros({}, at::kDouble);
      for (const Tensor& gradient : torch::autograd::grad({loss()}, inputs, {}, {}, /*create_graph=*/true)) sum = sum + gradient.pow(2).sum();
      return sum;
    };
    EXPECT_EQ(reference::gradient_difference(squared, inputs), "") << name_of(reset);
  }
}

TEST(GruStep, TakesTransposedTensorsAndAnEmptyBatch) {
  const Tensor projected = at::randn({3 * H, 2}, at::kDouble).t(), hidden = at::randn({H, 2}, at::kDouble).t(),
               weight = at::randn({H, 3 * H}, at::kDouble).t(), bias = at::randn({2 * 3 * H}, at::kDouble).slice(0, 0, 6 * H, 2);
  for (const Reset reset : {Reset::after, Reset::before}) {
    const Tensor plain = gru_step(projected.contiguous(), hidden.contiguous(), weight.contiguous(), bias.contiguous(), reset);
    EXPECT_TRUE(at::allclose(gru_step(projected, hidden, weight, bias, reset), plain, 1e-13, 1e-13)) << name_of(reset);
    EXPECT_EQ(gru_step(projected.slice(0, 0, 0), hidden.slice(0, 0, 0), weight, bias, reset).sizes(), at::IntArrayRef({0, H}));
  }
}

TEST(GruStep, RefusesWhatDoesNotFit) {
  const Tensor projected = at::zeros({2, 15}), hidden = at::zeros({2, 5}), weight = at::zeros({15, 5}), bias = at::zeros({15});
  const auto says = [](const std::string& message) { return ThrowsMessage<InvalidArgument>(StrEq("attend::layers::gru_step: " + message)); };
  EXPECT_THAT([&] { gru_step(projected, hidden[0], weight, bias); }, says("expected hidden [B, H], got [5]"));
  EXPECT_THAT([&] { gru_step(hidden, hidden, weight, bias); }, says("expected projected [B, 3H] with B = 2, 3H = 15, got [2, 5]"));
  EXPECT_THAT([&] { gru_step(projected, hidden, weight.t(), bias); }, says("expected recurrent_weight [3H, H] with 3H = 15, H = 5, got [5, 15]"));
  EXPECT_THAT([&] { gru_step(projected, hidden, weight, hidden[0]); }, says("expected recurrent_bias [3H] with 3H = 15, got [5]"));
  EXPECT_THAT([&] { gru_step(projected, hidden.to(at::kDouble), weight, bias); }, says("expected hidden of the type of projected (Float), got Double"));
}

TEST(LstmStep, IsTheStepOfALayer) {
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    Recurrent network = make_network({.cell = Cell::lstm});
    network->to(type);
    const std::vector<Tensor> weights = network->parameters();
    const Tensor input = at::randn({3, 4, E}, at::kDouble).to(type), projected = at::linear(input, weights[0], weights[2] + weights[3]);
    const RecurrentResult wanted = network(input);
    RecurrentState state = {at::zeros({3, H}, input.options()), at::zeros({3, H}, input.options())};
    const auto expect_same = [&](const Tensor& got, const Tensor& of_layer) {
      EXPECT_EQ(reference::difference("state", reference::numbers(got), reference::numbers(of_layer), reference::tolerance(reference::type_of(input), H)), "");
    };
    for (std::int64_t t = 0; t < 4; ++t) {
      state = lstm_step(projected.select(1, t), state, weights[1]);
      expect_same(state.hidden, wanted.output.select(1, t));
    }
    expect_same(state.cell, wanted.state.cell.select(1, 0));
  }
}

TEST(LstmStep, HasTheGradientsOfItsFormulaAlsoTheSecondOnes) {
  std::vector<Tensor> inputs = {at::randn({2, 4 * H}, at::kDouble), at::randn({2, H}, at::kDouble), at::randn({2, H}, at::kDouble),
                                at::randn({4 * H, H}, at::kDouble)};
  for (Tensor& input : inputs) input.set_requires_grad(true);
  const Tensor cotangent = at::randn({2, H}, at::kDouble);
  const auto loss = [&] {
    const RecurrentState after = lstm_step(inputs[0], {inputs[1], inputs[2]}, inputs[3]);
    return (after.hidden * cotangent).sum() + (after.cell * cotangent.cos()).sum();
  };
  EXPECT_EQ(reference::gradient_difference(loss, inputs), "");
  const auto squared = [&] {
    const torch::AutoGradMode taking_gradients(true);
    Tensor sum = at::zeros({}, at::kDouble);
    for (const Tensor& gradient : torch::autograd::grad({loss()}, inputs, {}, {}, /*create_graph=*/true)) sum = sum + gradient.pow(2).sum();
    return sum;
  };
  EXPECT_EQ(reference::gradient_difference(squared, inputs), "");
}

TEST(LstmStep, TakesAnEmptyBatchAndRefusesWhatDoesNotFit) {
  const Tensor projected = at::zeros({2, 20}), state = at::zeros({2, 5}), weight = at::zeros({20, 5});
  const Tensor none = state.slice(0, 0, 0);
  EXPECT_EQ(lstm_step(projected.slice(0, 0, 0), {none, none}, weight).cell.sizes(), at::IntArrayRef({0, 5}));
  const auto says = [](const std::string& message) { return ThrowsMessage<InvalidArgument>(StrEq("attend::layers::lstm_step: " + message)); };
  EXPECT_THAT([&] { lstm_step(projected, {state, state[0]}, weight); }, says("expected cell [B, H] with B = 2, H = 5, got [5]"));
  EXPECT_THAT([&] { lstm_step(state, {state, state}, weight); }, says("expected projected [B, 4H] with B = 2, 4H = 20, got [2, 5]"));
  EXPECT_THAT([&] { lstm_step(projected, {state, state}, weight.t()); }, says("expected recurrent_weight [4H, H] with 4H = 20, H = 5, got [5, 20]"));
  EXPECT_THAT([&] { lstm_step(projected, {state, state.to(at::kDouble)}, weight); }, says("expected cell of the type of projected (Float), got Double"));
}

}  // namespace
}  // namespace attend::layers
