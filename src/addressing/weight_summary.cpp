#include "attend/addressing/weight_summary.h"

#include <algorithm>
#include <numeric>
#include <type_traits>

#include "addressing/finite.h"
#include "addressing/fused_read.h"
#include "attend/core/shapes.h"

namespace attend::addressing {
namespace {

// One call of read(), whose weights are wanted in parts.
template <class Score>
class Weights {
 public:
  Weights(const char* where, const Tensor& query, const Tensor& key, const Score& score, const std::vector<std::int64_t>& heads, const Mask& mask,
          const ReadOptions& options)
      : where_(where), query_(query), key_(key), score_(score), options_(options) {
    check_shape(where, "query", query, {{"B"}, {"Hq"}, {"Lq"}, {"Dk"}});
    check_shape(where, "key", key, {{"B", query.size(0)}, {"Hkv"}, {"Lk"}, {"Dk"}});
    check_grouped_heads(where, query.size(1), key.size(1));
    check_floating(where, "query", query);
    if (options.normalizer == Normalizer::hard_sample)
      throw NotSupported(format("{}: weights of normalizer \"hard-sample\" are drawn: ask the read itself for them (return_weights)", where));
    heads_ = indices("head", heads, query.size(1));
    seen_ = mask.spans(where, {query.size(0), query.size(1), query.size(2), key.size(2)}, query);
    if (options.window) window_ = options.window(is_finite(query.detach()) ? query : zero_rows(query, finite_rows(query)));
    // additive scores are made fused where they can be: a part of the composed form has A times as many numbers as weights
    options_.path = std::is_same_v<Score, AdditiveForm> ? Path::automatic : Path::composed;
    options_.return_weights = true;
    options_.dropout = 0;
  }

  // Of these queries: [B, heads, queries, Lk].
  Tensor of(const Tensor& queries) {
    const auto rows = [&](const Tensor& pairs) { return chosen(pairs, 2, queries); };
    Mask mask;
    if (seen_.spans) mask = mask & Mask::keep(keep_of_spans(seen_.spans->index_select(1, queries), key_.size(2)));
    if (seen_.rest.keep) mask = mask & Mask::keep(of_heads(rows(*seen_.rest.keep)));
    if (seen_.rest.bias) mask = mask & Mask::bias(of_heads(rows(*seen_.rest.bias)));
    ReadOptions options = options_;
    if (options.window)
      options.window = [&](const Tensor&) {
        WindowTensors window;
        if (window_.keep) window.keep = of_heads(rows(*window_.keep));
        if (window_.factors) window.factors = of_heads(rows(*window_.factors));
        return window;
      };
    const Tensor query = query_.index_select(2, queries).index_select(1, heads_);                 // [B, heads, queries, Dk]
    const Tensor key = key_.index_select(1, at::div(heads_, query_.size(1) / key_.size(1), "floor"));  // [B, heads, Lk, Dk]
    const Tensor no_value = at::empty({key.size(0), key.size(1), key.size(2), 0}, key.options());
    return read(where_, query, key, no_value, score_, mask, options).weights;
  }

  Tensor indices(const char* name, const std::vector<std::int64_t>& wanted, std::int64_t count) const {
    const auto options = query_.options().dtype(at::kLong).requires_grad(false);
    if (wanted.empty()) return at::arange(count, options);
    for (const std::int64_t index : wanted)
      if (index < 0 || index >= count) throw InvalidArgument(format("{}: expected a {} from 0 to {}, got {}", where_, name, count - 1, index));
    return at::tensor(wanted, options);
  }
  std::int64_t heads() const { return heads_.size(0); }

 private:
  static Tensor chosen(const Tensor& pairs, std::int64_t axis, const Tensor& indices) { return pairs.size(axis) == 1 ? pairs : pairs.index_select(axis, indices); }
  Tensor of_heads(const Tensor& pairs) const { return chosen(pairs, 1, heads_); }

