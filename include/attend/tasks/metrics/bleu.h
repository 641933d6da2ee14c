// BLEU of texts, to the digit what sacreBLEU prints.
//
//   BLEU = 100 · BP · exp( 1/N · Σ_{n=1..N} ln p_n )        N = 4
//   p_n  = Σ_items Σ_{n-grams g of the hypothesis} min( count(g), largest count of g in one reference ) / Σ_items number of its n-grams
//   BP   = 1 where c ≥ r, else exp( 1 − r / c )
//   c    Σ of the hypotheses' lengths; r: Σ of the lengths of the references nearest in length (the shorter of equals)
//
// Source: Papineni 2002, sections 2.2 and 2.3; smoothing by Chen and Cherry 2014, section 3; cutting into words as mteval-v13a and
// sacreBLEU (Post 2018, section 3.1).
//
// Deviation: none known from sacreBLEU 2, but for its warning of texts that were cut into words before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/api.h"
#include "attend/core/options.h"
#include "attend/tasks/metrics/error_rate.h"

namespace attend {
namespace tasks {

// How a text is cut into words; all split at white space in the end.
enum class BleuTokenizer {
  none,           // nothing else: the text is cut already
  v13a,           // mteval-v13a: ASCII punctuation stands alone, but for points and commas inside numbers; four entities become characters
  international,  // mteval-v14: the same for punctuation and symbols of Unicode
  character,      // each code point is a word
  chinese,        // each Chinese character is a word, the rest as v13a
};

// What becomes of a precision without a match (Chen and Cherry 2014).
enum class BleuSmoothing {
  exp,    // method 3: the k-th such precision counts 1 / 2^k matches
  floor,  // method 1: a small number of matches
  add_k,  // method 2: k more matches and n-grams, for every n > 1
  none,   // it is 0, and so is the score
};

}  // namespace tasks

template <>
struct EnumNames<tasks::BleuTokenizer> {
  static constexpr EnumName<tasks::BleuTokenizer> values[] = {{tasks::BleuTokenizer::none, "none"},
                                                              {tasks::BleuTokenizer::v13a, "13a"},
                                                              {tasks::BleuTokenizer::international, "intl"},
                                                              {tasks::BleuTokenizer::character, "char"},
                                                              {tasks::BleuTokenizer::chinese, "zh"}};
};
template <>
struct EnumNames<tasks::BleuSmoothing> {
  static constexpr EnumName<tasks::BleuSmoothing> values[] = {{tasks::BleuSmoothing::exp, "exp"},
                                                              {tasks::BleuSmoothing::floor, "floor"},
                                                              {tasks::BleuSmoothing::add_k, "add-k"},
                                                              {tasks::BleuSmoothing::none, "none"}};
};

namespace tasks {

struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::v13a;
  BleuSmoothing smoothing = BleuSmoothing::exp;
  std::optional<double> smoothing_value;
  bool lower_case = false;
  bool effective_order = false;
  std::int64_t order = 4;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor("tokenizer", self.tokenizer, "how texts are cut into words, by sacreBLEU's names; zh for Chinese");
    visitor("smoothing", self.smoothing, "what becomes of a precision without a match");
    visitor("smoothing_value", self.smoothing_value, "matches of floor (absent: 0.1), k of add-k (absent: 1)");
    visitor("lower_case", self.lower_case, "whether case doesn't count");
    visitor("effective_order", self.effective_order, "whether n-grams longer than every text are left out; for single sentences");
    visitor("order", self.order, "longest n-grams");
  }
};

// InvalidArgument "order: expected …" for a value out of range.
ATTEND_API void check(const BleuOptions& options);

// The words that BLEU compares. Bytes that are not UTF-8 count as U+FFFD where single code points matter.
ATTEND_API Tokens bleu_tokens(std::string_view text, BleuTokenizer tokenizer);

// BLEU of all items together; of a single sentence with effective_order.
class ATTEND_API Bleu {
 public:
  // InvalidArgument for options out of range.
  explicit Bleu(const BleuOptions& options = {});

  // InvalidArgument where `references` is empty.
  void add(std::string_view hypothesis, const std::vector<std::string>& references);
  // Words as they are, cut by the caller; the options' tokenizer and lower_case don't count.
  void add_tokens(const Tokens& hypothesis, const std::vector<Tokens>& references);

  std::int64_t items() const { return items_; }
  // 0 to 100; 0 where no word was right, or nothing was added.
  double score() const;
  double brevity_penalty() const;
  // sacreBLEU's description of what was measured: "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp"; nrefs:var where items differ.
  std::string signature() const;

 private:
  BleuOptions options_;
  std::int64_t items_ = 0, hypothesis_length_ = 0, reference_length_ = 0;
  std::int64_t references_ = 0;                // of every item; −1 where they differ
  std::vector<std::int64_t> matches_, total_;  // [order]
};

}  // namespace tasks
}  // namespace attend
