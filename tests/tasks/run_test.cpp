#include "attend/tasks/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "attend/base/error.h"
#include "attend/core/tensor_file.h"
#include "attend/io/file.h"
#include "attend/io/json.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::tasks {
namespace {

namespace fs = std::filesystem;
using fixtures::bytes_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

// A run folder as training leaves it, of a model that was never trained.
class RunFolder : public testing::Test {
 protected:
  RunFolder() {
    recipe = read_recipe(temporary.write("tiny.toml",
                                         "format = 1\n[data]\ntrain = \"x\"\n[model]\nembedding = 4\nhidden = 6\ndecoder_hidden = 6\n"));
    fs::create_directories(files.folder);
    io::write_file(files.recipe(), to_toml(recipe));
    source.save(files.source_vocabulary());
    target.save(files.target_vocabulary());
    torch::manual_seed(1);
    model = make_model(recipe.model, source.size(), target.size());
    save_model(files.model(), *model, recipe.model, source, target);
  }

  template <class Exception>
  void expect_refusal(const fs::path& file, const std::string& why) const {
    EXPECT_THAT([&] { open_run(files.folder); }, ThrowsMessage<Exception>(AllOf(StartsWith(file.string() + ": "), HasSubstr(why))));
  }

  const fixtures::TemporaryFolder temporary;
  const RunFiles files{temporary.path() / "run"};
  Recipe recipe;
  const data::TextVocabulary source = data::Vocabulary::from_counts({{"a", 2}, {"b", 1}});
  const data::TextVocabulary target = data::Vocabulary::from_counts({{"A", 3}, {"B", 2}, {"C", 1}});
  std::shared_ptr<models::SequenceToSequence> model;
};

TEST_F(RunFolder, OpensToTheModelThatWasSaved) {
  const tasks::Run run = open_run(files.folder);
  EXPECT_FALSE(run.model->is_training());
  EXPECT_TRUE(write_options(run.recipe) == write_options(recipe));
  EXPECT_EQ(run.source.fingerprint(), source.fingerprint());
  EXPECT_EQ(run.target.fingerprint(), target.fingerprint());
  const NamedTensors expected = module_tensors(*model), got = module_tensors(*run.model);
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [name, tensor] : expected) EXPECT_TRUE(got.at(name).equal(tensor)) << name;
}

TEST_F(RunFolder, TheSameSeedMakesTheSameModelAndTheSameBytes) {
  torch::manual_seed(1);
  const auto again = make_model(recipe.model, source.size(), target.size());
  save_model(temporary.path() / "again.safetensors", *again, recipe.model, source, target);
  EXPECT_EQ(bytes_of(temporary.path() / "again.safetensors"), bytes_of(files.model()));
  torch::manual_seed(2);
  save_model(temporary.path() / "other.safetensors", *make_model(recipe.model, source.size(), target.size()), recipe.model, source, target);
  EXPECT_NE(bytes_of(temporary.path() / "other.safetensors"), bytes_of(files.model()));
}

TEST_F(RunFolder, EachModelComesBackFromItsFolder) {
  for (const EnumName<ModelName>& name : EnumNames<ModelName>::values) {
    Recipe other = read_recipe(temporary.write("other.toml", "format = 1\n[data]\ntrain = \"x\"\n"), {"model.name=" + std::string(name.name), "model.hidden=6"});
    io::write_file(files.recipe(), to_toml(other));
    const auto made = make_model(other.model, source.size(), target.size());
    save_model(files.model(), *made, other.model, source, target);
    const tasks::Run run = open_run(files.folder);
    EXPECT_EQ(run.recipe.model.name, name.value);
    const NamedTensors expected = module_tensors(*made), got = module_tensors(*run.model);
    ASSERT_EQ(got.size(), expected.size()) << name.name;
    for (const auto& [key, tensor] : expected) EXPECT_TRUE(got.at(key).equal(tensor)) << name.name << ": " << key;
  }
}

// A model that was saved before `tied` and whatever comes next: what its metadata lacks had its default.
TEST_F(RunFolder, AModelThatKnewFewerSettingsStillOpens) {
  const auto save = [&](io::Value settings) {
    save_tensors(files.model(), module_tensors(*model),
                 {{"attend.model", io::to_json(settings)}, {"attend.vocabulary.source", source.fingerprint()}, {"attend.vocabulary.target", target.fingerprint()}});
  };
  io::Value older = io::Value::table(), other = io::Value::table(), unheard_of = write_options(recipe.model);
  const io::Value all = write_options(recipe.model);
  for (const auto& [key, value] : all.as_table())
    if (key != "tied") older.set(key, value);
  save(older);
  EXPECT_NO_THROW(open_run(files.folder));
  for (const auto& [key, value] : all.as_table())
    if (key != "hidden") other.set(key, value);  // its default is not what the recipe says
  save(other);
  expect_refusal<InvalidData>(files.model(), "was made with other model settings than ");
  unheard_of.set("unheard_of", true);
  save(unheard_of);
  expect_refusal<InvalidData>(files.model(), "was made with other model settings than ");
}

TEST_F(RunFolder, ThatIsNoneIsRefusedWithWhatToDo) {
  EXPECT_THAT([&] { open_run(temporary.path() / "missing"); },
              ThrowsMessage<SystemError>(AllOf(HasSubstr("missing: there is no such run folder"), HasSubstr("attend train RECIPE --out DIR"))));
  fs::remove(files.model());
  expect_refusal<SystemError>(files.folder, "holds no model yet");
  fs::remove(files.recipe());
  expect_refusal<SystemError>(files.folder, "is not a run folder: it has no recipe.toml");
}

TEST_F(RunFolder, AModelThatIsTruncatedOrAlteredIsRefused) {
  const std::string whole = bytes_of(files.model());
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{200}, whole.size() / 2, whole.size() - 1}) {
    temporary.write("run/model.safetensors", whole.substr(0, size));
    expect_refusal<InvalidData>(files.model(), "");
  }
  for (std::size_t place = 0; place < whole.size(); place += 41) {
    std::string altered = whole;
    altered[place] ^= 4;
    temporary.write("run/model.safetensors", altered);
    expect_refusal<InvalidData>(files.model(), "");
  }
}

TEST_F(RunFolder, AVocabularyOfAnotherRunIsRefused) {
  data::Vocabulary::from_counts({{"a", 2}, {"c", 1}}).save(files.source_vocabulary());
  expect_refusal<InvalidData>(files.source_vocabulary(), "this vocabulary doesn't belong to " + files.model().string());
  source.save(files.source_vocabulary());
  data::Vocabulary::from_counts({{"A", 3}}).save(files.target_vocabulary());
  expect_refusal<InvalidData>(files.target_vocabulary(), "take the file that was written with the model");
  fs::remove(files.target_vocabulary());
  expect_refusal<SystemError>(files.target_vocabulary(), "cannot be opened");
}

TEST_F(RunFolder, ARecipeWithOtherModelSettingsIsRefused) {
  recipe.model.luong.hidden = 8;
  io::write_file(files.recipe(), to_toml(recipe));
  expect_refusal<InvalidData>(files.model(), "was made with other model settings than " + files.recipe().string() + " has");
}

TEST_F(RunFolder, ATensorFileThatIsNoModelIsRefused) {
  save_tensors(files.model(), {{"x", at::zeros({2})}}, {});
  expect_refusal<InvalidData>(files.model(), "attend.model");
}

}  // namespace
}  // namespace attend::tasks
