#include "attend/base/edit_distance.h"
#include "attend/data/sets/cmudict.h"
#include "cli/commands.h"
#include "cli/terminal.h"

namespace attend::cli {

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
  const std::vector<std::string> known = {"cmudict"};
  if (arguments.name != "cmudict")
    throw WrongCall(format("data: there is no set \"{}\"{}; there is: cmudict", arguments.name, did_you_mean(arguments.name, known)));
  const std::filesystem::path folder = tasks::data_folder() / arguments.name;
  print_source(data::make_cmudict(folder), folder);
}

}  // namespace attend::cli
