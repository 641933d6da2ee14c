// What data/sentencepiece.cpp and the module attend/attend_sentencepiece.so say to each other.
//
// The module lives in a name space of its own, with its own copies of the C and C++ libraries: only plain data may pass, no exception may
// cross, and memory is freed on the side that took it. Results therefore go through callbacks, which must not throw.
#pragma once

#include <cstddef>

namespace attend::data::sentencepiece_module {

struct Model;

// Receives a text: an error, a piece, the bytes of a model.
struct TextReceiver {
  void* to;
  void (*take)(void* to, const char* text, std::size_t size);
};

struct IdReceiver {
  void* to;
  void (*take)(void* to, int id);
};

// Gives one text a call, a sentence or a piece; false when there are no more.
struct TextSource {
  void* from;
  bool (*next)(void* from, const char** text, std::size_t* size);
};

struct Setting {
  const char* name;
  const char* value;
};

// Every function that can fail gives `error` a text in that case, and returns false or null.
struct Functions {
  bool (*train)(TextSource sentences, const Setting* settings, std::size_t setting_count, TextReceiver model, TextReceiver error);
  Model* (*load)(const char* bytes, std::size_t size, TextReceiver error);
  void (*release)(Model* model);
  int (*size)(const Model* model);
  int (*special_id)(const Model* model, int which);  // 0 padding, 1 unknown, 2 begin, 3 end; -1 where the model has none
  bool (*piece)(const Model* model, int id, TextReceiver piece, TextReceiver error);
  bool (*encode)(const Model* model, const char* text, std::size_t size, IdReceiver ids, TextReceiver error);
  bool (*decode)(const Model* model, TextSource pieces, TextReceiver text, TextReceiver error);
};

// The one symbol that the module exports, of type const Functions.
inline constexpr const char* functions_symbol = "attend_sentencepiece_functions";

}  // namespace attend::data::sentencepiece_module
