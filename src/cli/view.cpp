#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <variant>

#include "attend/core/libtorch.h"
#include "attend/data/pairs.h"
#include "attend/view/page.h"
#include "attend/view/picture.h"
#include "attend/view/record_file.h"
#include "attend/view/server.h"
#include "cli/browser.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"

namespace attend::cli {
namespace {

// Beyond this a page is slow to open and too large to send.
constexpr std::uintmax_t large_page = 20'000'000;
constexpr std::size_t most_listed_items = 20;

// What is looked at: a recording, or a run with its samples, which it has once its training has ended.
struct Viewed {
  std::variant<view::Record, view::RecordFile> record;
  view::PageOptions page;
  std::optional<tasks::RunFiles> finished_run;
};

std::string system_of(const tasks::Recipe& recipe) {
  for (const tasks::System& system : tasks::systems())
    if (system.name == name_of(recipe.model.name)) return system.id;
  return "";
}

// "a word" where the data's items are called words.
std::string one_of(const std::string& items) {
  if (items == "items" || !items.ends_with('s')) return "a line of text";
  return "a " + items.substr(0, items.size() - 1);
}

Viewed open_viewed(const std::string& file_or_run) {
  if (!std::filesystem::is_directory(file_or_run)) return {view::RecordFile::open(file_or_run), {}, std::nullopt};
  const tasks::RunFiles files{file_or_run};
  if (!std::filesystem::exists(files.recipe()))
    throw SystemError(
        format("{}: is no run folder: it has no recipe.toml; give a .attn file, or a folder that `attend train` made", file_or_run));
  const tasks::Recipe recipe = tasks::read_recipe(files.recipe());
  Viewed viewed;
  viewed.page.title = recipe.name;
  viewed.page.run = view::PageRun{.name = recipe.name,
                                  .system = system_of(recipe),
                                  .metrics = files.metrics(),
                                  .ended = files.samples(),
                                  .try_hint = one_of(recipe.data.items)};
  if (!std::filesystem::exists(files.samples())) return viewed;
  viewed.record = view::RecordFile::open(files.samples());
  if (std::filesystem::exists(files.model())) viewed.finished_run = files;
  return viewed;
}

const std::vector<view::Example>& examples_of(const Viewed& viewed) {
  const auto* file = std::get_if<view::RecordFile>(&viewed.record);
  return file != nullptr ? file->examples() : std::get<view::Record>(viewed.record).examples;
}

// The example with this id, the first with weights where none was named.
std::size_t chosen_example(const Viewed& viewed, const ViewArguments& arguments) {
  const std::vector<view::Example>& examples = examples_of(viewed);
  const auto found = std::find_if(examples.begin(), examples.end(), [&](const view::Example& example) {
    return arguments.example.empty() ? !example.items.empty() : example.id == arguments.example;
  });
  if (found == examples.end())
    throw InvalidArgument(arguments.example.empty() ? format("{}: holds no weights", arguments.file)
                                                    : format("{}: has no example with the id \"{}\"", arguments.file, arguments.example));
  return static_cast<std::size_t>(found - examples.begin());
}

// "decoder.attention"; "encoder.attention:2" where it has a layer.
std::string item_name(const view::Item& item) { return item.layer > 0 ? format("{}:{}", item.module, item.layer) : item.module; }

// The item of this number, or the first of this module, or of this module and layer; the first of all where nothing was named.
std::size_t chosen_item(const view::Example& example, const ViewArguments& arguments) {
  if (example.items.empty()) throw InvalidArgument(format("{}: the example \"{}\" holds no weights", arguments.file, example.id));
  const std::string& wanted = arguments.item;
  std::string known;
  for (std::size_t i = 0; i < example.items.size(); ++i) {
    const view::Item& item = example.items[i];
    if (wanted.empty() || wanted == std::to_string(i + 1) || wanted == item_name(item) || wanted == item.module) return i;
    if (i < most_listed_items) known += format("{}{} {}", i == 0 ? "" : ", ", i + 1, item_name(item));
  }
  if (example.items.size() > most_listed_items) known += ", …";
  throw InvalidArgument(format("{}: the example \"{}\" has no item \"{}\"; it has {}", arguments.file, example.id, wanted, known));
}

view::Overlay overlay_of(const ViewArguments& arguments) {
  return arguments.overlay == "none" ? view::Overlay::none : arguments.overlay == "light" ? view::Overlay::light : view::Overlay::colour;
}

void export_picture(const ViewArguments& arguments) {
  const view::RecordFile record = view::RecordFile::open(recording_of(arguments.file));
  const Viewed viewed{record, {}, std::nullopt};
  const std::size_t number = chosen_example(viewed, arguments);
  view::Example example = record.examples()[number];
  const std::size_t item = chosen_item(example, arguments);
  if (example.picture) example.picture = record.picture(number);
  view::PictureOptions options;
  options.background = arguments.dark ? view::Background::dark : view::Background::light;
  options.overlay = overlay_of(arguments);
  const std::filesystem::path out = arguments.out;
  (out.extension() == ".svg" ? view::write_svg : view::write_png)(out, example, record.item(number, item), options);
  print(arguments.out + "\n");
}

view::Keep keep_of(const ViewArguments& arguments) {
  view::Keep keep;
  if (arguments.keep == "top-k") keep.form = view::Form::top_k;
  if (arguments.keep == "thumbnail") keep.form = view::Form::thumbnail;
  if (arguments.keep_size > 0) (keep.form == view::Form::top_k ? keep.k : keep.size) = arguments.keep_size;
  return keep;
}

// One example with all that belongs to it.
view::Record only(const view::RecordFile& file, std::size_t number) {
  view::Example example = file.examples()[number];
  for (std::size_t i = 0; i < example.items.size(); ++i) example.items[i] = file.item(number, i);
  if (example.picture) example.picture = file.picture(number);
  if (example.sound) example.sound = file.sound(number);
  return {{std::move(example)}};
}

void export_page(const ViewArguments& arguments) {
  Viewed viewed = open_viewed(arguments.file);
  viewed.page.keep = keep_of(arguments);
  if (viewed.page.title.empty()) viewed.page.title = std::filesystem::path(arguments.file).filename().string();
  if (!arguments.example.empty()) {
    const std::size_t number = chosen_example(viewed, arguments);
    viewed.record = only(view::RecordFile(std::get<view::RecordFile>(viewed.record)), number);
  }
  const std::uintmax_t size =
      std::visit([&](const auto& record) { return view::write_html(arguments.out, record, viewed.page); }, viewed.record);
  print(arguments.out + "\n");
  if (size > large_page)
    warn(
        format("{} has {} MB, which browsers are slow to open; --keep top-k=K keeps the K largest weights of each row, --keep thumbnail=N "
               "a map of at most "
               "N x N, --example ID one example",
               arguments.out, (size + 500'000) / 1'000'000));
}

// Answers texts with a run's model, which is opened when the first one comes.
class Answering {
 public:
  explicit Answering(tasks::RunFiles files) : files_(std::move(files)) {}

  view::Tried answer(const std::string& text) {
    try {
      at::init_num_threads();  // of this thread
      if (text.find_first_not_of(" \t\r\n") == std::string::npos) throw InvalidArgument("expected a text, got nothing but spaces");
      if (text.find('\n') != std::string::npos) throw InvalidArgument("expected one line of text, got several");
      data::check_line("the text", text);
      if (!run_) run_ = tasks::open_run(files_.folder);
      tasks::PredictOptions options;
      options.beam = run_->recipe.decode.beam;
      options.alignments = true;
      const tasks::Prediction prediction = tasks::predict(*run_, {text}, options).front();
      return {tasks::record_of(*run_, prediction, text), prediction.outputs.empty() ? "" : prediction.outputs.front().text};
    } catch (const c10::Error& error) {
      throw InvalidArgument(std::string("libtorch refused: ") + error.what_without_backtrace());
    }
  }

 private:
  tasks::RunFiles files_;
  std::optional<tasks::Run> run_;
};

void serve(const ViewArguments& arguments) {
  const InterruptScope interrupts;
  Viewed viewed = open_viewed(arguments.file);
  view::Try try_text;
  if (viewed.finished_run)
    try_text = [answering = std::make_shared<Answering>(*viewed.finished_run)](const std::string& text) { return answering->answer(text); };
  view::ServerOptions options;
  options.port = static_cast<int>(arguments.port);
  view::Server server(std::move(viewed.record), std::move(viewed.page), std::move(try_text), options);
  print(server.address() + "\n");
  flush_output();
  if (!arguments.no_open) open_browser(server.address());
  while (!is_interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  server.stop();
  forget_interrupt();
}

}  // namespace

std::filesystem::path recording_of(const std::string& file_or_run) {
  if (!std::filesystem::is_directory(file_or_run)) return file_or_run;
  const std::filesystem::path samples = tasks::RunFiles{file_or_run}.samples();
  if (!std::filesystem::exists(samples))
    throw SystemError(
        format("{}: holds no samples.attn: it is no run folder, or its training hasn't ended; give a .attn file", file_or_run));
  return samples;
}

void run(const ViewArguments& arguments) {
  if (arguments.out.empty())
    serve(arguments);
  else if (std::filesystem::path(arguments.out).extension() == ".html")
    export_page(arguments);
  else
    export_picture(arguments);
}

}  // namespace attend::cli
