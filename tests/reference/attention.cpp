#include "tests/reference/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/reference/normalizers.h"
#include "tests/reference/philox.h"

namespace attend::reference {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

bool all_finite(const double* numbers, std::int64_t count) {
  return std::all_of(numbers, numbers + count, [](double number) { return std::isfinite(number); });
}

struct Place {
  std::int64_t b, h, i, j;
};

// The element of a mask tensor that stands at `place`, dimensions of size 1 standing for all.
double element(const MaskPart& part, const Place& place) {
  const std::int64_t at[4] = {place.b, place.h, place.i, place.j};
  const std::size_t skipped = 4 - part.shape.size();
  std::size_t index = 0;
  for (std::size_t d = 0; d < part.shape.size(); ++d)
    index = index * static_cast<std::size_t>(part.shape[d]) + static_cast<std::size_t>(part.shape[d] == 1 ? 0 : at[d + skipped]);
  return part.numbers[index];
}

bool lets_through(const MaskPart& part, const Sizes& sizes, const Place& place) {
  const std::int64_t stands_at = place.i + (part.upper_left ? 0 : sizes.Lk - sizes.Lq);
  switch (part.kind) {
    case MaskPart::Kind::keep:
      return element(part, place) != 0;
    case MaskPart::Kind::drop:
      return element(part, place) == 0;
    case MaskPart::Kind::lengths:
      return static_cast<double>(place.j) < part.numbers[static_cast<std::size_t>(place.b)];
    case MaskPart::Kind::causal:
      return place.j <= stands_at;
    case MaskPart::Kind::band:
      return stands_at - part.left <= place.j && place.j <= stands_at + part.right;
    case MaskPart::Kind::bias:
      return element(part, place) != -std::numeric_limits<double>::infinity();
  }
  return false;
}

// One row: one query of one head.
struct Row {
  const Sizes& sizes;
  const double *query, *keys, *values;  // keys [Lk, Dk] and values [Lk, Dv] of the head that this one reads
  const PairScore& score;
  const std::vector<MaskPart>& mask;
  const Settings& settings;
  std::int64_t b, h, i;

  // S: the least of the lengths that the mask gives.
  std::int64_t true_length() const {
    double length = static_cast<double>(sizes.Lk);
    for (const MaskPart& part : mask)
      if (part.kind == MaskPart::Kind::lengths) length = std::min(length, part.numbers[static_cast<std::size_t>(b)]);
    return static_cast<std::int64_t>(length);
  }

  // A query that isn't finite looks where one of zeros would.
  double centre() const {
    if (!settings.window.centre) return 0;
    const std::vector<double> zeros(static_cast<std::size_t>(sizes.Dq), 0.0);
    const double* from = all_finite(query, sizes.Dq) ? query : zeros.data();
    return settings.window.centre(from, settings.first_query + i, true_length());
  }

  bool visible(std::int64_t j, double centre_of_query) const {
    return settings.window.has(centre_of_query, j) &&
           std::all_of(mask.begin(), mask.end(), [&](const MaskPart& part) { return lets_through(part, sizes, {b, h, i, j}); });
  }

  double bias(std::int64_t j) const {
    double sum = 0;
    for (const MaskPart& part : mask)
      if (part.kind == MaskPart::Kind::bias) sum += element(part, {b, h, i, j});
    return sum;
  }

  double masked_score(std::int64_t j) const {
    double s = settings.place_score ? settings.place_score(query, j) : score(query, keys + j * sizes.Dk);
    if (settings.soft_cap > 0) s = settings.soft_cap * std::tanh(s / settings.soft_cap);
    return s + bias(j);
  }

  double multiplier(std::int64_t j) const {
    if (settings.dropout == 0) return 1;
    const bool dropped = is_dropped(settings.seed, settings.dropout, settings.origin[0] + b, settings.origin[1] + h, settings.origin[2] + i,
                                    settings.origin[3] + j);
    return dropped ? 0 : 1 / (1 - settings.dropout);
  }

  void run(double* weights, double* context) const;
};

void Row::run(double* weights, double* context) const {
  const double p = centre();
  std::vector<std::int64_t> seen;
  for (std::int64_t j = 0; j < sizes.Lk; ++j)
    if (visible(j, p)) seen.push_back(j);
  bool good_weights = seen.empty() || all_finite(query, sizes.Dq), good_values = true;
  for (const std::int64_t j : seen) {
    good_weights = good_weights && all_finite(keys + j * sizes.Dk, sizes.Dk) && std::isfinite(bias(j));
    good_values = good_values && all_finite(values + j * sizes.Dv, sizes.Dv);
  }
  std::fill(weights, weights + sizes.Lk, good_weights ? 0 : not_a_number);
  std::fill(context, context + sizes.Dv, good_weights && good_values ? 0 : not_a_number);
  if (!good_weights) return;

  if (seen.empty()) return;
  std::vector<double> scores;
  for (const std::int64_t j : seen) scores.push_back(masked_score(j));
  const auto* origin = settings.origin;
  const std::vector<double> shares =
      settings.normalize ? settings.normalize(scores, origin[0] + b, origin[1] + h, origin[2] + i) : softmax_row(scores);
  double kept = 0;
  for (std::size_t n = 0; n < seen.size(); ++n) kept += weights[seen[n]] = shares[n] * settings.window.factor(p, seen[n]);
  for (const std::int64_t j : seen) {
    if (settings.window.renormalised) weights[j] /= kept;
    for (std::int64_t d = 0; d < sizes.Dv && good_values; ++d) context[d] += weights[j] * multiplier(j) * values[j * sizes.Dv + d];
  }
}

}  // namespace

