#include "attend/base/edit_distance.h"
#include "attend/io/json.h"
#include "cli/commands.h"
#include "cli/terminal.h"

namespace attend::cli {
namespace {

io::Value value_of(const tasks::System& system) {
  io::Value value = io::Value::table(), recipes = io::Value::list();
  for (const std::string& recipe : system.recipes) recipes.append(recipe);
  value.set("id", system.id);
  value.set("name", system.name);
  value.set("paper", system.paper);
  value.set("meaning", system.meaning);
  value.set("recipes", recipes);
  value.set("figures", system.figures);
  return value;
}

void print_system(const tasks::System& system) {
  print(format("{:<4} {}\n     {}\n     {}\n", system.id, system.name, system.meaning, system.paper));
  for (const std::string& recipe : system.recipes) print(format("     attend train {}\n", recipe));
}

}  // namespace

void run(const SystemsArguments& arguments) {
  io::Value list = io::Value::list();
  std::vector<std::string> known;
  std::size_t found = 0;
  for (const tasks::System& system : tasks::systems()) {
    known.insert(known.end(), {system.id, system.name});
    if (!arguments.name.empty() && arguments.name != system.id && arguments.name != system.name) continue;
    ++found;
    if (arguments.json)
      list.append(value_of(system));
    else
      print_system(system);
  }
  if (found == 0) throw WrongCall(format("systems: there is no \"{}\"{}", arguments.name, did_you_mean(arguments.name, known)));
  if (arguments.json) print(io::to_json(list) + "\n");
}

}  // namespace attend::cli