  const char* where_;
  Tensor query_, key_;
  const Score& score_;
  ReadOptions options_;
  Tensor heads_;
  Mask::Spans seen_;
  WindowTensors window_;
};

// Length of the blocks of a thumbnail that has at most `most` of them.
std::int64_t block_length(std::int64_t count, std::int64_t most) { return std::max<std::int64_t>(1, (count + most - 1) / most); }

// The block that each place belongs to: int64 [count].
Tensor block_of_places(std::int64_t count, std::int64_t block, const Tensor& like) {
  return at::div(at::arange(count, like.options().dtype(at::kLong).requires_grad(false)), block, "floor");
}

template <class Score>
WeightSummary summarise(const char* where, const Tensor& query, const Tensor& key, const Score& score, const Mask& mask, const ReadOptions& options,
                        const WeightSummaryOptions& wanted) {
  if (wanted.top < 1 || wanted.rows < 1 || wanted.columns < 1)
    throw InvalidArgument(format("{}: expected top, rows and columns of at least 1, got {}, {} and {}", where, wanted.top, wanted.rows, wanted.columns));
  const torch::NoGradGuard no_gradient;
  Weights<Score> weights(where, query, key, score, wanted.heads, mask, options);
  const std::int64_t B = query.size(0), H = weights.heads(), Lq = query.size(2), Lk = key.size(2), top = std::min(wanted.top, Lk);
  const std::int64_t block_rows = block_length(Lq, wanted.rows), block_columns = block_length(Lk, wanted.columns);
  const std::int64_t rows = (Lq + block_rows - 1) / block_rows, columns = (Lk + block_columns - 1) / block_columns;
  const bool narrow = query.scalar_type() == at::kHalf || query.scalar_type() == at::kBFloat16;
  const auto numbers = query.options().dtype(narrow ? at::kFloat : query.scalar_type()).requires_grad(false);
  WeightSummary summary{at::full({B, H, Lq, top}, -1, numbers.dtype(at::kLong)), at::zeros({B, H, Lq, top}, numbers), at::zeros({B, H, Lq}, numbers),
                        at::zeros({B, H, rows, columns}, numbers), block_rows, block_columns};
  const Tensor row_of = block_of_places(Lq, block_rows, query), column_of = block_of_places(Lk, block_columns, query);
  constexpr std::int64_t most_numbers = 1 << 21;  // of a part
  const std::int64_t at_once = std::clamp<std::int64_t>(most_numbers / std::max<std::int64_t>(1, B * H * Lk), 1, std::max<std::int64_t>(1, Lq));
  for (std::int64_t first = 0; first < Lq; first += at_once) {
    const std::int64_t count = std::min(at_once, Lq - first);
    const Tensor w = weights.of(at::arange(first, first + count, row_of.options())).to(numbers.dtype());  // [B, H, count, Lk]
    if (top > 0) {
      const auto [values, keys] = w.sort(/*stable=*/true, /*dim=*/3, /*descending=*/true);
      const Tensor best = values.narrow(3, 0, top);
      summary.top_weights.narrow(2, first, count).copy_(best);
      summary.top_keys.narrow(2, first, count).copy_(keys.narrow(3, 0, top).masked_fill(best == 0, -1));
    }
    summary.entropy.narrow(2, first, count).copy_(-at::xlogy(w, w).sum(3));
    const Tensor of_columns = at::zeros({B, H, count, columns}, numbers).index_add_(3, column_of, w);
    summary.thumbnail.index_add_(2, row_of.narrow(0, first, count), of_columns);
  }
  const Tensor sizes = at::bincount(row_of, {}, rows).unsqueeze(1) * at::bincount(column_of, {}, columns).unsqueeze(0);  // [R, C]
  summary.thumbnail.div_(sizes.clamp_min(1).to(numbers.dtype()));
  return summary;
}

template <class Score>
Tensor choose(const char* where, const Tensor& query, const Tensor& key, const Score& score, const WeightSelection& selection, const Mask& mask,
              const ReadOptions& options) {
  Weights<Score> weights(where, query, key, score, selection.heads, mask, options);
  return weights.of(weights.indices("query", selection.queries, query.size(2)));
}

}  // namespace

Tensor chosen_weights(const char* where, const Tensor& query, const Tensor& key, const ScoreFunction& score, const WeightSelection& selection, const Mask& mask,
                      const ReadOptions& options) {
  return choose(where, query, key, score, selection, mask, options);
}

Tensor chosen_weights(const char* where, const Tensor& query, const Tensor& key, const DotForm& score, const WeightSelection& selection, const Mask& mask,
                      const ReadOptions& options) {
  return choose(where, query, key, score, selection, mask, options);
}

Tensor chosen_weights(const char* where, const Tensor& query, const Tensor& key, const AdditiveForm& score, const WeightSelection& selection, const Mask& mask,
                      const ReadOptions& options) {
  return choose(where, query, key, score, selection, mask, options);
}

WeightSummary summarise_weights(const char* where, const Tensor& query, const Tensor& key, const ScoreFunction& score, const Mask& mask, const ReadOptions& options,
                                const WeightSummaryOptions& wanted) {
  return summarise(where, query, key, score, mask, options, wanted);
}

WeightSummary summarise_weights(const char* where, const Tensor& query, const Tensor& key, const DotForm& score, const Mask& mask, const ReadOptions& options,
                                const WeightSummaryOptions& wanted) {
  return summarise(where, query, key, score, mask, options, wanted);
}

WeightSummary summarise_weights(const char* where, const Tensor& query, const Tensor& key, const AdditiveForm& score, const Mask& mask, const ReadOptions& options,
                                const WeightSummaryOptions& wanted) {
  return summarise(where, query, key, score, mask, options, wanted);
}

}  // namespace attend::addressing
