#include <cstdio>
#include <string>
#include <vector>

#include "attend/attend.h"

int main() {
  const std::vector<std::string> sentences = {"the cat walked", "the dog walked", "the cat played", "a dog played"};
  attend::data::SentencePiece::train(sentences, {.vocabulary_size = 18}, "pieces.model");
  const auto pieces = attend::data::SentencePiece::load("pieces.model");
  const std::string text = pieces.decode(pieces.encode("the dog played"));
  std::puts(text.c_str());
  return text == "the dog played" ? 0 : 1;
}
