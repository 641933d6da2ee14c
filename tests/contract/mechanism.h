// The mechanisms that the contract is checked on, each brought to one form of call. A new one joins by a line in mechanisms().
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attend/addressing/dropout.h"
#include "attend/addressing/read.h"
#include "attend/core/libtorch.h"
#include "attend/core/mask.h"
#include "attend/core/result.h"
#include "tests/reference/attention.h"
#include "tests/reference/tensors.h"

namespace attend::contract {

using reference::Type;

// What a mechanism is made with.
struct Setup {
  Type type = Type::float64;
  Path path = Path::automatic;
  std::int64_t Dq = 1, Dk = 1;
  std::optional<double> scale = {};
  double soft_cap = 0, dropout = 0;
};

// One call. Tensors are [B, H, L, D] whatever the mechanism takes.
struct Call {
  Tensor query, key, value;
  Mask mask = {};
  bool return_weights = true;
  std::optional<at::Generator> generator = {};  // for dropout; it advances as the mechanism draws
  addressing::DropoutOrigin origin = {};
  std::int64_t first_query = 0;  // place of the first query in the whole sequence, for windows
};

using Numbers = std::vector<double>;

struct Instance {
  std::function<AttentionResult(const Call&)> run;
  std::vector<Tensor> parameters = {};
  // The same score for the reference, from the parameters' numbers.
  std::function<reference::PairScore(const std::vector<Numbers>&)> score = {};
  std::shared_ptr<torch::nn::Module> module = nullptr;  // where it is one
  // Where there is more than a score of pairs: a score of places instead, a window around it.
  std::function<reference::PlaceScore(const std::vector<Numbers>&)> place_score = {};
  std::function<reference::LocalWindow(const std::vector<Numbers>&)> window = {};
  reference::RowNormalizer normalize = {};              // of the reference; softmax where empty
  int seeds = 0;                                        // that a call draws before the one of dropout
};

struct Mechanism {
  std::string name;
  std::string where;                             // the function that its messages name
  std::string query_axes, key_axes, value_axes;  // as its messages write them
  struct Features {
    bool several_heads = true, grouped_heads = false, different_widths = false, soft_cap = true, scale = false, origin = true;
    bool module = false;  // takes [B, L, E]
    bool window = false;
    bool places = false;     // the place of a key counts, so that padding on the left shifts what is read
    bool length = false;     // the true length of a row counts, which lengths give and other masks don't
    bool whole_rows = true;  // a row of weights sums to 1, or to 0
    bool dense = true;       // every visible key has weight
    bool hard_max = false, hard_sample = false;
    addressing::ScoreForm form = addressing::ScoreForm::any;  // of its score; any: no fused kernel reads it
  } has;
  std::function<Instance(const Setup&)> make;
};

const std::vector<Mechanism>& mechanisms();

}  // namespace attend::contract
