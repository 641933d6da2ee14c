#include "attend/view/record.h"
#include "attend/view/text.h"
#include "cli/commands.h"
#include "cli/terminal.h"

namespace attend::cli {

void run(const ShowArguments& arguments) {
  const view::Record record = view::read_record(recording_of(arguments.file));
  view::TextOptions options;
  options.width = arguments.width > 0 ? static_cast<int>(arguments.width) : terminal_width();
  options.colour = output_is_terminal() && !arguments.no_colour;
  if (arguments.ascii) options.charset = view::Charset::ascii;
  bool found = false;
  for (const view::Example& example : record.examples) {
    if (!arguments.example.empty() && example.id != arguments.example) continue;
    for (const view::Item& item : example.items) print((found ? "\n" : "") + view::heat_map_text(example, item, options)), found = true;
  }
  if (!found && !arguments.example.empty())
    throw InvalidArgument(format("{}: has no example with the id \"{}\"", arguments.file, arguments.example));
  if (!found) print(format("{}: holds no weights\n", arguments.file));
}

}  // namespace attend::cli
