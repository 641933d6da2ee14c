#include "attend/data/pairs.h"
#include "attend/data/unicode.h"
#include "attend/io/json.h"
#include "attend/tasks/metrics/alignment.h"
#include "attend/view/record.h"
#include "cli/commands.h"
#include "cli/line_reader.h"
#include "cli/terminal.h"

namespace attend::cli {
namespace {

constexpr std::size_t lines_at_once = 256;

// The source token that each target token looked at most. The source's end, which stands for no token of the line, is left out.
tasks::Alignment links(const tasks::Prediction& prediction, const tasks::Prediction::Output& output) {
  if (!output.alignment.defined()) return {};
  return tasks::hard_alignment(output.alignment, static_cast<std::int64_t>(prediction.source.size()));
}

std::string links_text(const tasks::Prediction& prediction, const tasks::Prediction::Output& output) {
  return tasks::alignment_text(links(prediction, output));
}

io::Value value_of(const tasks::Prediction& prediction, std::int64_t line, const std::string& input) {
  io::Value outputs = io::Value::list();
  for (const tasks::Prediction::Output& output : prediction.outputs) {
    io::Value tokens = io::Value::list(), alignment = io::Value::list();
    for (const std::string& token : output.tokens) tokens.append(token);
    for (const tasks::Link& link : links(prediction, output)) {
      io::Value pair = io::Value::list();
      pair.append(link.source);
      pair.append(link.target);
      alignment.append(pair);
    }
    io::Value one = io::Value::table();
    one.set("text", output.text);
    one.set("tokens", tokens);
    one.set("score", output.score);
    one.set("alignment", alignment);
    outputs.append(one);
  }
  io::Value value = io::Value::table();
  value.set("line", line);
  value.set("input", input);
  value.set("outputs", outputs);
  return value;
}

class Predicting {
 public:
  explicit Predicting(const PredictArguments& arguments) : arguments_(arguments), run_(tasks::open_run(arguments.run)) {
    apply(arguments.decode, run_.recipe.decode);
    options_.beam = arguments.beam > 0 ? arguments.beam : std::max(run_.recipe.decode.beam, std::max<std::int64_t>(arguments.n_best, 1));
    options_.n_best = std::max<std::int64_t>(arguments.n_best, 1);
    options_.alignments = arguments.alignments || arguments.json || !arguments.record.empty();
    if ((arguments.alignments || !arguments.record.empty()) && run_.model->alignment_module().empty())
      throw InvalidArgument(format("{}: its model \"{}\" has no attention, so that it aligns nothing; leave out {}", arguments.run,
                                   name_of(run_.recipe.model.name), arguments.alignments ? "--alignments" : "--record"));
  }

  void all() {
    LineReader reader(arguments_.file);
    for (std::vector<std::string> lines = reader.next(lines_at_once); !lines.empty(); lines = reader.next(lines_at_once)) {
      // what stands before a bad line is answered first
      std::string refused;
      for (std::size_t i = 0; i < lines.size() && refused.empty(); ++i) {
        try {
          data::check_line(format("{}:{}", reader.name(), line_ + static_cast<std::int64_t>(i) + 1), lines[i]);
        } catch (const InvalidData& error) {
          refused = error.what();
          lines.resize(i);
        }
      }
      answer(lines);
      flush_output();
      if (!refused.empty()) {
        tell_of_long_lines();
        write_record();
        throw InvalidData(refused);
      }
    }
    tell_of_long_lines();
    write_record();
  }

 private:
  void answer(const std::vector<std::string>& lines) {
    const std::vector<tasks::Prediction> predictions = tasks::predict(run_, lines, options_);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      ++line_;
      if (predictions[i].longer_than_trained && ++long_lines_ == 1) first_long_line_ = line_;
      print_answer(predictions[i], lines[i]);
      if (!arguments_.record.empty()) record_.examples.push_back(tasks::record_of(run_, predictions[i], std::to_string(line_)));
    }
  }

  void print_answer(const tasks::Prediction& prediction, const std::string& input) const {
    if (arguments_.json) {
      print(io::to_json(value_of(prediction, line_, input)) + "\n");
    } else if (arguments_.n_best > 0) {
      for (const tasks::Prediction::Output& output : prediction.outputs)
        print(format("{} ||| {} ||| {:.4f}", line_, output.text, output.score) +
              (arguments_.alignments ? " ||| " + links_text(prediction, output) : "") + "\n");
    } else if (prediction.outputs.empty()) {
      print("\n");
    } else {
      const tasks::Prediction::Output& best = prediction.outputs.front();
      print(best.text + (arguments_.alignments ? " ||| " + links_text(prediction, best) : "") + "\n");
    }
  }

  // Once, behind the answers: a warning for each line would drown them.
  void tell_of_long_lines() const {
    if (long_lines_ > 0) warn(longer_text(run_.recipe, format("{} of {} lines (the first is line {})", long_lines_, line_, first_long_line_)));
  }

  void write_record() const {
    if (!arguments_.record.empty()) view::write_record(arguments_.record, record_);
  }

  const PredictArguments& arguments_;
  tasks::Run run_;
  tasks::PredictOptions options_;
  view::Record record_;
  std::int64_t line_ = 0, long_lines_ = 0, first_long_line_ = 0;
};

}  // namespace

void run(const PredictArguments& arguments) { Predicting(arguments).all(); }

}  // namespace attend::cli
