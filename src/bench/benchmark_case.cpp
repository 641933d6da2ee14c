#include "bench/benchmark_case.h"

#include <algorithm>
#include <set>

#include "attend/base/edit_distance.h"
#include "attend/io/toml.h"

namespace attend::bench {
namespace {

constexpr std::int64_t cases_format = 1;

void check_case(const BenchmarkCase& one, const std::string& place) {
  if (one.name.empty()) throw InvalidArgument(format("{}: expected a name, got none", place));
  for (const auto& [name, size] : {std::pair("batch", one.batch), std::pair("heads", one.heads), std::pair("queries", one.queries), std::pair("keys", one.keys),
                                   std::pair("width", one.width), std::pair("hidden", one.hidden), std::pair("memory", one.memory),
                                   std::pair("state", one.state), std::pair("embedding", one.embedding), std::pair("maxout", one.maxout.value_or(one.hidden)),
                                   std::pair("vocabulary", one.vocabulary)})
    if (size < 1) throw InvalidArgument(format("{}: {}: expected at least 1, got {}", place, name, size));
  if (one.left < 0 || one.right < 0) throw InvalidArgument(format("{}: expected a band of left ≥ 0 and right ≥ 0, got {} and {}", place, one.left, one.right));
  if (!one.composed && one.pass != Pass::forward) throw InvalidArgument(format("{}: gradients are compared with those of the composed form; remove composed = false", place));
  if (one.streams && one.mechanism != Mechanism::dot_product) throw InvalidArgument(format("{}: streams: only dot products have it", place));
}

}  // namespace

double visible_pairs(const BenchmarkCase& one) {
  if (one.visible == Visible::all) return static_cast<double>(one.queries) * static_cast<double>(one.keys);
  double pairs = 0;
  for (std::int64_t i = 0; i < one.queries; ++i) {
    const std::int64_t own = i + one.keys - one.queries;
    const std::int64_t first = one.visible == Visible::band ? std::max<std::int64_t>(0, own - one.left) : 0;
    const std::int64_t last = std::min(one.keys - 1, one.visible == Visible::band ? own + one.right : own);
    pairs += static_cast<double>(std::max<std::int64_t>(0, last - first + 1));
  }
  return pairs;
}

std::vector<BenchmarkCase> read_cases(const std::filesystem::path& file) {
  const io::Value table = io::read_toml(file);
  const std::string source = file.string();
  const io::Value *version = table.find("format"), *list = table.find("cases");
  if (version == nullptr || !version->is_integer() || version->as_integer() != cases_format || list == nullptr || !list->is_list())
    throw InvalidData(format("{}: expected format = {} and a list of cases", source, cases_format));
  std::vector<BenchmarkCase> cases;
  std::set<std::string> names;
  for (const io::Value& value : list->as_list()) {
    BenchmarkCase one;
    read_options(one, value, source);
    check_case(one, options_detail::place_text(source, value.line(), one.name));
    if (!names.insert(one.name).second) throw InvalidData(format("{}:{}: expected each name once, got \"{}\" again", source, value.line(), one.name));
    cases.push_back(one);
  }
  for (const BenchmarkCase& one : cases)
    if (one.against && !names.contains(*one.against)) throw InvalidData(format("{}: {}: against: there is no case \"{}\"", source, one.name, *one.against));
  return cases;
}

const BenchmarkCase& find_case(const std::vector<BenchmarkCase>& cases, const std::string& name) {
  std::vector<std::string> known;
  for (const BenchmarkCase& one : cases) {
    if (one.name == name) return one;
    known.push_back(one.name);
  }
  throw InvalidArgument(format("bench: there is no case \"{}\"{}", name, did_you_mean(name, known)));
}

BenchmarkCase shrunk(BenchmarkCase one, std::int64_t most_places, std::int64_t most_heads) {
  one.queries = std::min(one.queries, most_places), one.keys = std::min(one.keys, most_places);
  one.batch = std::min(one.batch, most_heads);
  one.heads = std::min(one.heads, std::max<std::int64_t>(1, most_heads / one.batch));
  one.composed = true, one.streams = false;
  return one;
}

}  // namespace attend::bench
