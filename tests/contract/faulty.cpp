#include "tests/contract/faulty.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "attend/base/error.h"
#include "attend/core/shapes.h"
#include "tests/contract/problem.h"
#include "tests/reference/normalizers.h"

namespace attend::contract {

using addressing::Window;

namespace {

using addressing::Normalizer;

constexpr auto copy_name = "attend::contract::dot_product";
constexpr double copy_half_width = 2;
constexpr double nan_number = std::numeric_limits<double>::quiet_NaN(), minus_infinity = -std::numeric_limits<double>::infinity();

bool is_half_tensor(const Tensor& tensor) { return tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16; }

// A softmax whose backward pass runs on plain numbers: right once, silently constant when differentiated again.
struct FirstOrderSoftmax : torch::autograd::Function<FirstOrderSoftmax> {
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& scores) {
    const Tensor weights = scores.softmax(-1);
    context->save_for_backward({weights});
    return weights;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, torch::autograd::variable_list gradients) {
    const Tensor weights = context->get_saved_variables()[0].detach(), gradient = gradients[0].detach();
    return {weights * (gradient - (weights * gradient).sum(-1, true))};
  }
};

// W_p [2, Dq] and v_p [2] of the copy's local-p, any numbers that move the centre.
Numbers centre_projection(std::int64_t width) {
  Numbers numbers;
  for (std::int64_t e = 0; e < 2 * width; ++e) numbers.push_back(std::cos(static_cast<double>(3 * e)));
  return numbers;
}
const Numbers centre_energy = {1.3, -0.8};

// The copy: one call of the mechanism with one fault.
class FaultyCall {
 public:
  FaultyCall(Fault fault, const CopyForm& form, const Setup& setup, const Call& call)
      : fault_(fault), window_(form.window), normalizer_(form.normalizer), setup_(setup), call_(call) {}
  AttentionResult run();

 private:
  bool has(Fault fault) const { return fault_ == fault; }
  void check() const;
  void check_sizes() const;
  void read_inputs();
  void read_mask();
  Tensor band_keep(const Mask::Part& part) const;
  Tensor centre() const;
  void read_window();
  void clean();
  Tensor seen(const Tensor& bad) const;
  Tensor scores() const;
  Tensor weights(Tensor scores);
  Tensor sparse(const Tensor& scores) const;
  Tensor best(const Tensor& scores) const;
  Tensor drawn(const Tensor& scores);
  Tensor multipliers(const Tensor& weights) const;
  Tensor rounded(const Tensor& tensor) const;
  Tensor per_query_head(const Tensor& tensor) const;

