#include "attend/data/sentencepiece.h"

#include <dlfcn.h>

#include <string>
#include <utility>

#include "attend/base/error.h"
#include "attend/io/file.h"
#include "data/sentencepiece_module.h"

namespace attend::data {
namespace {

namespace subwords = sentencepiece_module;

// The folder of the library that this code is in: modules lie in `attend/` beside it, in the build tree as well as installed.
std::filesystem::path library_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&library_folder), &info) == 0 || info.dli_fname == nullptr)
    throw SystemError("SentencePiece: the library that holds attend can't be located (dladdr)");
  std::error_code error;
  const std::filesystem::path library = std::filesystem::canonical(info.dli_fname, error);
  return error ? std::filesystem::path(info.dli_fname).parent_path() : library.parent_path();
}

const subwords::Functions& open_functions() {
  const std::filesystem::path file = library_folder() / "attend" / "attend_sentencepiece.so";
  // A name space of its own: SentencePiece exports a protobuf that must not meet libtorch's. It stays open until the process ends.
  void* const handle = dlmopen(LM_ID_NEWLM, file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    throw SystemError(format("SentencePiece: {} can't be opened: {}; it belongs beside the library, install attend again", file.string(),
                             std::string(dlerror())));
  const void* const functions = dlsym(handle, subwords::functions_symbol);
  if (functions == nullptr)
    throw SystemError(format("SentencePiece: {} is not a module of this version of attend; install attend again", file.string()));
  return *static_cast<const subwords::Functions*>(functions);
}

const subwords::Functions& functions() {
  static const subwords::Functions& opened = open_functions();
  return opened;
}

subwords::TextReceiver receiver(std::string& text) {
  return {&text, [](void* to, const char* data, std::size_t size) { static_cast<std::string*>(to)->assign(data, size); }};
}

struct RemainingTexts {
  std::vector<std::string>::const_iterator next, end;
};

subwords::TextSource source(RemainingTexts& remaining) {
  return {&remaining, [](void* from, const char** text, std::size_t* size) {
            auto& sentences = *static_cast<RemainingTexts*>(from);
            if (sentences.next == sentences.end) return false;
            *text = sentences.next->data(), *size = sentences.next->size();
            ++sentences.next;
            return true;
          }};
}

void check_options(const SentencePieceOptions& options) {
  if (options.vocabulary_size < 5)
    throw InvalidArgument(format("SentencePiece: vocabulary_size: expected at least 5 (four pieces are special), got {}", options.vocabulary_size));
  if (!(options.character_coverage > 0 && options.character_coverage <= 1))
    throw InvalidArgument(format("SentencePiece: character_coverage: expected a share above 0, at most 1, got {}", options.character_coverage));
}

}  // namespace

struct SentencePiece::Impl {
  explicit Impl(subwords::Model* loaded) : model(loaded) {}
  ~Impl() { functions().release(model); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  int checked(std::int64_t id) const {
    const int size = functions().size(model);
    if (id < 0 || id >= size) throw InvalidArgument(format("SentencePiece: expected an id from 0 to {}, got {}", size - 1, id));
    return static_cast<int>(id);
  }

  subwords::Model* const model;
};

void SentencePiece::train(const std::vector<std::string>& sentences, const SentencePieceOptions& options, const std::filesystem::path& file) {
  check_options(options);
  if (sentences.empty()) throw InvalidArgument("SentencePiece: expected sentences to train on, got none");
  const SpecialPieces special;
  const std::vector<std::pair<const char*, std::string>> named = {
      {"vocab_size", std::to_string(options.vocabulary_size)},
      {"model_type", std::string(name_of(options.model))},
      {"character_coverage", format("{}", options.character_coverage)},
      {"byte_fallback", options.byte_fallback ? "true" : "false"},
      {"pad_id", std::to_string(special.padding)},
      {"unk_id", std::to_string(special.unknown)},
      {"bos_id", std::to_string(special.begin)},
      {"eos_id", std::to_string(special.end)},
      {"max_sentence_length", "1000000000"},  // longer ones would be skipped without a word
      {"num_threads", "1"},                   // sums must not depend on the machine
      {"minloglevel", "3"},
  };
  std::vector<subwords::Setting> settings;
  for (const auto& [name, value] : named) settings.push_back({name, value.c_str()});
  RemainingTexts remaining{sentences.begin(), sentences.end()};
  std::string model, error;
  if (!functions().train(source(remaining), settings.data(), settings.size(), receiver(model), receiver(error)))
    throw InvalidArgument("SentencePiece: training failed: " + error);
  io::write_file(file, model);
}

SentencePiece SentencePiece::load(const std::filesystem::path& file) {
  const std::string bytes = io::read_file(file);
  std::string error;
  subwords::Model* const model = functions().load(bytes.data(), bytes.size(), receiver(error));
  if (model == nullptr)
    throw InvalidData(format("{}: is not a SentencePiece model{}; train it again", file.string(), error.empty() ? "" : " (" + error + ")"));
  return SentencePiece(std::make_shared<const Impl>(model));
}

std::vector<std::int64_t> SentencePiece::encode(std::string_view text) const {
  std::vector<std::int64_t> ids;
  std::string error;
  const subwords::IdReceiver receive_ids = {&ids, [](void* to, int id) { static_cast<std::vector<std::int64_t>*>(to)->push_back(id); }};
  if (!functions().encode(impl_->model, text.data(), text.size(), receive_ids, receiver(error)))
    throw InvalidArgument("SentencePiece: the text can't be encoded: " + error);
  return ids;
}

std::vector<std::string> SentencePiece::encode_as_pieces(std::string_view text) const {
  std::vector<std::string> pieces;
  for (const std::int64_t id : encode(text)) pieces.push_back(piece(id));
  return pieces;
}

std::string SentencePiece::decode(const std::vector<std::int64_t>& ids) const {
  std::vector<std::string> pieces;
  for (const std::int64_t id : ids) pieces.push_back(piece(id));
  return decode_pieces(pieces);
}

std::string SentencePiece::decode_pieces(const std::vector<std::string>& pieces) const {
  RemainingTexts remaining{pieces.begin(), pieces.end()};
  std::string text, error;
  if (!functions().decode(impl_->model, source(remaining), receiver(text), receiver(error)))
    throw InvalidArgument("SentencePiece: the pieces can't be decoded: " + error);
  return text;
}

std::int64_t SentencePiece::size() const { return functions().size(impl_->model); }

std::string SentencePiece::piece(std::int64_t id) const {
  std::string text, error;
  if (!functions().piece(impl_->model, impl_->checked(id), receiver(text), receiver(error))) throw InvalidArgument("SentencePiece: no such piece: " + error);
  return text;
}

SpecialPieces SentencePiece::special_pieces() const {
  const auto id = [this](int which) -> std::int64_t { return functions().special_id(impl_->model, which); };
  return {.padding = id(0), .unknown = id(1), .begin = id(2), .end = id(3)};
}

}  // namespace attend::data
