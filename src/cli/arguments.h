// What the command line said. Parsed by the launcher, without libtorch; carried out by the commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace attend::cli {

struct QuickstartArguments {
  std::string out = "quickstart";
};

struct DataArguments {
  std::string name, languages;
};

struct TrainArguments {
  std::string recipe, out;
  std::vector<std::string> settings;
  bool resume = false, list_settings = false;
};

// Of search; what is empty is as the recipe says.
struct DecodeArguments {
  std::optional<double> length_penalty, coverage_penalty;
  bool replace_unknown = false;
};

struct EvalArguments {
  std::string run, split, gold;
  std::int64_t beam = 0;  // 0: as the recipe says
  std::int64_t length_step = 10;
  DecodeArguments decode;
  bool json = false, log = false, by_length = false;
};

struct PredictArguments {
  std::string run, file = "-", record;
  std::int64_t beam = 0, n_best = 0;
  DecodeArguments decode;
  bool json = false, alignments = false;
};

struct CheckArguments {
  std::string run, file, split;
  std::int64_t items = 16;
  std::int64_t draws = 0;  // 0: no variance
  bool json = false;
};

struct ShowArguments {
  std::string file, example;
  std::int64_t width = 0;  // 0: the terminal's
  bool ascii = false, no_colour = false;
};

struct ViewArguments {
  std::string file, out, example;
  std::string item;                // of an exported picture: a module, or a number from 1; empty: the first
  std::string overlay = "colour";  // of a spatial map on its picture: colour, light or none
  std::string keep = "all";    // of an exported page: all, top-k or thumbnail
  std::int64_t keep_size = 0;  // top-k: weights of each row; thumbnail: most rows and columns; 0: the form's own
  std::int64_t port = 0;       // 0: a free one
  bool dark = false, no_open = false;
};

struct SystemsArguments {
  std::string name;
  bool json = false;
};

struct BenchArguments {
  std::string suite;
  std::vector<std::string> cases;  // empty: all
  double seconds = 2.0;            // of timing for each case
  bool fused_only = false;
  bool json = false;
};

struct Arguments {
  std::int64_t threads = 0;  // 0: all cores that the process may use
  std::variant<QuickstartArguments, DataArguments, TrainArguments, EvalArguments, PredictArguments, ShowArguments, ViewArguments, SystemsArguments,
               CheckArguments, BenchArguments>
      command;
};

// Exit statuses.
inline constexpr int done = 0, failed = 1, wrong_call = 2;

// Parses the line. → true: `arguments` holds a command. false: all was said already (help, version, a wrong call) and `status` is what to exit with.
bool parse(int count, char** values, Arguments& arguments, int& status);

}  // namespace attend::cli
