// What the tests of normalisers share: scores, masks, and rows of the reference.
#pragma once

#include <ATen/CPUGeneratorImpl.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/reference/gradients.h"
#include "tests/reference/tensors.h"

namespace attend::addressing {

// N(0, spread²), always the same.
inline Tensor peaky_scores(at::IntArrayRef sizes, double spread = 1.5, std::uint64_t seed = 5) {
  return at::randn(sizes, at::detail::createCPUGenerator(seed), at::kDouble) * spread;
}

// bool [B, 1, Lq, Lk]: about two thirds are visible, row 1 sees nothing, row 0 sees one key.
inline Tensor some_hidden(std::int64_t B, std::int64_t Lq, std::int64_t Lk) {
  Tensor keep = at::rand({B, 1, Lq, Lk}, at::detail::createCPUGenerator(6), at::kDouble) < 0.66;
  keep.select(2, 1).fill_(false);
  keep.select(2, 0).fill_(false);
  keep.select(2, 0).select(-1, Lk - 1).fill_(true);
  return keep;
}

// Row by row over the visible scores, 0 elsewhere.
using RowWeights = std::function<std::vector<double>(const std::vector<double>& scores, std::int64_t b, std::int64_t h, std::int64_t i)>;
inline Tensor weights_by_rows(const Tensor& scores, const std::optional<Tensor>& keep, const RowWeights& row) {
  const Tensor wide = scores.detach().to(at::kDouble).contiguous();
  const Tensor shown = keep ? keep->expand_as(wide).contiguous() : at::ones_like(wide, at::kBool), weights = at::zeros_like(wide);
  for (std::int64_t b = 0; b < wide.size(0); ++b)
    for (std::int64_t h = 0; h < wide.size(1); ++h)
      for (std::int64_t i = 0; i < wide.size(2); ++i) {
        std::vector<double> seen;
        std::vector<std::int64_t> places;
        for (std::int64_t j = 0; j < wide.size(3); ++j)
          if (shown[b][h][i][j].item<bool>()) {
            seen.push_back(wide[b][h][i][j].item<double>());
            places.push_back(j);
          }
        if (seen.empty()) continue;
        const std::vector<double> got = row(seen, b, h, i);
        for (std::size_t n = 0; n < places.size(); ++n) weights[b][h][i][places[n]] = got[n];
      }
  return weights;
}

inline std::string weight_difference(const Tensor& got, const Tensor& wanted) {
  const reference::Tolerance near = reference::tolerance(reference::type_of(got), got.size(-1));
  return reference::difference("weights", reference::numbers(got), reference::numbers(wanted), near);
}

// Empty where first and second derivatives of f are near their difference quotients at `scores`, a float64 leaf.
inline std::string derivative_difference(const std::function<Tensor(const Tensor&)>& f, const Tensor& scores) {
  const Tensor cotangent = peaky_scores(scores.sizes(), 1, 7), direction = peaky_scores(scores.sizes(), 1, 8);
  const std::string first = reference::gradient_difference([&] { return (f(scores) * cotangent).sum(); }, {scores});
  const auto along = [&] {
    const torch::AutoGradMode gradients(true);
    const Tensor weights = f(scores), loss = (weights * cotangent).sum() + weights.pow(3).sum();
    return (torch::autograd::grad({loss}, {scores}, {}, {}, /*create_graph=*/true)[0] * direction).sum();
  };
  const std::string second = reference::gradient_difference(along, {scores});
  return first + (second.empty() ? "" : "second order: " + second);
}

}  // namespace attend::addressing
