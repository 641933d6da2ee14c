// BLEU: submissions to WMT 2017, a tensorflow/nmt output, and sacreBLEU's own cases.
#include "attend/tasks/metrics/bleu.h"

#include "tests/metric_vectors/metric_vectors.h"
#include "tests/metric_vectors/scored_folder.h"
#include "tests/reference/tolerance.h"

namespace attend::vectors {
namespace {

using tasks::Bleu;
using tasks::BleuOptions;

Problems compare(double got, double wanted, const reference::Tolerance& near) {
  const std::string problem = reference::difference("BLEU", {got}, {wanted}, near);
  return problem.empty() ? Problems{} : Problems{problem};
}

Problems compare_printed(double got, double wanted, const char* pattern) {
  const std::string printed = format(pattern, got), expected = format(pattern, wanted);
  return printed == expected ? Problems{} : Problems{"BLEU: got " + printed + ", wanted " + expected};
}

template <class Name>
Name named(const std::string& text) {
  for (const auto& entry : EnumNames<Name>::values)
    if (entry.name == text) return entry.value;
  throw InvalidData("not understood: " + text);
}

Problems wmt17(ScoredFolder& folder, const std::string& name, double wanted) {
  const std::vector<std::string> hypotheses = folder.lines(name + ".txt"), references = folder.lines("wmt17-reference.de");
  if (hypotheses.size() != references.size()) return {"not understood: another number of lines than the reference"};
  Bleu bleu;
  for (std::size_t i = 0; i < hypotheses.size(); ++i) bleu.add(hypotheses[i], {references[i]});
  return compare_printed(bleu.score(), wanted, "{:.2f}");
}

// Split at each single space, so that two make an empty word.
tasks::Tokens at_spaces(std::string text) {
  text.erase(text.find_last_not_of(" \t\r") + 1);
  text.erase(0, text.find_first_not_of(" \t\r"));
  tasks::Tokens words(1);
  for (const char c : text) {
    if (c == ' ')
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

std::string without_marks(std::string text, const std::string& mark) {
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) text.erase(at, mark.size());
  return text;
}

// SentencePiece: ▁ is a space, and pieces are put together.
std::string without_pieces(const std::string& text) {
  std::string joined = without_marks(text, " ");
  for (std::size_t at = joined.find("\u2581"); at != std::string::npos; at = joined.find("\u2581", at + 1)) joined.replace(at, 3, " ");
  return joined;
}

Problems tensorflow(ScoredFolder& folder, const io::Value& group) {
  const std::vector<std::string> hypotheses = folder.lines("tensorflow-nmt." + group.at("hyp").as_text()),
                                 bpe = folder.lines("tensorflow-nmt.deen_ref_bpe"), pieces = folder.lines("tensorflow-nmt.deen_ref_spm");
  if (hypotheses.size() != bpe.size() || pieces.size() != bpe.size()) return {"not understood: files of different lengths"};
  BleuOptions options;
  options.smoothing = tasks::BleuSmoothing::none;
  Bleu of_bpe(options), of_pieces(options);
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    of_bpe.add_tokens(at_spaces(hypotheses[i]), {at_spaces(without_marks(bpe[i], "@@ "))});
    of_pieces.add_tokens(at_spaces(hypotheses[i]), {at_spaces(without_pieces(pieces[i]))});
  }
  Problems problems = compare(of_bpe.score(), group.at("bleu").as_number(), reference::printed_tolerance(10));
  const Problems of_other = compare(of_pieces.score(), group.at("bleu").as_number(), reference::printed_tolerance(10));
  problems.insert(problems.end(), of_other.begin(), of_other.end());
  return problems;
}

double unit_score(const io::Value& group, const BleuOptions& options) {
  const auto& hypotheses = group.at("hyps").as_list();
  Bleu bleu(options);
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    std::vector<std::string> references;
    for (const io::Value& reference : group.at("refs").as_list()) references.push_back(reference.as_list().at(i).as_text());
    bleu.add(hypotheses[i].as_text(), references);
  }
  return bleu.score();
}

// [smoothing, its value or null, tokenizer, score]
Problems sentence(const io::Value& group, const io::Value& test) {
  const auto& parts = test.as_list();
  if (parts.size() != 4) return {"not understood: expected four parts"};
  BleuOptions options;
  options.smoothing = named<tasks::BleuSmoothing>(parts[0].as_text());
  if (!parts[1].is_null()) options.smoothing_value = parts[1].as_number();
  options.tokenizer = named<tasks::BleuTokenizer>(parts[2].as_text());
  options.effective_order = group.at("effective_order").as_bool();
  Bleu bleu(options);
  bleu.add(group.at("hyp").as_text(), {group.at("ref").as_text()});
  return compare(bleu.score(), parts[3].as_number(), {group.at("tol").as_number(), 0});
}

void run_unit(Tally& tally, const io::Value& group) {
  refuse_unknown(tally, "sacrebleu_unit", group, {"source", "hyps", "refs", "scores", "max_order", "sentence"});
  for (const auto& [name, score] : group.at("scores").as_table())
    tally.run("sacrebleu_unit.scores." + name, [&, name = name, wanted = score.as_number()] {
      BleuOptions options;
      options.tokenizer = named<tasks::BleuTokenizer>(name == "default_13a" ? "13a" : name);
      return compare(unit_score(group, options), wanted, reference::printed_tolerance(6));
    });
  for (const auto& [order, score] : group.at("max_order").as_table())
    tally.run("sacrebleu_unit.max_order." + order, [&, order = order, wanted = score.as_number()] {
      BleuOptions options;
      options.order = std::stoll(order);
      return compare_printed(unit_score(group, options), wanted, "{:.2f}");
    });
  const io::Value& sentences = group.at("sentence");
  refuse_unknown(tally, "sacrebleu_unit.sentence", sentences, {"ref", "hyp", "effective_order", "tol", "cases"});
  for (const io::Value& test : sentences.at("cases").as_list())
    tally.run("sentence " + io::to_json(test), [&] { return sentence(sentences, test); });
}

}  // namespace

std::optional<Tally> run_bleu(const std::filesystem::path& place) {
  if (!std::filesystem::is_directory(place)) return std::nullopt;
  ScoredFolder folder(place);
  Tally tally;
  const io::Value expected = folder.expected(tally);
  if (!expected.is_table()) return tally;
  refuse_unknown(tally, "expected", expected, {"source", "wmt17_en_de_bleu_13a", "tensorflow_nmt", "sacrebleu_unit"});
  if (const io::Value* group = expected.find("wmt17_en_de_bleu_13a"))
    for (const auto& [name, score] : group->as_table())
      tally.run(name, [&, name = name, wanted = score.as_number()] { return wmt17(folder, name, wanted); });
  if (const io::Value* group = expected.find("tensorflow_nmt")) {
    refuse_unknown(tally, "tensorflow_nmt", *group, {"source", "hyp", "ref", "tokens", "bleu", "rouge", "note"});
    tally.run("tensorflow_nmt.bleu", [&] { return tensorflow(folder, *group); });
    if (group->find("rouge") != nullptr) tally.not_built.push_back("tensorflow_nmt.rouge");
  }
  if (const io::Value* group = expected.find("sacrebleu_unit")) run_unit(tally, *group);
  folder.refuse_the_rest(tally);
  return tally;
}

}  // namespace attend::vectors