  Fault fault_;
  Window window_;
  Normalizer normalizer_;
  const Setup& setup_;
  Call call_;
  Tensor query_, key_, value_;
  Tensor keep_, bias_;  // [B, H, Lq, Lk]
  Tensor factors_;      // likewise, of a window
  Tensor bad_weights_, bad_context_;
  Tensor log_probability_, entropy_;  // [B, H, Lq], of a draw
};

void FaultyCall::check_sizes() const {
  check_shape(copy_name, "query", call_.query, {{"B"}, {"Hq"}, {"Lq"}, {"Dk"}});
  check_shape(copy_name, "key", call_.key, {{"B", call_.query.size(0)}, {"Hkv"}, {"Lk"}, {"Dk", call_.query.size(3)}});
  check_shape(copy_name, "value", call_.value, {{"B", call_.query.size(0)}, {"Hkv", call_.key.size(1)}, {"Lk", call_.key.size(2)}, {"Dv"}});
  if (call_.query.size(1) % call_.key.size(1) != 0)
    throw InvalidArgument(
        format("{}: expected Hq to be a multiple of Hkv, got Hq = {} and Hkv = {}", copy_name, call_.query.size(1), call_.key.size(1)));
  if (has(Fault::empty_batch_refused) && call_.query.size(0) == 0) throw InvalidArgument("the batch is empty");
}

void FaultyCall::check() const {
  try {
    check_sizes();
  } catch (const InvalidArgument& error) {
    if (has(Fault::wrong_exception)) throw std::runtime_error(error.what());
    throw;
  }
  check_floating(copy_name, "query", call_.query);
  check_matches(copy_name, "key", call_.key, "query", call_.query);
  check_matches(copy_name, "value", call_.value, "query", call_.query);
  if (!(setup_.dropout >= 0 && setup_.dropout <= 1)) throw InvalidArgument(format("{}: expected dropout from 0 to 1", copy_name));
  if (!(setup_.soft_cap >= 0)) throw InvalidArgument(format("{}: expected soft_cap ≥ 0", copy_name));
  if (setup_.scale && !std::isfinite(*setup_.scale)) throw InvalidArgument(format("{}: expected a finite scale", copy_name));
  if (setup_.path == Path::fused) throw NotSupported(format("{}: path \"fused\" is impossible: this is a copy", copy_name));
}

void FaultyCall::read_inputs() {
  const auto read = [&](const Tensor& tensor) {
    const Tensor given = has(Fault::strides_ignored) && !tensor.requires_grad()
                             ? tensor.as_strided(tensor.sizes(), at::empty(tensor.sizes()).strides())
                             : tensor;
    return is_half_tensor(tensor) ? given.to(at::kFloat) : given;
  };
  query_ = read(call_.query), key_ = read(call_.key), value_ = read(call_.value);
}

Tensor FaultyCall::band_keep(const Mask::Part& part) const {
  const std::int64_t Lq = query_.size(2), Lk = key_.size(2);
  std::int64_t shift = part.align == Align::lower_right ? Lk - Lq : 0;
  if (has(Fault::upper_left_alignment) || (has(Fault::cache_offset_forgotten) && Lk > Lq)) shift = 0;
  const Tensor at = at::arange(Lq, at::kLong).unsqueeze(1) + shift, key = at::arange(Lk, at::kLong).unsqueeze(0);
  Tensor keep = at::ones({Lq, Lk}, at::kBool);
  if (part.left) keep = keep & (key >= at - *part.left);
  if (part.right) keep = keep & (key <= at + *part.right + (has(Fault::band_off_by_one) && part.left ? 1 : 0));
  return keep;
}

void FaultyCall::read_mask() {
  const std::int64_t B = query_.size(0), H = query_.size(1), Lq = query_.size(2), Lk = key_.size(2);
  call_.mask.tensors(copy_name, {B, H, Lq, Lk}, query_);  // for its checks
  keep_ = at::ones({B, H, Lq, Lk}, at::kBool);
  bias_ = at::zeros({B, H, Lq, Lk}, query_.options());
  for (const Mask::Part& part : call_.mask.parts()) {
    if (part.kind == Mask::Part::Kind::keep) keep_ = keep_ & (has(Fault::mask_polarity) ? part.tensor.logical_not() : part.tensor);
    if (part.kind == Mask::Part::Kind::band) keep_ = keep_ & band_keep(part);
    if (part.kind == Mask::Part::Kind::bias) bias_ = bias_ + part.tensor.to(query_.scalar_type());
    if (part.kind != Mask::Part::Kind::lengths) continue;
    Tensor lengths = part.tensor.view({B, 1, 1, 1}) + (has(Fault::length_off_by_one) ? 1 : 0);
    if (has(Fault::padding_has_weight) && B > 0) lengths = lengths.narrow(0, 0, 1);
    keep_ = keep_ & (at::arange(Lk, at::kLong).view({1, 1, 1, Lk}) < lengths);
  }
  keep_ = keep_ & (bias_ != minus_infinity);
  bias_ = bias_.masked_fill(bias_ == minus_infinity, 0);
}

// p [B, H, Lq] or [Lq].
Tensor FaultyCall::centre() const {
  const auto numbers = query_.options().requires_grad(false);
  if (window_ == Window::local_m)
    return at::arange(query_.size(2), numbers) + static_cast<double>(has(Fault::window_start_forgotten) ? 0 : call_.first_query);
  const std::int64_t width = query_.size(3);
  const Tensor projection = reference::tensor_of(centre_projection(width), {2, width}, query_.scalar_type()),
               energy = reference::tensor_of(centre_energy, {2}, query_.scalar_type());
  const Tensor bad = at::isfinite(query_.detach()).all(-1, true).logical_not();
  Tensor length = at::full({query_.size(0)}, static_cast<double>(key_.size(2)), numbers);
  for (const Mask::Part& part : call_.mask.parts())
    if (part.kind == Mask::Part::Kind::lengths && !has(Fault::window_padded_length)) length = at::minimum(length, part.tensor.to(length));
  const Tensor result = at::matmul(at::matmul(query_.masked_fill(bad, 0), projection.t()).tanh(), energy).sigmoid() * length.view({-1, 1, 1});
  return has(Fault::window_centre_fixed) ? result.detach() : result;
}

void FaultyCall::read_window() {
  if (window_ == Window::global) return;
  const Tensor from_centre = at::arange(key_.size(2), query_.options().requires_grad(false)) - centre().unsqueeze(-1);
  const Tensor left = from_centre.detach() >= -copy_half_width,
               right = from_centre.detach() <= copy_half_width + (has(Fault::window_off_by_one) ? 1 : 0);
  if (!has(Fault::window_not_cut)) keep_ = keep_ & left & right;
  if (window_ == Window::local_p) factors_ = (from_centre.square() * (-2 / (copy_half_width * copy_half_width))).exp();
}

Tensor FaultyCall::per_query_head(const Tensor& tensor) const {
  const std::int64_t heads = query_.size(1), groups = heads / tensor.size(1);
  return has(Fault::head_modulo) ? tensor.repeat({1, groups, 1, 1}) : tensor.repeat_interleave(groups, 1);
}

Tensor FaultyCall::seen(const Tensor& bad) const { return (bad & keep_).any(-1, true); }

// Takes out what isn't finite, remembering the rows that see it.
void FaultyCall::clean() {
  const auto finite = [](const Tensor& tensor) { return at::isfinite(tensor.detach()).all(-1, true); };  // [B, H, L, 1]
  const Tensor bad_query = finite(query_).logical_not(), bad_key = finite(key_).logical_not(), bad_value = finite(value_).logical_not();
  const Tensor bad_bias = at::isfinite(bias_.detach()).logical_not();
  bad_weights_ = seen(bad_bias) | seen(per_query_head(bad_key).transpose(2, 3)) | (bad_query & keep_.any(-1, true));
  bad_context_ = bad_weights_ | seen(per_query_head(bad_value).transpose(2, 3));
  if (has(Fault::zero_times_nan)) return;
  if (!has(Fault::query_nan_in_gradients)) query_ = query_.masked_fill(bad_query, 0);
  key_ = key_.masked_fill(bad_key, 0);
  value_ = value_.masked_fill(bad_value, 0);
  bias_ = bias_.masked_fill(bad_bias, 0);
}

Tensor FaultyCall::rounded(const Tensor& tensor) const {
  return has(Fault::half_accumulation) && is_half_tensor(call_.query) ? tensor.to(call_.query.scalar_type()).to(at::kFloat) : tensor;
}

Tensor FaultyCall::scores() const {
  const auto width = static_cast<double>(std::max<std::int64_t>(query_.size(3), 1));
  double scale = setup_.scale.value_or(1 / std::sqrt(width));
  if (has(Fault::wrong_scale)) scale = setup_.scale.value_or(1 / width);
  if (has(Fault::scale_by_value_width)) scale = setup_.scale.value_or(1 / std::sqrt(static_cast<double>(value_.size(3))));
  const auto capped = [&](const Tensor& scores) {
    return setup_.soft_cap > 0 && !has(Fault::soft_cap_forgotten) ? (scores / setup_.soft_cap).tanh() * setup_.soft_cap : scores;
  };
  const Tensor products = rounded(at::matmul(query_, per_query_head(key_).transpose(2, 3)));
  if (has(Fault::bias_before_scale)) return capped((products + bias_) * scale);
  if (has(Fault::soft_cap_after_bias)) return capped(products * scale + bias_);
  return rounded(capped(rounded(products * scale)) + bias_);
}

// Scores are minus infinity where they are hidden, in all three.
Tensor FaultyCall::sparse(const Tensor& scores) const {
  if (scores.numel() == 0) return scores;
  const Tensor z = scores - scores.amax(-1, true).detach(), sorted = std::get<0>(z.sort(-1, true));
  const Tensor rank = at::arange(1, z.size(-1) + 1, z.options().requires_grad(false));
  Tensor inside = 1 + rank * sorted > sorted.cumsum(-1);
  const Tensor size = inside.sum(-1, true) + (has(Fault::sparsemax_threshold) ? 1 : 0);
  const Tensor tau = (sorted.masked_fill(inside.logical_not(), 0).sum(-1, true) - 1) / size;
  return (z - tau).clamp_min(0);
}

Tensor FaultyCall::best(const Tensor& scores) const {
  if (scores.numel() == 0) return scores.detach();
  const Tensor plain = has(Fault::hard_tie_highest) ? scores.detach().flip(-1) : scores.detach();
  const Tensor one_hot = at::zeros_like(plain).scatter_(-1, plain.argmax(-1, true), 1);
  return has(Fault::hard_tie_highest) ? one_hot.flip(-1) : one_hot;
}

Tensor FaultyCall::drawn(const Tensor& scores) {
  const auto seed = static_cast<std::uint64_t>(addressing::draw_dropout_seed(call_.generator ? *call_.generator : make_generator(generator_seed)));
  const Tensor log_p = scores.log_softmax(-1), key = at::zeros({scores.size(0), scores.size(1), scores.size(2), 1}, at::kLong);
  if (scores.numel() == 0) return scores.detach();
  for (std::int64_t b = 0; b < scores.size(0); ++b)
    for (std::int64_t h = 0; h < scores.size(1); ++h)
      for (std::int64_t i = 0; i < scores.size(2); ++i) {
        std::int64_t row = call_.origin.query + i;
        if (has(Fault::sample_by_padding)) row += (b * scores.size(1) + h) * scores.size(2);
        const Tensor shown = scores[b][h][i].detach();
        const Tensor flat = has(Fault::sample_without_weights) ? shown.masked_fill(shown != minus_infinity, 0) : shown;
        const double share = reference::row_draw(seed, call_.origin.batch + b, call_.origin.head + h, row).share;
        key[b][h][i][0] = static_cast<std::int64_t>(reference::drawn_place(reference::numbers(flat), share));
      }
  const Tensor hidden = keep_.logical_not(), empty = hidden.all(-1);
  log_probability_ = log_p.gather(-1, key).squeeze(-1).masked_fill(empty, 0);
  entropy_ = -(log_p.exp() * log_p.masked_fill(hidden, 0)).sum(-1).masked_fill(empty, 0);
  const Tensor one_hot = at::zeros_like(log_p.detach()).scatter_(-1, key, 1), p = log_p.exp();
  return has(Fault::sample_straight_through) ? one_hot + (p - p.detach()) : one_hot;
}

Tensor FaultyCall::weights(Tensor scores) {
  const Tensor hidden = keep_.logical_not(), empty = hidden.all(-1, true);
  if (has(Fault::large_negative_mask)) return scores.masked_fill(hidden, -1e9).softmax(-1);
  if (has(Fault::empty_row_nan)) return scores.masked_fill(hidden, minus_infinity).softmax(-1);
  scores = scores.masked_fill(hidden, minus_infinity).masked_fill(empty, 0);
  Tensor result;
  if (normalizer_ == Normalizer::sparsemax) {
    result = sparse(scores);
  } else if (normalizer_ == Normalizer::hard_max) {
    result = best(scores);
  } else if (normalizer_ == Normalizer::hard_sample) {
    result = drawn(scores);
  } else if (has(Fault::first_order_only)) {
    result = FirstOrderSoftmax::apply(scores);
  } else if (has(Fault::no_maximum_subtracted)) {
    result = scores.exp() / scores.exp().sum(-1, true);
  } else {
    result = scores.softmax(-1);
  }
  if (has(Fault::weights_without_gradient)) result = result.detach();
  if (factors_.defined()) result = result * factors_;
  if (has(Fault::window_renormalised)) result = result / result.sum(-1, true);
  return rounded(has(Fault::empty_row_uniform) ? result : result.masked_fill(empty, 0));
}

Tensor FaultyCall::multipliers(const Tensor& weights) const {
  const double p = setup_.dropout;
  if (has(Fault::library_dropout)) return at::dropout(at::ones_like(weights), p, true);
  if (has(Fault::two_seeds)) addressing::draw_dropout_seed(call_.generator);
  std::int64_t seed = addressing::draw_dropout_seed(call_.generator);
  static std::int64_t clock = 0;
  if (has(Fault::clock_seed)) seed += ++clock;
  if (has(Fault::dropout_by_flat_index))
    return addressing::dropout_multipliers({1, 1, 1, weights.numel()}, p, seed, weights).view(weights.sizes());
  const Tensor result = addressing::dropout_multipliers(weights.sizes(), p, seed, weights, call_.origin);
  return has(Fault::dropout_not_rescaled) ? result * (1 - p) : result;
}

AttentionResult FaultyCall::run() {
  check();
  read_inputs();
  read_mask();
  read_window();
  clean();
  Tensor weights = this->weights(scores());
  Tensor used = setup_.dropout > 0 ? weights * multipliers(weights) : weights;
  Tensor context = rounded(at::matmul(used, per_query_head(value_)));
  if (has(Fault::nan_row_cuts_gradients) && bad_context_.any().item<bool>()) context = context.detach();
  context = context.masked_fill(bad_context_, nan_number);
  if (has(Fault::weights_after_dropout)) weights = used;
  if (has(Fault::heads_averaged)) weights = weights.mean(1, true).expand_as(weights);
  if (has(Fault::weights_change_context) && call_.return_weights) context = context.to(at::kBFloat16).to(context.scalar_type());
  if (has(Fault::heads_inside)) context = context.transpose(1, 2);
  const at::ScalarType type = call_.query.scalar_type();
  const auto typed = [type](const Tensor& tensor) { return tensor.defined() ? tensor.to(type) : tensor; };
  return {context.to(type), call_.return_weights ? weights.masked_fill(bad_weights_, nan_number).to(type) : Tensor(), typed(log_probability_),
          typed(entropy_)};
}

}  // namespace

