#include "attend/tasks/metrics/alignment.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include "attend/base/error.h"
#include "attend/core/shapes.h"
#include "attend/data/unicode.h"
#include "attend/io/file.h"

namespace attend::tasks {
namespace {

constexpr std::string_view blanks = " \t\r";

// Nothing where `text` is not wholly a number.
std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::optional<Link> parse_link(std::string_view text, const PharaohOptions& options) {
  const std::size_t sign = text.find_first_of("-p");
  if (sign == std::string_view::npos || sign == 0) return std::nullopt;
  std::optional<std::int64_t> source = number_of(text.substr(0, sign)), target = number_of(text.substr(sign + 1));
  if (!source || !target || *source < options.first || *target < options.first) return std::nullopt;
  if (options.target_first) std::swap(source, target);
  return Link{*source - options.first, *target - options.first, text[sign] == 'p'};
}

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

Alignment parse_alignment(std::string_view line, const std::string& place, const PharaohOptions& options) {
  Alignment alignment;
  for (std::size_t begin = line.find_first_not_of(blanks); begin != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(blanks, begin), line.size());
    const std::string_view pair = line.substr(begin, end - begin);
    const std::optional<Link> link = parse_link(pair, options);
    if (!link)
      throw InvalidData(format("{}: expected pairs of numbers from {} on, such as {}-{} (sure) or {}p{} (possible), got \"{}\"", place,
                               options.first, options.first, options.first, options.first, options.first,
                               data::escape_to_ascii(pair.substr(0, 80))));
    alignment.push_back(*link);
    begin = line.find_first_not_of(blanks, end);
  }
  return alignment;
}

std::vector<Alignment> read_alignments(const std::filesystem::path& file, const PharaohOptions& options) {
  const std::string text = io::read_file(file);
  std::vector<Alignment> alignments;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    alignments.push_back(
        parse_alignment(std::string_view(text).substr(begin, end - begin), format("{}:{}", file.string(), alignments.size() + 1), options));
    begin = end + 1;
  }
  return alignments;
}

std::string alignment_text(const Alignment& alignment) {
  std::string text;
  for (const Link& link : alignment)
    text += format("{}{}{}{}", text.empty() ? "" : " ", link.source, link.possible ? "p" : "-", link.target);
  return text;
}

Alignment hard_alignment(const Tensor& weights, std::int64_t source) {
  constexpr auto function = "attend::tasks::hard_alignment";
  check_shape(function, "weights", weights, {{"target"}, {"source"}});
  if (source < 0 || source > weights.size(1))
    throw InvalidArgument(
        format("{}: expected 0 to {} source tokens, as many as the weights have columns, got {}", function, weights.size(1), source));
  Alignment alignment;
  if (weights.numel() == 0) return alignment;
  const Tensor places = weights.argmax(1).cpu();    // [target]
  const Tensor bad = weights.isnan().any(1).cpu();  // [target]
  for (std::int64_t target = 0; target < places.size(0); ++target) {
    const auto place = places[target].item<std::int64_t>();
    if (place < source && !bad[target].item<bool>()) alignment.push_back({place, target});
  }
  return alignment;
}

void AlignmentErrorRate::add(const Alignment& found, const Alignment& gold) {
  std::set<std::pair<std::int64_t, std::int64_t>> links, sure, possible;
  for (const Link& link : found) links.emplace(link.source, link.target);
  for (const Link& link : gold) {
    possible.emplace(link.source, link.target);
    if (!link.possible) sure.emplace(link.source, link.target);
  }
  ++items_;
  found_ += static_cast<std::int64_t>(links.size());
  sure_ += static_cast<std::int64_t>(sure.size());
  for (const auto& link : links) {
    found_sure_ += sure.contains(link);
    found_possible_ += possible.contains(link);
  }
}

double AlignmentErrorRate::error_rate() const {
  const std::int64_t all = found_ + sure_;
  return share(all - found_sure_ - found_possible_, all);
}
double AlignmentErrorRate::precision() const { return share(found_possible_, found_); }
double AlignmentErrorRate::recall() const { return share(found_sure_, sure_); }

}  // namespace attend::tasks
