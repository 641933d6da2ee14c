#include "cli/arguments.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "cli/versions.h"

namespace attend::cli {
namespace {

CLI::App* add_command(CLI::App& app, const char* name, const char* meaning, const char* example) {
  CLI::App* command = app.add_subcommand(name, meaning);
  command->footer(std::string("\nExample:\n  ") + example);
  command->fallthrough();
  return command;
}

void add_quickstart(CLI::App& app, Arguments& arguments) {
  auto given = std::make_shared<QuickstartArguments>();
  CLI::App* command = add_command(app, "quickstart", "Data, training, score, answers, pictures: everything once, in a few minutes",
                                  "attend quickstart --out quickstart");
  command->add_option("--out", given->out, "Folder for all of it")->capture_default_str();
  command->callback([&arguments, given] { arguments.command = *given; });
}

void add_data(CLI::App& app, Arguments& arguments) {
  auto given = std::make_shared<DataArguments>();
  CLI::App* command = add_command(app, "data", "Build a real data set from Debian packages", "attend data libreoffice-help --languages en,de");
  command->add_option("NAME", given->name, "Which one: cmudict, libreoffice-help, package-descriptions")->required();
  command->add_option("--languages", given->languages, "Source and target language of a parallel set, as en,fr (which is taken where this is missing) or en,zh-CN");
  command->callback([&arguments, given] { arguments.command = *given; });
}

void add_train(CLI::App& app, Arguments& arguments) {
  auto given = std::make_shared<TrainArguments>();
  CLI::App* command = add_command(app, "train", "Train a recipe", "attend train B3-cmudict-quickstart --set train.steps=500 --out runs/short");
  command->add_option("RECIPE", given->recipe, "A recipe's path, or its name in ./recipes or among the installed ones");
  const auto is_setting = [](const std::string& text) {
    return text.find('=') == std::string::npos ? "expected KEY=VALUE, for example train.steps=500, got " + text : std::string();
  };
  command->add_option("--set", given->settings, "KEY=VALUE: a setting in place of the recipe's; may be given again")
      ->expected(1)
      ->take_all()
      ->check(CLI::Validator(is_setting, ""));
  command->add_option("--out", given->out, "The run's folder (default: runs/NAME)");
  command->add_flag("--resume", given->resume, "Go on from the folder's last checkpoint");
  command->add_flag("--settings", given->list_settings, "List every setting of a recipe, with its default, and train nothing");
  command->callback([&arguments, given] {
    if (given->recipe.empty() && !given->list_settings) throw CLI::RequiredError("RECIPE");
    arguments.command = *given;
  });
}

void add_decode_options(CLI::App* command, DecodeArguments& given) {
  command->add_option("--length-penalty", given.length_penalty, "alpha of ((5 + n) / 6)^alpha, which scores of a beam are divided by (default: the recipe's)")
      ->check(CLI::Range(0.0, 100.0));
  command->add_option("--coverage-penalty", given.coverage_penalty, "beta of the penalty for source tokens that a beam's answer left out (default: the recipe's)")
      ->check(CLI::Range(0.0, 100.0));
  command->add_flag("--replace-unknown", given.replace_unknown, "Put the source token that was looked at most in place of an unknown one");
}

void add_eval(CLI::App& app, Arguments& arguments) {
  auto given = std::make_shared<EvalArguments>();
  CLI::App* command = add_command(app, "eval", "Score a trained model on held-out data", "attend eval runs/B3-cmudict-quickstart --split test");
  command->add_option("RUN", given->run, "A run's folder")->required();
  command->add_option("--split", given->split, "train, valid, test, or a TSV file (default: the recipe's figure)");
  command->add_option("--beam", given->beam, "Hypotheses kept in search; 1 is greedy (default: the recipe's)")->check(CLI::Range(1, 1000));
  CLI::Option* by_length = command->add_flag("--by-length", given->by_length, "Also the scores of short and long sources, in tokens (of sub-words: words): 1-10, 11-20, …");
  command->add_option("--length-step", given->length_step, "Tokens that a row of --by-length spans")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000))
      ->needs(by_length);
  command->add_option("--alignments", given->gold, "Gold alignments, a line for each pair (0-0 1p2): also the error rate of the attention, AER");
  add_decode_options(command, given->decode);
  command->add_flag("--json", given->json, "One JSON object instead of text");
  command->add_flag("--log", given->log, "Append the result to results/RECIPE.jsonl");
  command->callback([&arguments, given] { arguments.command = *given; });
}

