#include "attend/core/mask.h"

#include <algorithm>

#include "attend/core/shapes.h"

namespace attend {
namespace {

void check_type(const char* constructor, const Tensor& tensor, bool fits, const char* expected) {
  if (!tensor.defined()) throw InvalidArgument(format("attend::Mask::{}: expected {}, got an undefined tensor", constructor, expected));
  if (!fits)
    throw InvalidArgument(format("attend::Mask::{}: expected {}, got {} {}", constructor, expected, at::toString(tensor.scalar_type()),
                                 shape_text(tensor)));
}

// A mask tensor as four dimensions, each full or 1.
Tensor four_dimensional(const char* where, const char* name, const Tensor& tensor, const Mask::Sizes& sizes, const Tensor& like) {
  const std::int64_t full[4] = {sizes.B, sizes.H, sizes.Lq, sizes.Lk};
  const auto refuse = [&](const char* why) {
    throw InvalidArgument(format("{}: expected a {} mask that broadcasts to [B, H, Lq, Lk] = {}, got {}{}", where, name,
                                 shape_text(at::IntArrayRef(full)), shape_text(tensor), why));
  };
  if (tensor.device() != like.device())
    throw InvalidArgument(format("{}: expected the {} mask on {}, got {}", where, name, like.device().str(), tensor.device().str()));
  if (tensor.dim() == 3) refuse("; three dimensions are ambiguous: insert a 1 for the batch or for the heads");
  if (tensor.dim() != 2 && tensor.dim() != 4) refuse("");
  const Tensor expanded = tensor.dim() == 2 ? tensor.unsqueeze(0).unsqueeze(0) : tensor;
  for (int i = 0; i < 4; ++i) {
    // two dimensions are [Lq, Lk] in full; a mask shorter than Lk is an error, never padded
    const bool may_be_one = tensor.dim() == 4 || i < 2;
    if (expanded.size(i) != full[i] && !(may_be_one && expanded.size(i) == 1)) refuse("");
  }
  return expanded;
}

void check_lengths(const char* where, const Tensor& lengths, const Mask::Sizes& sizes, const Tensor& like) {
  if (lengths.device() != like.device())
    throw InvalidArgument(format("{}: expected lengths on {}, got {}", where, like.device().str(), lengths.device().str()));
  if (lengths.size(0) != sizes.B)
    throw InvalidArgument(format("{}: expected lengths [B] with B = {}, got {}", where, sizes.B, shape_text(lengths)));
  if (sizes.B > 0) {
    const auto least = lengths.min().item<std::int64_t>(), most = lengths.max().item<std::int64_t>();
    if (least < 0 || most > sizes.Lk)
      throw InvalidArgument(format("{}: expected lengths from 0 to Lk = {}, got {} to {}", where, sizes.Lk, least, most));
  }
}

Tensor lengths_keep(const Tensor& lengths, const Mask::Sizes& sizes) {
  const Tensor position = at::arange(sizes.Lk, lengths.options());                                // [Lk]
  return position.view({1, 1, 1, sizes.Lk}) < lengths.view({sizes.B, 1, 1, 1});                  // [B, 1, 1, Lk]
}

// How far the key that a query is lined up with lies behind the query's number.
std::int64_t shift_of(const Mask::Part& band, const Mask::Sizes& sizes) { return band.align == Align::lower_right ? sizes.Lk - sizes.Lq : 0; }

Tensor band_keep(const Mask::Part& band, const Mask::Sizes& sizes, const Tensor& like) {
  const auto options = like.options().dtype(at::kLong);
  const Tensor query = at::arange(sizes.Lq, options).unsqueeze(1) + shift_of(band, sizes);                        // [Lq, 1]
  const Tensor key = at::arange(sizes.Lk, options).unsqueeze(0);                                  // [1, Lk]
  Tensor keep = at::ones({sizes.Lq, sizes.Lk}, options.dtype(at::kBool));                         // [Lq, Lk]
  // differences of places, which don't overflow however wide the band is
  if (band.left) keep = keep & (query - key <= *band.left);
  if (band.right) keep = keep & (key - query <= *band.right);
  return keep.unsqueeze(0).unsqueeze(0);                                                          // [1, 1, Lq, Lk]
}

}  // namespace

Mask Mask::keep(Tensor allowed) {
  check_type("keep", allowed, allowed.defined() && allowed.scalar_type() == at::kBool, "a boolean tensor (true = may be attended to)");
  return Mask(Part{Part::Kind::keep, std::move(allowed), {}, {}});
}

Mask Mask::drop(Tensor forbidden) {
  check_type("drop", forbidden, forbidden.defined() && forbidden.scalar_type() == at::kBool,
             "a boolean tensor (true = must not be attended to)");
  return Mask(Part{Part::Kind::keep, forbidden.logical_not(), {}, {}});
}

Mask Mask::lengths(Tensor lengths) {
  check_type("lengths", lengths, lengths.defined() && lengths.scalar_type() == at::kLong && lengths.dim() == 1, "an int64 tensor [B]");
  return Mask(Part{Part::Kind::lengths, std::move(lengths), {}, {}});
}

Mask Mask::causal(Align align) { return Mask(Part{Part::Kind::band, {}, std::nullopt, 0, align}); }

Mask Mask::band(std::int64_t left, std::int64_t right, Align align) {
  if (left < 0 || right < 0)
    throw InvalidArgument(format("attend::Mask::band: expected left ≥ 0 and right ≥ 0, got {} and {}", left, right));
  return Mask(Part{Part::Kind::band, {}, left, right, align});
}

Mask Mask::bias(Tensor bias) {
  check_type("bias", bias, bias.defined() && at::isFloatingType(bias.scalar_type()), "a floating-point tensor, added to the scores");
  return Mask(Part{Part::Kind::bias, std::move(bias), {}, {}});
}

Mask operator&(Mask a, const Mask& b) {
  a.parts_.insert(a.parts_.end(), b.parts_.begin(), b.parts_.end());
  return a;
}

Mask::Tensors Mask::tensors(const char* where, const Sizes& sizes, const Tensor& like) const { return tensors(where, sizes, like, true); }

Mask::Tensors Mask::tensors(const char* where, const Sizes& sizes, const Tensor& like, bool with_spans) const {
  Tensors result;
  const auto hide_where_false = [&](const Tensor& keep) { result.keep = result.keep ? *result.keep & keep : keep; };
  for (const Part& part : parts_) {
    switch (part.kind) {
      case Part::Kind::keep: hide_where_false(four_dimensional(where, "boolean", part.tensor, sizes, like)); break;
      case Part::Kind::lengths:
        check_lengths(where, part.tensor, sizes, like);
        if (with_spans) hide_where_false(lengths_keep(part.tensor, sizes));
        break;
      case Part::Kind::band:
        if (with_spans) hide_where_false(band_keep(part, sizes, like));
        break;
      case Part::Kind::bias: {
        const Tensor bias = four_dimensional(where, "bias", part.tensor, sizes, like).to(like.scalar_type());
        const Tensor hidden = at::isneginf(bias.detach());
        if (hidden.any().item<bool>()) hide_where_false(hidden.logical_not());
        // where() keeps the gradient of what hides at 0, not NaN
        const Tensor finite = at::where(hidden, at::zeros({}, bias.options()), bias);
        result.bias = result.bias ? *result.bias + finite : finite;
        break;
      }
    }
  }
  return result;
}

Mask::Spans Mask::spans(const char* where, const Sizes& sizes, const Tensor& like) const {
  Spans result{{}, tensors(where, sizes, like, false)};
  const auto options = like.options().dtype(at::kLong).requires_grad(false);
  Tensor first, end;  // [Lq], [B or 1, Lq]
  for (const Part& part : parts_) {
    if (part.kind != Part::Kind::lengths && part.kind != Part::Kind::band) continue;
    if (!first.defined()) first = at::zeros({sizes.Lq}, options), end = at::full({1, sizes.Lq}, sizes.Lk, options);
    if (part.kind == Part::Kind::lengths) {
      end = at::minimum(end, part.tensor.unsqueeze(1));                                           // [B, Lq]
      continue;
    }
    const Tensor aligned = at::arange(sizes.Lq, options) + shift_of(part, sizes);                 // [Lq]
    // no band is wider than all keys and queries, and no difference overflows
    const std::int64_t widest = sizes.Lk + sizes.Lq;
    if (part.left) first = at::maximum(first, aligned - std::min(*part.left, widest));
    if (part.right) end = at::minimum(end, aligned + std::min(*part.right, widest) + 1);
  }
  if (first.defined()) result.spans = at::stack({first.expand_as(end), end.clamp_min(0)}, 2);     // [B or 1, Lq, 2]
  return result;
}

}  // namespace attend