PairScore dot(std::int64_t width, double scale) {
  return [=](const double* query, const double* key) {
    double sum = 0;
    for (std::int64_t d = 0; d < width; ++d) sum += query[d] * key[d];
    return scale * sum;
  };
}

PairScore general(std::vector<double> weight, std::int64_t query_width, std::int64_t key_width) {
  return [=](const double* query, const double* key) {
    double sum = 0;
    for (std::int64_t a = 0; a < query_width; ++a)
      for (std::int64_t c = 0; c < key_width; ++c) sum += query[a] * weight[static_cast<std::size_t>(a * key_width + c)] * key[c];
    return sum;
  };
}

PairScore additive(std::vector<double> weight) {
  return [=](const double* query, const double* key) {
    double sum = 0;
    for (std::size_t a = 0; a < weight.size(); ++a) sum += weight[a] * std::tanh(query[a] + key[a]);
    return sum;
  };
}

PairScore projected_additive(std::vector<double> query_projection, std::vector<double> key_projection, std::vector<double> bias,
                             std::vector<double> energy) {
  return [=](const double* query, const double* key) {
    const std::size_t query_width = query_projection.size() / energy.size(), key_width = key_projection.size() / energy.size();
    double sum = 0;
    for (std::size_t a = 0; a < energy.size(); ++a) {
      double hidden = bias[a];
      for (std::size_t d = 0; d < query_width; ++d) hidden += query_projection[a * query_width + d] * query[d];
      for (std::size_t d = 0; d < key_width; ++d) hidden += key_projection[a * key_width + d] * key[d];
      sum += energy[a] * std::tanh(hidden);
    }
    return sum;
  };
}

PairScore cosine(std::int64_t width, double scale) {
  return [=](const double* query, const double* key) {
    double product = 0, query_square = 0, key_square = 0;
    for (std::int64_t d = 0; d < width; ++d) {
      product += query[d] * key[d];
      query_square += query[d] * query[d];
      key_square += key[d] * key[d];
    }
    return query_square == 0 || key_square == 0 ? 0 : scale * product / (std::sqrt(query_square) * std::sqrt(key_square));
  };
}

PlaceScore location(std::vector<double> weight, std::int64_t query_width) {
  return [=](const double* query, std::int64_t j) {
    double sum = 0;
    for (std::int64_t d = 0; d < query_width; ++d) sum += weight[static_cast<std::size_t>(j * query_width + d)] * query[d];
    return sum;
  };
}

bool LocalWindow::has(double centre_of_query, std::int64_t j) const {
  return !centre || std::abs(static_cast<double>(j) - centre_of_query) <= half_width;
}

double LocalWindow::factor(double centre_of_query, std::int64_t j) const {
  if (!gaussian) return 1;
  const double from_centre = static_cast<double>(j) - centre_of_query, sigma = half_width / 2;
  return std::exp(-from_centre * from_centre / (2 * sigma * sigma));
}

LocalWindow local_m(double half_width, double length_ratio) {
  return {[=](const double*, std::int64_t i, std::int64_t) { return static_cast<double>(i) * length_ratio; }, half_width, false, false};
}

LocalWindow local_p(std::vector<double> projection, std::vector<double> energy, double half_width, bool renormalised) {
  const auto centre = [=](const double* query, std::int64_t, std::int64_t length) {
    const std::size_t width = projection.size() / energy.size();
    double sum = 0;
    for (std::size_t a = 0; a < energy.size(); ++a) {
      double hidden = 0;
      for (std::size_t d = 0; d < width; ++d) hidden += projection[a * width + d] * query[d];
      sum += energy[a] * std::tanh(hidden);
    }
    return static_cast<double>(length) / (1 + std::exp(-sum));
  };
  return {centre, half_width, true, renormalised};
}

Outcome attention(const Sizes& sizes, const std::vector<double>& query, const std::vector<double>& key, const std::vector<double>& value,
                  const PairScore& score, const std::vector<MaskPart>& mask, const Settings& settings) {
  Outcome outcome;
  outcome.context.resize(static_cast<std::size_t>(sizes.B * sizes.Hq * sizes.Lq * sizes.Dv));
  outcome.weights.resize(static_cast<std::size_t>(sizes.B * sizes.Hq * sizes.Lq * sizes.Lk));
  for (std::int64_t b = 0; b < sizes.B; ++b)
    for (std::int64_t h = 0; h < sizes.Hq; ++h)
      for (std::int64_t i = 0; i < sizes.Lq; ++i) {
        const std::int64_t row = (b * sizes.Hq + h) * sizes.Lq + i, memory = (b * sizes.Hkv + h / (sizes.Hq / sizes.Hkv)) * sizes.Lk;
        Row{sizes,
            query.data() + row * sizes.Dq,
            key.data() + memory * sizes.Dk,
            value.data() + memory * sizes.Dv,
            score,
            mask,
            settings,
            b,
            h,
            i}
            .run(outcome.weights.data() + row * sizes.Lk, outcome.context.data() + row * sizes.Dv);
      }
  return outcome;
}

}  // namespace attend::reference
