#include "attend/tasks/check.h"

#include <optional>

#include "attend/data/pairs.h"
#include "attend/io/json.h"
#include "attend/models/gradient_variance.h"
#include "cli/commands.h"
#include "cli/line_reader.h"
#include "cli/terminal.h"

namespace attend::cli {
namespace {

constexpr std::size_t most_lines = 1000;

std::vector<std::string> all_lines(const std::string& file) {
  LineReader reader(file);
  std::vector<std::string> all;
  for (std::vector<std::string> lines = reader.next(most_lines); !lines.empty(); lines = reader.next(most_lines))
    for (const std::string& line : lines) {
      data::check_line(format("{}:{}", reader.name(), all.size() + 1), line);
      if (all.size() == most_lines) throw InvalidData(format("{}:{}: expected at most {} lines to check with", reader.name(), all.size() + 1, most_lines));
      all.push_back(line);
    }
  return all;
}

std::string finding_text(const tasks::Finding& finding) {
  if (finding.compared == 0) return format("{:<10} {:<6} nothing to compare: {}\n", finding.property, "-", finding.meaning);
  return format("{:<10} {:<6} largest {:.2g}, tolerance {:.2g}, {} compared: {}\n", finding.property, finding.passed() ? "ok" : "FAILS", finding.largest,
                finding.tolerance, finding.compared, finding.meaning);
}

std::optional<models::GradientVariance> variance_of(tasks::Run& run, const tasks::PairBatch& pairs, std::int64_t draws) {
  if (draws == 0) return std::nullopt;
  models::GradientVarianceOptions options;
  options.draws = draws;
  return models::gradient_variance(*run.model, pairs.source, pairs.target, options);
}

std::string variance_text(const models::GradientVariance& variance) {
  return format("variance of the attention's gradient over {} draws: {:.4g} with the baseline ({:.3g}), {:.4g} without\n", variance.draws,
                variance.with_baseline.variance, variance.baseline, variance.without_baseline.variance);
}

io::Value value_of(const models::GradientVariance& variance) {
  io::Value value = io::Value::table();
  value.set("draws", variance.draws);
  value.set("baseline", variance.baseline);
  value.set("with_baseline", variance.with_baseline.variance);
  value.set("without_baseline", variance.without_baseline.variance);
  return value;
}

io::Value value_of_findings(const tasks::Run& run, std::int64_t items, const std::vector<tasks::Finding>& findings) {
  io::Value list = io::Value::list();
  for (const tasks::Finding& finding : findings) {
    io::Value one = io::Value::table();
    one.set("property", finding.property);
    one.set("passed", finding.passed());
    one.set("largest", finding.largest);
    one.set("tolerance", finding.tolerance);
    one.set("compared", finding.compared);
    one.set("meaning", finding.meaning);
    list.append(one);
  }
  io::Value value = io::Value::table();
  value.set("recipe", run.recipe.name);
  value.set("items", items);
  value.set("findings", list);
  return value;
}

}  // namespace

void run(const CheckArguments& arguments) {
  tasks::Run run = tasks::open_run(arguments.run);
  const tasks::PairBatch pairs = arguments.file.empty() ? tasks::read_pairs(run, arguments.split.empty() ? "valid" : arguments.split, arguments.items)
                                                        : tasks::answer_lines(run, all_lines(arguments.file));
  const std::vector<tasks::Finding> findings = tasks::check_run(run, pairs);
  std::string failed;
  for (const tasks::Finding& finding : findings) {
    if (!arguments.json) print(finding_text(finding));
    if (!finding.passed()) failed += (failed.empty() ? "" : ", ") + finding.property;
  }
  const std::optional<models::GradientVariance> variance = variance_of(run, pairs, arguments.draws);
  if (variance && !arguments.json) print(variance_text(*variance));
  if (arguments.json) {
    io::Value value = value_of_findings(run, pairs.source.tokens.size(0), findings);
    if (variance) value.set("gradient_variance", value_of(*variance));
    print(io::to_json(value) + "\n");
  }
  if (!failed.empty()) throw InvalidData(format("{}: does not hold of this model: {}", arguments.run, failed));
}

}  // namespace attend::cli
