#include <algorithm>

#include "attend/view/picture.h"
#include "attend/view/record.h"
#include "cli/commands.h"
#include "cli/terminal.h"

namespace attend::cli {
namespace {

const view::Example& chosen_example(const view::Record& record, const ViewArguments& arguments) {
  const auto found = std::find_if(record.examples.begin(), record.examples.end(), [&](const view::Example& example) {
    return arguments.example.empty() ? !example.items.empty() : example.id == arguments.example;
  });
  if (found == record.examples.end())
    throw InvalidArgument(arguments.example.empty() ? format("{}: holds no weights", arguments.file)
                                                    : format("{}: has no example with the id \"{}\"", arguments.file, arguments.example));
  if (found->items.empty()) throw InvalidArgument(format("{}: the example \"{}\" holds no weights", arguments.file, arguments.example));
  return *found;
}

}  // namespace

std::filesystem::path recording_of(const std::string& file_or_run) {
  if (!std::filesystem::is_directory(file_or_run)) return file_or_run;
  const std::filesystem::path samples = tasks::RunFiles{file_or_run}.samples();
  if (!std::filesystem::exists(samples))
    throw SystemError(format("{}: holds no samples.attn: it is no run folder, or its training hasn't ended; give a .attn file", file_or_run));
  return samples;
}

void run(const ViewArguments& arguments) {
  const view::Record record = view::read_record(recording_of(arguments.file));
  const view::Example& example = chosen_example(record, arguments);
  view::PictureOptions options;
  options.background = arguments.dark ? view::Background::dark : view::Background::light;
  const std::filesystem::path out = arguments.out;
  if (out.extension() == ".svg")
    view::write_svg(out, example, example.items.front(), options);
  else if (out.extension() == ".png")
    view::write_png(out, example, example.items.front(), options);
  else
    throw WrongCall(format("view: --export {}: expected a name that ends in .svg or .png", arguments.out));
  print(arguments.out + "\n");
}

}  // namespace attend::cli
