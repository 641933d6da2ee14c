// Sparsemax and entmax as the Python package computes them: weights and gradients.
#include "attend/addressing/normalizers/entmax.h"

#include <cstdlib>
#include <functional>

#include "attend/addressing/normalizers/entmax15.h"
#include "attend/addressing/normalizers/sparsemax.h"
#include "attend/base/error.h"
#include "tests/reference/tensors.h"
#include "tests/vectors/vector_set.h"

namespace attend::vectors {
namespace {

constexpr std::string_view alpha_prefix = "entmax-alpha-";

// Each way that attend has to compute an operator.
using Normaliser = std::function<Tensor(const Tensor&)>;
std::vector<std::pair<std::string, Normaliser>> normalisers_of(const std::string& op) {
  const auto with = [](double alpha) -> Normaliser { return [alpha](const Tensor& scores) { return addressing::entmax(scores, {}, alpha); }; };
  if (op == "sparsemax") return {{"sparsemax", [](const Tensor& scores) { return addressing::sparsemax(scores, {}); }}, {"entmax", with(2)}};
  if (op == "entmax15") return {{"entmax15", [](const Tensor& scores) { return addressing::entmax15(scores, {}); }}, {"entmax", with(1.5)}};
  if (op.starts_with(alpha_prefix)) {
    char* end = nullptr;
    const double alpha = std::strtod(op.c_str() + alpha_prefix.size(), &end);
    if (*end == '\0' && alpha > 1) return {{"entmax", with(alpha)}};
  }
  throw InvalidData("not understood: op \"" + op + "\"");
}

}  // namespace

std::vector<std::string> check_entmax(const io::SafetensorsFile& file) {
  Case from(file);
  const Tensor given = from.required_tensor("input.scores"), wanted = from.required_tensor("output.weights");
  const Tensor cotangent = from.required_tensor("cotangent.weights"), gradient = from.required_tensor("gradient.scores");
  if (given.dim() != 2) throw InvalidData("not understood: scores of another number of dimensions than two");
  const reference::Type type = reference::type_of(given);
  for (const auto& [name, normalise] : normalisers_of(file.meta("op"))) {
    const Tensor scores = given.detach().clone().set_requires_grad(true);                         // [N, Lk]
    const Tensor weights = normalise(scores.unsqueeze(0).unsqueeze(0)).squeeze(0).squeeze(0);     // [N, Lk]
    from.expect(name, weights.detach(), wanted, reference::tolerance(type, given.size(1)));
    const Tensor got = torch::autograd::grad({(weights * cotangent).sum()}, {scores})[0];
    from.expect("gradient of " + name, got, gradient, reference::gradient_tolerance(type, given.size(1)));
  }
  return from.finish();
}

}  // namespace attend::vectors