const std::vector<FaultName>& faults() {
#define ATTEND_FAULT(name) \
  { Fault::name, #name }
  static const std::vector<FaultName> table = {
      ATTEND_FAULT(upper_left_alignment),
      ATTEND_FAULT(cache_offset_forgotten),
      ATTEND_FAULT(mask_polarity),
      ATTEND_FAULT(band_off_by_one),
      ATTEND_FAULT(length_off_by_one),
      ATTEND_FAULT(bias_before_scale),
      ATTEND_FAULT(soft_cap_after_bias),
      ATTEND_FAULT(soft_cap_forgotten),
      ATTEND_FAULT(wrong_scale),
      ATTEND_FAULT(scale_by_value_width),
      ATTEND_FAULT(empty_row_uniform),
      ATTEND_FAULT(empty_row_nan),
      ATTEND_FAULT(large_negative_mask),
      ATTEND_FAULT(zero_times_nan),
      ATTEND_FAULT(query_nan_in_gradients),
      ATTEND_FAULT(nan_row_cuts_gradients),
      ATTEND_FAULT(padding_has_weight),
      ATTEND_FAULT(weights_after_dropout),
      ATTEND_FAULT(heads_averaged),
      ATTEND_FAULT(weights_change_context),
      ATTEND_FAULT(head_modulo),
      ATTEND_FAULT(first_order_only),
      ATTEND_FAULT(weights_without_gradient),
      ATTEND_FAULT(half_accumulation),
      ATTEND_FAULT(no_maximum_subtracted),
      ATTEND_FAULT(clock_seed),
      ATTEND_FAULT(library_dropout),
      ATTEND_FAULT(dropout_not_rescaled),
      ATTEND_FAULT(dropout_by_flat_index),
      ATTEND_FAULT(two_seeds),
      ATTEND_FAULT(strides_ignored),
      ATTEND_FAULT(wrong_exception),
      ATTEND_FAULT(empty_batch_refused),
      ATTEND_FAULT(heads_inside),
      ATTEND_FAULT(window_off_by_one),
      ATTEND_FAULT(window_start_forgotten),
      ATTEND_FAULT(window_not_cut),
      ATTEND_FAULT(window_renormalised),
      ATTEND_FAULT(window_padded_length),
      ATTEND_FAULT(window_centre_fixed),
      ATTEND_FAULT(sparsemax_threshold),
      ATTEND_FAULT(hard_tie_highest),
      ATTEND_FAULT(sample_by_padding),
      ATTEND_FAULT(sample_without_weights),
      ATTEND_FAULT(sample_straight_through),
  };
#undef ATTEND_FAULT
  return table;
}

CopyForm form_of(Fault fault) {
  switch (fault) {
    case Fault::window_off_by_one:
    case Fault::window_start_forgotten: return {.window = Window::local_m};
    case Fault::window_not_cut:
    case Fault::window_renormalised:
    case Fault::window_padded_length:
    case Fault::window_centre_fixed: return {.window = Window::local_p};
    case Fault::sparsemax_threshold: return {.normalizer = Normalizer::sparsemax};
    case Fault::hard_tie_highest: return {.normalizer = Normalizer::hard_max};
    case Fault::sample_by_padding:
    case Fault::sample_without_weights:
    case Fault::sample_straight_through: return {.normalizer = Normalizer::hard_sample};
    default: return {};
  }
}

namespace {

reference::RowNormalizer row_of(Normalizer normalizer) {
  if (normalizer == Normalizer::softmax) return {};
  return [normalizer](const Numbers& scores, std::int64_t b, std::int64_t h, std::int64_t i) {
    if (normalizer == Normalizer::sparsemax) return reference::entmax_row(scores, 2);
    if (normalizer == Normalizer::hard_max) return reference::hard_max_row(scores);
    return reference::hard_sample_row(scores, drawn_seed(), b, h, i);
  };
}

reference::LocalWindow window_of(Window window, std::int64_t query_width) {
  if (window == Window::global) return {};
  if (window == Window::local_m) return reference::local_m(copy_half_width, 1);
  return reference::local_p(centre_projection(query_width), centre_energy, copy_half_width, false);
}

}  // namespace

Mechanism faulty_mechanism(Fault fault, const CopyForm& form) {
  const auto make = [fault, form](const Setup& setup) -> Instance {
    const double scale = setup.scale.value_or(1 / std::sqrt(static_cast<double>(setup.Dq)));
    return {.run = [fault, form, setup](const Call& call) { return FaultyCall(fault, form, setup, call).run(); },
            .score = [setup, scale](const std::vector<Numbers>&) { return reference::dot(setup.Dq, scale); },
            .window = [setup, form](const std::vector<Numbers>&) { return window_of(form.window, setup.Dq); },
            .normalize = row_of(form.normalizer),
            .seeds = form.normalizer == Normalizer::hard_sample ? 1 : 0};
  };
  const bool windowed = form.window != Window::global, predicts = form.window == Window::local_p;
  const bool hard_max = form.normalizer == Normalizer::hard_max;
  const Mechanism::Features has{.grouped_heads = true,
                                .soft_cap = !hard_max,
                                .scale = true,
                                .window = windowed,
                                .places = windowed,
                                .length = predicts,
                                .whole_rows = !predicts,
                                .dense = form.normalizer == Normalizer::softmax,
                                .hard_max = hard_max,
                                .hard_sample = form.normalizer == Normalizer::hard_sample};
  const std::string name = format("copy:{}:{}", attend::name_of(form.window), attend::name_of(form.normalizer));
  return {name, copy_name, "[B, Hq, Lq, Dk]", "[B, Hkv, Lk, Dk]", "[B, Hkv, Lk, Dv]", has, make};
}

}  // namespace attend::contract
