// The only source that sees SentencePiece: a module of its own, since SentencePiece carries a protobuf that clashes with libtorch's.
#include "data/sentencepiece_module.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attend::data::sentencepiece_module {

struct Model {
  sentencepiece::SentencePieceProcessor processor;
};

namespace {

void give(TextReceiver receiver, std::string_view text) { receiver.take(receiver.to, text.data(), text.size()); }

// SentencePiece's messages begin with a place in its own source, `trainer_interface.cc(661) [condition] `, which helps no user.
std::string_view without_source_place(std::string_view message) {
  const std::size_t end = message.rfind("] ");
  return end == std::string_view::npos ? message : message.substr(end + 2);
}

bool succeeded(const sentencepiece::util::Status& status, TextReceiver error) {
  if (!status.ok()) give(error, without_source_place(status.message()));
  return status.ok();
}

// Runs `work`; no exception may leave the module.
template <class Work>
auto guarded(TextReceiver error, Work work) noexcept -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& exception) {
    give(error, exception.what());
  } catch (...) {
    give(error, "an unknown exception");
  }
  return {};
}

class Sentences : public sentencepiece::SentenceIterator {
 public:
  explicit Sentences(TextSource source) : source_(source) { Next(); }
  bool done() const override { return done_; }
  void Next() override {
    const char* text = nullptr;
    std::size_t size = 0;
    done_ = !source_.next(source_.from, &text, &size);
    if (!done_) sentence_.assign(text, size);
  }
  const std::string& value() const override { return sentence_; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  TextSource source_;
  std::string sentence_;
  bool done_ = false;
};

bool train(TextSource source, const Setting* settings, std::size_t setting_count, TextReceiver model, TextReceiver error) {
  return guarded(error, [&] {
    std::unordered_map<std::string, std::string> named;
    for (std::size_t i = 0; i < setting_count; ++i) named.emplace(settings[i].name, settings[i].value);
    sentencepiece::SetRandomGeneratorSeed(1);
    Sentences sentences(source);
    std::string bytes;
    if (!succeeded(sentencepiece::SentencePieceTrainer::Train(named, &sentences, &bytes), error)) return false;
    give(model, bytes);
    return true;
  });
}

Model* load(const char* bytes, std::size_t size, TextReceiver error) {
  return guarded(error, [&]() -> Model* {
    auto model = std::make_unique<Model>();
    if (!succeeded(model->processor.LoadFromSerializedProto({bytes, size}), error)) return nullptr;
    return model.release();
  });
}

void release(Model* model) { delete model; }

int size(const Model* model) { return model->processor.GetPieceSize(); }

int special_id(const Model* model, int which) {
  const auto& processor = model->processor;
  switch (which) {
    case 0: return processor.pad_id();
    case 1: return processor.unk_id();
    case 2: return processor.bos_id();
    case 3: return processor.eos_id();
    default: return -1;
  }
}

bool piece(const Model* model, int id, TextReceiver piece, TextReceiver error) {
  return guarded(error, [&] {
    give(piece, model->processor.IdToPiece(id));
    return true;
  });
}

bool encode(const Model* model, const char* text, std::size_t size, IdReceiver receiver, TextReceiver error) {
  return guarded(error, [&] {
    std::vector<int> ids;
    if (!succeeded(model->processor.Encode({text, size}, &ids), error)) return false;
    for (const int id : ids) receiver.take(receiver.to, id);
    return true;
  });
}

bool decode(const Model* model, TextSource source, TextReceiver receiver, TextReceiver error) {
  return guarded(error, [&] {
    std::vector<std::string> pieces;
    const char* piece = nullptr;
    std::size_t size = 0;
    while (source.next(source.from, &piece, &size)) pieces.emplace_back(piece, size);
    std::string text;
    if (!succeeded(model->processor.Decode(pieces, &text), error)) return false;
    give(receiver, text);
    return true;
  });
}

}  // namespace
}  // namespace attend::data::sentencepiece_module

extern "C" __attribute__((visibility("default"))) const attend::data::sentencepiece_module::Functions attend_sentencepiece_functions;
const attend::data::sentencepiece_module::Functions attend_sentencepiece_functions = {
    attend::data::sentencepiece_module::train,  attend::data::sentencepiece_module::load,
    attend::data::sentencepiece_module::release, attend::data::sentencepiece_module::size,
    attend::data::sentencepiece_module::special_id, attend::data::sentencepiece_module::piece,
    attend::data::sentencepiece_module::encode, attend::data::sentencepiece_module::decode};