void add_predict(CLI::App& app, Arguments& arguments) {
  auto given = std::make_shared<PredictArguments>();
  CLI::App* command = add_command(app, "predict", "Answer lines: one line out for each line in", "echo attention | attend predict runs/B3-cmudict-quickstart");
  command->add_option("RUN", given->run, "A run's folder")->required();
  command->add_option("FILE", given->file, "A file of lines, or - for standard input")->capture_default_str();
  command->add_option("--beam", given->beam, "Hypotheses kept in search; 1 is greedy (default: the recipe's)")->check(CLI::Range(1, 1000));
  add_decode_options(command, given->decode);
  command->add_option("--n-best", given->n_best, "Print the best N answers as LINE ||| TEXT ||| SCORE")->check(CLI::Range(1, 1000));
  command->add_flag("--json", given->json, "One JSON object a line");
  command->add_flag("--alignments", given->alignments, "Append ||| and source-target pairs, as 0-0 1-2");
  command->add_option("--record", given->record, "Write where the model looked to this .attn file");
  command->callback([&arguments, given] {
    if (given->beam > 0 && given->n_best > given->beam)
      throw CLI::ValidationError("--n-best", "needs a --beam of at least as many hypotheses");
    arguments.command = *given;
  });
}

void add_check(CLI::App& app, Arguments& arguments) {
  auto given = std::make_shared<CheckArguments>();
  CLI::App* command = add_command(app, "check", "Check what must hold of a trained model: causality, padding, batches, steps, gradients, weights",
                                  "attend check runs/B3-cmudict-quickstart");
  command->add_option("RUN", given->run, "A run's folder")->required();
  command->add_option("FILE", given->file, "A file of lines to check with, or - for standard input (default: held-out pairs)");
  command->add_option("--split", given->split, "train, valid, test, or a TSV file (default: valid)");
  command->add_option("--items", given->items, "Pairs of it, the first ones")->check(CLI::Range(1, 1000))->capture_default_str();
  command->add_option("--draws", given->draws, "Of a model with hard-sampled attention: also the variance of its gradient over so many draws, with and without baseline")
      ->check(CLI::Range(2, 100000));
  command->add_flag("--json", given->json, "One JSON object instead of text");
  command->callback([&arguments, given] {
    if (!given->file.empty() && !given->split.empty()) throw CLI::ValidationError("--split", "can't be given with a FILE of lines");
    arguments.command = *given;
  });
}

void add_show(CLI::App& app, Arguments& arguments) {
  auto given = std::make_shared<ShowArguments>();
  CLI::App* command = add_command(app, "show", "Show a recording as heat maps in the terminal", "attend show quickstart/words.attn");
  command->add_option("FILE", given->file, "A .attn file, or a run folder: its held-out examples")->required();
  command->add_option("--example", given->example, "Only the example with this id");
  command->add_option("--width", given->width, "Columns to fit into (default: the terminal's)")->check(CLI::Range(20, 100000));
  command->add_flag("--ascii", given->ascii, "Plain ASCII shades");
  command->add_flag("--no-colour,--no-color", given->no_colour, "No colour, even on a terminal");
  command->callback([&arguments, given] { arguments.command = *given; });
}

// Takes --keep apart: NAME or NAME=SIZE.
void read_keep(const std::string& text, ViewArguments& given) {
  const std::size_t equals = text.find('=');
  given.keep = text.substr(0, equals);
  const std::string size = equals == std::string::npos ? "" : text.substr(equals + 1);
  const bool is_number = !size.empty() && size.size() <= 6 && size.find_first_not_of("0123456789") == std::string::npos;
  const bool is_size = is_number && std::stol(size) > 0;
  const bool fits = given.keep == "all" ? equals == std::string::npos : equals == std::string::npos || is_size;
  if ((given.keep != "all" && given.keep != "top-k" && given.keep != "thumbnail") || !fits)
    throw CLI::ValidationError("--keep", "expected all, top-k, top-k=K, thumbnail or thumbnail=N with a K or N of at least 1, got " + text);
  if (is_size) given.keep_size = std::stol(size);
}

// Options that don't go together. `is_given` tells which ones stood in the line.
void check_view(const ViewArguments& given, const std::function<bool(const char*)>& is_given) {
  const auto refuse = [&](std::initializer_list<const char*> options, const char* why) {
    for (const char* option : options)
      if (is_given(option)) throw CLI::ValidationError(option, why);
  };
  if (given.out.empty()) {
    refuse({"--keep"}, "shortens an exported page; give --export NAME.html too");
    refuse({"--example", "--item", "--overlay", "--dark"}, "is of --export; in the page that is opened one chooses there");
    return;
  }
  const auto ends_in = [&](std::string_view end) { return given.out.size() > end.size() && std::string_view(given.out).ends_with(end); };
  const bool is_page = ends_in(".html");
  if (!is_page && !ends_in(".svg") && !ends_in(".png"))
    throw CLI::ValidationError("--export", "expected a name that ends in .html, .svg or .png, got " + given.out);
  refuse({"--port", "--no-open"}, "is of the page that is served; leave it out, or --export");
  if (is_page) refuse({"--dark"}, "is of pictures; a page follows the reader's settings, and has a switch");
  if (is_page) refuse({"--item", "--overlay"}, "is of pictures; a page has all, and lets the reader choose");
  if (!is_page) refuse({"--keep"}, "shortens a page; pictures show all weights: export NAME.html, or leave it out");
}

