// Alignment error rates of fast_align on English-French, as lilt/alignment-scripts prints them.
#include "attend/tasks/metrics/alignment.h"

#include <cstdlib>

#include "tests/metric_vectors/metric_vectors.h"
#include "tests/metric_vectors/scored_folder.h"
#include "tests/reference/tolerance.h"

namespace attend::vectors {
namespace {

Problems check_case(ScoredFolder& folder, const io::Value& test) {
  tasks::PharaohOptions gold_format, found_format;
  gold_format.first = 1;
  found_format.target_first = test.at("swap_hyp").as_bool();
  const std::vector<tasks::Alignment> gold = tasks::read_alignments(folder.file(test.at("gold").as_text()), gold_format),
                                      found = tasks::read_alignments(folder.file(test.at("hyp").as_text()), found_format);
  if (gold.size() != found.size()) return {format("not understood: {} lines against {} of the gold file", found.size(), gold.size())};
  tasks::AlignmentErrorRate rate;
  for (std::size_t i = 0; i < gold.size(); ++i) rate.add(found[i], gold[i]);
  // The table was printed after another run of the aligner than the one whose file was kept: it names up to five links more or fewer than
  // the file has. Each of them may be right in one and wrong in the other.
  const double links = static_cast<double>(rate.links()), other = std::abs(links - test.at("links").as_number());
  reference::Tolerance near = reference::printed_tolerance(1);
  near.absolute += 100 * other / links;
  Problems problems;
  if (other > 5) problems.push_back(format("links: got {}, wanted {}", rate.links(), test.at("links").as_integer()));
  const auto expect = [&](const char* name, double got, const reference::Tolerance& tolerance) {
    const std::string problem = reference::difference(name, {got}, {test.at(name).as_number()}, tolerance);
    if (!problem.empty()) problems.push_back(problem);
  };
  expect("aer", rate.error_rate(), reference::printed_tolerance(1));
  expect("precision", rate.precision(), near);
  expect("recall", rate.recall(), reference::printed_tolerance(1));
  return problems;
}

}  // namespace

std::optional<Tally> run_alignment(const std::filesystem::path& place) {
  if (!std::filesystem::is_directory(place)) return std::nullopt;
  ScoredFolder folder(place);
  Tally tally;
  const io::Value expected = folder.expected(tally);
  if (!expected.is_table()) return tally;
  refuse_unknown(tally, "expected", expected, {"note", "cases"});
  for (const io::Value& test : expected.at("cases").as_list()) {
    const std::string name = test.at("hyp").as_text();
    refuse_unknown(tally, name, test, {"hyp", "gold", "swap_hyp", "aer", "precision", "recall", "links"});
    tally.run(name, [&] { return check_case(folder, test); });
  }
  folder.refuse_the_rest(tally);
  return tally;
}

}  // namespace attend::vectors
