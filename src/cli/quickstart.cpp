#include <cstdlib>

#include "attend/data/sets/cmudict.h"
#include "attend/io/file.h"
#include "attend/io/json.h"
#include "attend/view/page.h"
#include "attend/view/picture.h"
#include "attend/view/text.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"

namespace attend::cli {
namespace {

constexpr auto quickstart_recipe = "B3-cmudict-quickstart";
const std::vector<std::string> example_words = {"attention", "phonology", "thoughtful", "quizzical", "knowledgeable"};

// The data set below the quickstart's own folder; made once.
void make_data(const std::filesystem::path& folder) {
  if (std::filesystem::exists(folder / "SOURCE.json")) {
    print_source(io::parse_json(io::read_file(folder / "SOURCE.json"), (folder / "SOURCE.json").string()), folder);
    return;
  }
  print_source(data::make_cmudict(folder), folder);
}

// Pronounces the words; draws their heat maps in the terminal, and as files.
void show_words(tasks::Run& run, const std::filesystem::path& folder) {
  tasks::PredictOptions options;
  options.alignments = true;
  const std::vector<tasks::Prediction> predictions = tasks::predict(run, example_words, options);
  view::Record record;
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    print(format("{:<14} {}\n", example_words[i], predictions[i].outputs.front().text));
    record.examples.push_back(tasks::record_of(run, predictions[i], example_words[i]));
  }
  view::TextOptions text;
  text.width = terminal_width();
  text.colour = output_is_terminal();
  for (const view::Example& example : record.examples) {
    print("\n" + view::heat_map_text(example, example.items.front(), text));
    view::write_svg(folder / (example.id + ".svg"), example, example.items.front());
    view::write_png(folder / (example.id + ".png"), example, example.items.front());
  }
  view::write_record(folder / "words.attn", record);
  view::write_html(folder / "words.html", record, {.title = "words.attn"});
}

}  // namespace

void run(const QuickstartArguments& arguments) {
  const std::filesystem::path folder = arguments.out;
  io::make_folders(folder);
  setenv("ATTEND_DATA", std::filesystem::absolute(folder / "data").c_str(), 1);
  const tasks::Recipe recipe = tasks::read_recipe(tasks::find_recipe(quickstart_recipe));
  make_data(tasks::data_folder() / recipe.data.corpus);
  flush_output();
  if (!train_with_progress(recipe, folder / "run", /*resume=*/true)) return;
  flush_output();
  tasks::Run run = tasks::open_run(folder / "run");
  tasks::EvaluateOptions options;
  options.beam = recipe.decode.beam;
  const tasks::Evaluation evaluation = evaluate_with_progress(run, "test", options);
  print("\n" + score_text(run, evaluation) + "\n\n");
  show_words(run, folder);
  print(format("\nEverything is in {}: the run, words.attn, and a .svg and .png of each word. To look at the words, open {} in a browser.\n"
               "Try your own words, in the terminal or in a page of the run:\n  echo attention | attend predict {}\n  attend view {}\n",
               folder.string(), (folder / "words.html").string(), (folder / "run").string(), (folder / "run").string()));
}

}  // namespace attend::cli
