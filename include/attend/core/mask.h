// Which keys a query may attend to, and what is added to its scores.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attend/base/api.h"
#include "attend/core/libtorch.h"

namespace attend {

// How queries and keys are lined up where Lq ≠ Lk.
enum class Align {
  lower_right,  // the last query stands at the last key: query i at key i + Lk − Lq. What a key/value cache needs.
  upper_left,   // query i stands at key i
};

// A mask is a type with named constructors, so that no tensor can be read with the wrong polarity. Masks combine with `&`: a key is visible
// where every part lets it through; biases add up. A default-constructed mask lets everything through.
//
// Tensors broadcast to [B, H, Lq, Lk]: four dimensions, each full or 1, or two, [Lq, Lk]. Three are refused: batch or heads?
class ATTEND_API Mask {
 public:
  struct Part {
    enum class Kind { keep, lengths, band, bias } kind;
    Tensor tensor;                     // keep: bool; lengths: int64 [B]; bias: floating-point
    std::optional<std::int64_t> left;  // band: how far back, unbounded where empty
    std::optional<std::int64_t> right;
    Align align = Align::lower_right;
  };

  Mask() = default;

  // true = may be attended to.
  static Mask keep(Tensor allowed);
  // true = must not be attended to.
  static Mask drop(Tensor forbidden);
  // int64 [B]: keys at and after the length are absent.
  static Mask lengths(Tensor lengths);
  // Query i sees the key it is lined up with and those before it.
  static Mask causal(Align align = Align::lower_right);
  // Query i sees keys i − left … i + right after alignment, both ends included.
  static Mask band(std::int64_t left, std::int64_t right, Align align = Align::lower_right);
  // Added to the scores after scale and soft cap. Minus infinity hides the key. A tensor of zeros and ones given here is a bias, not a
  // mask: use keep().
  static Mask bias(Tensor bias);

  friend ATTEND_API Mask operator&(Mask a, const Mask& b);

  bool lets_everything_through() const { return parts_.empty(); }
  // For kernels, which read the parts without making them into tensors.
  const std::vector<Part>& parts() const { return parts_; }

  // What the composed form reads: both broadcast to [B, H, Lq, Lk]; empty where there is nothing of the kind. `keep` is false wherever the
  // bias is minus infinity, and `bias` is 0 there.
  struct Tensors {
    std::optional<Tensor> keep;
    std::optional<Tensor> bias;
  };
  struct Sizes {
    std::int64_t B, H, Lq, Lk;
  };
  // `where` is the public function that got the mask; `like` gives device and type. InvalidArgument where a shape, type, device or length doesn't fit.
  Tensors tensors(const char* where, const Sizes& sizes, const Tensor& like) const;

  // What fused kernels read: lengths and bands as the span of keys that they leave to each query, the other parts as tensors() gives them.
  struct Spans {
    std::optional<Tensor> spans;  // int64 [B or 1, Lq, 2]: the first key, and the place behind the last one; empty: all keys
    Tensors rest;
  };
  Spans spans(const char* where, const Sizes& sizes, const Tensor& like) const;

 private:
  explicit Mask(Part part) { parts_.push_back(std::move(part)); }
  // Lengths and bands only where they are asked for.
  Tensors tensors(const char* where, const Sizes& sizes, const Tensor& like, bool with_spans) const;
  std::vector<Part> parts_;
};

}  // namespace attend
