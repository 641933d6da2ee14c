// Alignments of words: reading, writing, taking them from weights, and their error rate.
//
//   AER = 1 − ( |A ∩ S| + |A ∩ P| ) / ( |A| + |S| )      precision = |A ∩ P| / |A|      recall = |A ∩ S| / |S|
//   A  links that were found, S sure links, P sure and possible links; all are summed over the items
//
// Source: Och and Ney 2003, section 5, equations for recall, precision and AER.
// The format is that of Pharaoh, fast_align and Marian: pairs "source-target" with spaces between them, "0-0 1-2", one line for each item;
// a possible link has a "p" in place of the dash.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/api.h"
#include "attend/core/libtorch.h"

namespace attend::tasks {

struct Link {
  std::int64_t source = 0, target = 0;  // numbers of tokens, from 0
  bool possible = false;                // else sure
  friend bool operator==(const Link&, const Link&) = default;
};
using Alignment = std::vector<Link>;

struct PharaohOptions {
  std::int64_t first = 0;     // the number that a file gives to the first token
  bool target_first = false;  // whether pairs are target-source
};

// InvalidData "PLACE: expected pairs of …" for anything but pairs of numbers from `first` on. `place` is "FILE:LINE".
ATTEND_API Alignment parse_alignment(std::string_view line, const std::string& place, const PharaohOptions& options = {});
// As above for each line of a file; an empty line is an item without links. SystemError where it can't be read.
ATTEND_API std::vector<Alignment> read_alignments(const std::filesystem::path& file, const PharaohOptions& options = {});
// "0-0 1p2"
ATTEND_API std::string alignment_text(const Alignment& alignment);

// For each target token the source token that it looked at most (the first of equals).
//   weights  floating point [target, source] in any memory layout
//   source   how many of the columns are tokens: a link to one behind them (the end of the text) is left out; a row with NaN has none
// InvalidArgument where `weights` has another shape or fewer columns.
ATTEND_API Alignment hard_alignment(const Tensor& weights, std::int64_t source);

// The error rate over items.
class ATTEND_API AlignmentErrorRate {
 public:
  // A link that stands twice counts once; one that is both sure and possible is sure. Found links may be either.
  void add(const Alignment& found, const Alignment& gold);

  std::int64_t items() const { return items_; }
  std::int64_t links() const { return found_; }  // |A|
  // 0 to 100; 0 where there is nothing to divide by.
  double error_rate() const;
  double precision() const;
  double recall() const;

 private:
  std::int64_t items_ = 0, found_ = 0, sure_ = 0, found_sure_ = 0, found_possible_ = 0;
};

}  // namespace attend::tasks
