#include "attend/tasks/check.h"

#include "attend/data/pairs.h"
#include "attend/io/json.h"
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
  if (arguments.json) print(io::to_json(value_of_findings(run, pairs.source.tokens.size(0), findings)) + "\n");
  if (!failed.empty()) throw InvalidData(format("{}: does not hold of this model: {}", arguments.run, failed));
}

}  // namespace attend::cli
