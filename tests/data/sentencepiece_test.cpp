#include "attend/data/sentencepiece.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "attend/base/error.h"

namespace attend::data {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Sentences from a small grammar: words repeat with endings, so that there are pieces to find.
std::vector<std::string> sentences() {
  const std::vector<std::string> names = {"the cat", "a small dog", "the old weaver", "Zoë"};
  const std::vector<std::string> verbs = {"walk", "play", "look", "listen", "wander"};
  const std::vector<std::string> endings = {"s", "ed", "ing"};
  const std::vector<std::string> places = {"in the garden", "near the river", "under a tree", "by the café", "without stopping"};
  std::vector<std::string> all;
  for (const auto& name : names)
    for (const auto& verb : verbs)
      for (const auto& ending : endings)
        for (const auto& place : places) all.push_back(name + " " + verb + ending + " " + place);
  return all;
}

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

class SentencePieceTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / ("attend_sentencepiece_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  SentencePiece trained(const SentencePieceOptions& options) const {
    SentencePiece::train(sentences(), options, folder_ / "pieces.model");
    return SentencePiece::load(folder_ / "pieces.model");
  }

  std::filesystem::path folder_;
};

TEST_F(SentencePieceTest, TextComesBackFromItsPieces) {
  for (const PieceModel model : {PieceModel::unigram, PieceModel::byte_pair_encoding}) {
    const SentencePiece pieces = trained({.vocabulary_size = 50, .model = model});
    EXPECT_EQ(pieces.size(), 50);
    for (const std::string& sentence : sentences()) {
      const std::vector<std::int64_t> ids = pieces.encode(sentence);
      EXPECT_THAT(ids, Not(IsEmpty()));
      EXPECT_LT(ids.size(), sentence.size());  // pieces are longer than characters
      EXPECT_THAT(ids, Each(testing::AllOf(testing::Gt(3), testing::Lt(50))));
      EXPECT_EQ(pieces.decode(ids), sentence);
    }
    std::string joined;
    for (const std::string& piece : pieces.encode_as_pieces("the cat walks")) joined += piece;
    EXPECT_EQ(joined, "▁the▁cat▁walks");
  }
}

TEST_F(SentencePieceTest, NothingGivesNothing) {
  const SentencePiece pieces = trained({.vocabulary_size = 50});
  EXPECT_THAT(pieces.encode(""), IsEmpty());
  EXPECT_EQ(pieces.decode({}), "");
}

TEST_F(SentencePieceTest, SpecialPiecesComeFirst) {
  const SentencePiece pieces = trained({.vocabulary_size = 50});
  const SpecialPieces special = pieces.special_pieces();
  EXPECT_THAT((std::vector{special.padding, special.unknown, special.begin, special.end}), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(pieces.piece(special.begin), "<s>");
  EXPECT_EQ(pieces.piece(special.end), "</s>");
  EXPECT_EQ(pieces.decode({special.begin, special.end, special.padding}), "");
  EXPECT_THAT(pieces.encode("Ω"), testing::Contains(special.unknown));
}

TEST_F(SentencePieceTest, ByteFallbackKnowsEveryCharacter) {
  const SentencePiece pieces = trained({.vocabulary_size = 310, .byte_fallback = true});
  const std::string text = "the cat Ω 猫";
  EXPECT_THAT(pieces.encode(text), Not(testing::Contains(pieces.special_pieces().unknown)));
  EXPECT_EQ(pieces.decode(pieces.encode(text)), text);
}

TEST_F(SentencePieceTest, TheSameTextGivesTheSameBytes) {
  for (const PieceModel model : {PieceModel::unigram, PieceModel::byte_pair_encoding}) {
    trained({.vocabulary_size = 50, .model = model});
    const std::string first = bytes_of(folder_ / "pieces.model");
    trained({.vocabulary_size = 50, .model = model});
    EXPECT_GT(first.size(), 100u);
    EXPECT_TRUE(first == bytes_of(folder_ / "pieces.model"));
    EXPECT_THAT(first, Not(HasSubstr(folder_.string())));
  }
}

TEST_F(SentencePieceTest, TrainingIsSilent) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  trained({.vocabulary_size = 50});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(SentencePieceTest, ThreadsMayShareAModel) {
  const SentencePiece pieces = trained({.vocabulary_size = 50});
  const std::vector<std::string> texts = sentences();
  std::vector<std::string> decoded(texts.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t first = 0; first < 4; ++first)
      threads.emplace_back([&, first] {
        for (std::size_t i = first; i < texts.size(); i += 4) decoded[i] = pieces.decode(pieces.encode(texts[i]));
      });
  }
  EXPECT_EQ(decoded, texts);
}

TEST_F(SentencePieceTest, AFileThatIsNoModelIsInvalidData) {
  const std::filesystem::path file = folder_ / "bad.model";
  for (const std::string& bytes : {std::string(), std::string("not a model"), std::string(1000, '\xff')}) {
    std::ofstream(file, std::ios::binary) << bytes;
    EXPECT_THROW(SentencePiece::load(file), InvalidData);
    EXPECT_THAT(message_of([&] { SentencePiece::load(file); }), testing::StartsWith(file.string() + ": is not a SentencePiece model"));
  }
  EXPECT_THROW(SentencePiece::load(folder_ / "absent.model"), SystemError);
}

TEST_F(SentencePieceTest, ATruncatedModelIsInvalidData) {
  trained({.vocabulary_size = 50});
  const std::string bytes = bytes_of(folder_ / "pieces.model");
  const std::filesystem::path file = folder_ / "short.model";
  std::ofstream(file, std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  EXPECT_THROW(SentencePiece::load(file), InvalidData);
}

TEST_F(SentencePieceTest, IdsOutOfRangeAreRefused) {
  const SentencePiece pieces = trained({.vocabulary_size = 50});
  EXPECT_THROW(pieces.decode({5, 50}), InvalidArgument);
  EXPECT_THROW(pieces.decode({-1}), InvalidArgument);
  EXPECT_THROW(pieces.piece(50), InvalidArgument);
  EXPECT_THAT(message_of([&] { pieces.piece(50); }), HasSubstr("expected an id from 0 to 49, got 50"));
}

TEST_F(SentencePieceTest, OptionsThatDoNotFitAreRefused) {
  const auto train = [&](SentencePieceOptions options) { SentencePiece::train(sentences(), options, folder_ / "pieces.model"); };
  EXPECT_THROW(train({.vocabulary_size = 4}), InvalidArgument);
  EXPECT_THROW(train({.vocabulary_size = 50, .character_coverage = 1.5}), InvalidArgument);
  EXPECT_THAT(message_of([&] { train({.vocabulary_size = 100000}); }), HasSubstr("Vocabulary size too high"));
  EXPECT_THAT(message_of([&] { train({.vocabulary_size = 6}); }), HasSubstr("training failed"));
  EXPECT_THROW(SentencePiece::train({}, {.vocabulary_size = 50}, folder_ / "pieces.model"), InvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "pieces.model"));
}

}  // namespace
}  // namespace attend::data
