#include "models/checks.h"

#include "attend/core/shapes.h"

namespace attend::models {

void check_positive(const char* model, std::initializer_list<std::pair<const char*, std::int64_t>> options) {
  for (const auto& [name, value] : options)
    if (value < 1) throw InvalidArgument(format("{}: expected {} ≥ 1, got {}", model, name, value));
}

void check_fractions(const char* model, std::initializer_list<std::pair<const char*, double>> options) {
  for (const auto& [name, value] : options)
    if (!(value >= 0 && value < 1)) throw InvalidArgument(format("{}: expected {} from 0 to below 1, got {}", model, name, value));
}

void check_tied(const char* model, bool tied, std::int64_t embedding, const char* width_name, std::int64_t width) {
  if (tied && embedding != width)
    throw InvalidArgument(format("{}: tied embeddings need embedding = {}, since one weight serves both, got {} and {}; make them equal, or leave tied out",
                                 model, width_name, embedding, width));
}

void check_source(const char* model, const TokenBatch& source) {
  check_shape(model, "source tokens", source.tokens, {{"B"}, {"L"}});
  const std::int64_t batch = source.tokens.size(0), longest = source.tokens.size(1);
  check_shape(model, "source lengths", source.lengths, {{"B", batch}});
  if (source.lengths.scalar_type() != at::kLong)
    throw InvalidArgument(format("{}: expected source lengths of type int64, got {}", model, at::toString(source.lengths.scalar_type())));
  if (batch == 0) return;
  const auto least = source.lengths.min().item<std::int64_t>(), most = source.lengths.max().item<std::int64_t>();
  if (least < 1 || most > longest)
    throw InvalidArgument(format("{}: expected source lengths from 1 to L = {}, got {} to {}", model, longest, least, most));
}

void check_target(const char* model, const TokenBatch& target, std::int64_t batch) {
  check_shape(model, "target tokens", target.tokens, {{"B", batch}, {"L"}});
  if (target.tokens.size(1) < 2)
    throw InvalidArgument(
        format("{}: expected target tokens [B, L] with L ≥ 2, for a beginning and an end, got {}", model, shape_text(target.tokens)));
}

}  // namespace attend::models