void add_view(CLI::App& app, Arguments& arguments) {
  auto given = std::make_shared<ViewArguments>();
  auto keep = std::make_shared<std::string>();
  CLI::App* command = add_command(app, "view", "Look at a recording or run in the browser, or export it as a page or picture",
                                  "attend view quickstart/words.attn\n  attend view runs/B3-cmudict-quickstart\n"
                                  "  attend view quickstart/words.attn --export attention.html");
  command->add_option("FILE", given->file, "A .attn file, or a run folder: its held-out examples and curves, also while it is training")->required();
  command->add_option("--export", given->out, "Write a file instead of serving: NAME.html, a page that needs nothing else, or NAME.svg or NAME.png");
  command->add_option("--keep", *keep, "What a page holds of the weights: all (default), top-k=K of each row (K: 8), thumbnail=N of at most N x N (N: 64)");
  command->add_option("--example", given->example, "Export the example with this id (pictures: else the first; pages: else all)");
  command->add_option("--item", given->item, "Of a picture: the module that it shows, decoder.attention, or decoder.attention:2 for its layer 2, or the item's number from 1 (default: 1)");
  command->add_option("--overlay", given->overlay, "Of a map that belongs to a picture: colour (default) or light over it, none without it")
      ->check(CLI::IsMember({"colour", "light", "none"}));
  command->add_flag("--dark", given->dark, "A picture that is light on dark");
  command->add_option("--port", given->port, "Port of 127.0.0.1 to serve on (default: a free one)")->check(CLI::Range(1, 65535));
  command->add_flag("--no-open", given->no_open, "Only print the page's address, don't open a browser");
  command->callback([&arguments, given, keep, command] {
    check_view(*given, [command](const char* option) { return command->get_option(option)->count() > 0; });
    if (command->get_option("--keep")->count() > 0) read_keep(*keep, *given);
    arguments.command = *given;
  });
}

void add_systems(CLI::App& app, Arguments& arguments) {
  auto given = std::make_shared<SystemsArguments>();
  CLI::App* command = add_command(app, "systems", "List every system that runs: what it is, its paper, its recipes", "attend systems B3");
  command->add_option("NAME", given->name, "Only this one: its id or name");
  command->add_flag("--json", given->json, "As JSON");
  command->callback([&arguments, given] { arguments.command = *given; });
}

void add_bench(CLI::App& app, Arguments& arguments) {
  auto given = std::make_shared<BenchArguments>();
  CLI::App* command = add_command(app, "bench", "Time the fused forms against the composed ones and against the machine's limits",
                                  "attend bench attention --case dot-forward-12x1024x64");
  command->add_option("SUITE", given->suite, "Which cases: attention, additive, decoder, or a .toml file of cases")->required();
  command->add_option("--case", given->cases, "Only the case with this name; may be given again")->expected(1)->take_all();
  command->add_option("--seconds", given->seconds, "Seconds to time each case for; each form runs at least five times")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 3600.0));
  command->add_flag("--fused-only", given->fused_only, "Time the fused forms alone, for comparing with another program; results are checked all the same");
  command->add_flag("--json", given->json, "One JSON object instead of text");
  command->callback([&arguments, given] { arguments.command = *given; });
}

}  // namespace

bool parse(int count, char** values, Arguments& arguments, int& status) {
  CLI::App app{"attend: attention mechanisms and systems. Train them, use them, see where they looked."};
  app.name("attend");
  app.require_subcommand(1);
  app.set_version_flag("--version", [] {
    std::string text = version_text();
    text.pop_back();  // CLI11 adds a line's end
    return text;
  }, "Versions of attend, libtorch, BLAS, SIMD target and threads");
  app.add_option("--threads", arguments.threads, "Threads to compute with (default: all cores the process may use)")->check(CLI::Range(1, 1024));
  app.footer("\n`attend COMMAND --help` says more, with an example.");
  add_quickstart(app, arguments);
  add_data(app, arguments);
  add_train(app, arguments);
  add_eval(app, arguments);
  add_predict(app, arguments);
  add_check(app, arguments);
  add_show(app, arguments);
  add_view(app, arguments);
  add_systems(app, arguments);
  add_bench(app, arguments);
  try {
    app.parse(count, values);
    return true;
  } catch (const CLI::CallForHelp& error) {
    status = app.exit(error) == 0 ? done : failed;
  } catch (const CLI::CallForAllHelp& error) {
    status = app.exit(error) == 0 ? done : failed;
  } catch (const CLI::CallForVersion& error) {
    status = app.exit(error) == 0 ? done : failed;
  } catch (const CLI::ParseError& error) {
    std::cerr << "attend: " << error.what() << "\nRun `attend --help`, or `attend COMMAND --help`, to see what can be said.\n";
    status = wrong_call;
  }
  return false;
}

}  // namespace attend::cli
