#include "attend/base/edit_distance.h"
#include "attend/data/sets/cmudict.h"
#include "attend/data/sets/libreoffice_help.h"
#include "attend/data/sets/package_descriptions.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"

namespace attend::cli {
namespace {

using MakeParallel = io::Value (*)(const std::filesystem::path&, const data::Languages&, const data::MakeCallbacks&);

// Sets in two languages; each pair of languages is a folder of its own, NAME-SOURCE-TARGET.
const std::vector<std::pair<std::string, MakeParallel>> parallel_sets = {{"libreoffice-help", data::make_libreoffice_help},
                                                                         {"package-descriptions", data::make_package_descriptions}};

// The languages that a call asks for: `--languages en,fr`, or behind the set's name, as a recipe's data.corpus has it; else en,fr.
data::Languages languages_of(const DataArguments& arguments, const std::string& set) {
  const bool named = arguments.name.size() > set.size();
  if (named && !arguments.languages.empty())
    throw WrongCall(format("data: \"{}\" names languages already; leave --languages out", arguments.name));
  const std::string text = named ? arguments.name.substr(set.size() + 1) : arguments.languages.empty() ? "en,fr" : arguments.languages;
  try {
    return data::languages_from(text);
  } catch (const InvalidArgument& error) {
    throw WrongCall(format("data: {}: {}", set, error.what()));
  }
}

bool make_parallel_set(const DataArguments& arguments) {
  for (const auto& [set, make] : parallel_sets) {
    if (arguments.name != set && !arguments.name.starts_with(set + "-")) continue;
    const data::Languages languages = languages_of(arguments, set);
    const std::filesystem::path folder = tasks::data_folder() / format("{}-{}-{}", set, languages.source, languages.target);
    const InterruptScope interrupts;
    ProgressLine line;
    const io::Value source = make(folder, languages, {[&line](double share, const std::string& doing) { line.show(share, doing); }, is_interrupted});
    line.clear();
    print_source(source, folder);
    return true;
  }
  return false;
}

}  // namespace

void print_source(const io::Value& source, const std::filesystem::path& folder) {
  for (const auto& [key, value] : source.as_table()) {
    std::string text;
    if (value.is_table())
      for (const auto& [unit, count] : value.as_table()) text += format("{}{} {}", text.empty() ? "" : ", ", count.as_integer(), unit);
    else
      text = value.as_text();
    print(format("{:<8} {}\n", key, text));
  }
  print(format("{:<8} {}\n", "folder", folder.string()));
}

void run(const DataArguments& arguments) {
  if (make_parallel_set(arguments)) return;
  std::vector<std::string> known = {"cmudict"};
  for (const auto& [set, make] : parallel_sets) known.push_back(set);
  if (arguments.name != "cmudict")
    throw WrongCall(format("data: there is no set \"{}\"{}; there are: cmudict, libreoffice-help, package-descriptions", arguments.name,
                           did_you_mean(arguments.name, known)));
  if (!arguments.languages.empty()) throw WrongCall("data: cmudict is in English alone; leave --languages out");
  const std::filesystem::path folder = tasks::data_folder() / arguments.name;
  print_source(data::make_cmudict(folder), folder);
}

}  // namespace attend::cli
