#include "addressing/normalize.h"

#include <cmath>

#include "attend/addressing/normalizers/entmax.h"
#include "attend/addressing/normalizers/entmax15.h"
#include "attend/addressing/normalizers/hard_max.h"
#include "attend/addressing/normalizers/hard_sample.h"
#include "attend/addressing/normalizers/softmax.h"
#include "attend/addressing/normalizers/sparsemax.h"
#include "attend/addressing/normalizers/uniform.h"
#include "attend/base/error.h"

namespace attend::addressing {
namespace {

Normalized draw(const Tensor& scores, const std::optional<Tensor>& keep, const ReadOptions& options) {
  HardSampleOptions how;
  how.origin = options.dropout_origin;
  if (options.draw == Draw::sample) {
    how.seed = draw_dropout_seed(options.generator);
    how.expected = options.expected;
  }
  const HardSample drawn = hard_sample(scores, keep, how);
  return {drawn.weights, drawn.log_probability, drawn.entropy};
}

}  // namespace

void check_normalizer(const char* where, const ReadOptions& options) {
  if (options.normalizer == Normalizer::entmax && !(options.alpha > 1 && std::isfinite(options.alpha)))
    throw InvalidArgument(
        format("{}: expected alpha above 1, got {}; what alpha = 1 stands for is normalizer \"softmax\"", where, options.alpha));
  if (!(options.expected >= 0 && options.expected <= 1))
    throw InvalidArgument(format("{}: expected a probability from 0 to 1 in `expected`, got {}", where, options.expected));
}

Normalized normalize(const Tensor& scores, const std::optional<Tensor>& keep, const ReadOptions& options) {
  switch (options.normalizer) {
    case Normalizer::softmax: return {masked_softmax(scores, keep)};
    case Normalizer::sparsemax: return {sparsemax(scores, keep)};
    case Normalizer::entmax15: return {entmax15(scores, keep)};
    case Normalizer::entmax: return {entmax(scores, keep, options.alpha)};
    case Normalizer::uniform: return {masked_uniform(scores, keep)};
    case Normalizer::hard_max: return {hard_max(scores, keep)};
    case Normalizer::hard_sample: return draw(scores, keep, options);
  }
  throw InvalidArgument("attend::addressing::read: unknown normaliser");
}

Tensor renormalised(const Tensor& weights) {
  const Tensor sum = weights.sum(-1, /*keepdim=*/true);                                           // [B, Hq, Lq, 1]
  return weights / sum.masked_fill(sum == 0, 1.0);
}

}  // namespace attend::addressing
