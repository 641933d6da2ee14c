// chrF of texts: the F-score of their character n-grams, as sacreBLEU computes chrF2.
//
//   chrF = 100 · (1 + β²) · P · R / (β² · P + R)        β = 2
//   P, R   means over n = 1 … 6 of: matching n-grams / n-grams of the hypotheses, … of the references; all counts are summed over the items
//
// White space is taken out first. An n that one side has no n-gram of is left out of both means. Of several references, an item's counts
// are those of the one with the best chrF of its own (the first of equals). A character is a code point.
//
// Source: Popović 2015, section 2; sacreBLEU's "effective order".
//
// Deviation: no word n-grams (chrF++) and no ε in place of counts that are 0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/api.h"

namespace attend::tasks {

struct ChrfOptions {
  std::int64_t order = 6;
  double beta = 2;
  bool lower_case = false;
  bool spaces = false;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor("order", self.order, "longest n-grams");
    visitor("beta", self.beta, "how many times as much recall counts as precision");
    visitor("lower_case", self.lower_case, "whether case doesn't count");
    visitor("spaces", self.spaces, "whether white space counts as characters");
  }
};

// InvalidArgument "order: expected …" for a value out of range.
ATTEND_API void check(const ChrfOptions& options);

class ATTEND_API Chrf {
 public:
  // InvalidArgument for options out of range.
  explicit Chrf(const ChrfOptions& options = {});

  // InvalidArgument where `references` is empty.
  void add(std::string_view hypothesis, const std::vector<std::string>& references);

  std::int64_t items() const { return items_; }
  // 0 to 100; 0 where nothing matches, or nothing was added.
  double score() const;
  // sacreBLEU's description of what was measured: "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no".
  std::string signature() const;

  // n-grams of one length.
  struct Counts {
    std::int64_t hypothesis = 0, reference = 0, matches = 0;
  };

 private:
  double score_of(const std::vector<Counts>& counts) const;

  ChrfOptions options_;
  std::int64_t items_ = 0;
  std::int64_t references_ = 0;  // of every item; −1 where they differ
  std::vector<Counts> counts_;   // [order]
};

}  // namespace attend::tasks
