// Test vectors that others have written, found when the test runs: a folder with other cases of the same layout works too.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "attend/core/libtorch.h"
#include "attend/io/safetensors.h"
#include "attend/io/value.h"
#include "tests/reference/tolerance.h"

namespace attend::vectors {

// $ATTEND_SHARED/vectors; where the variable isn't set, ../shared/vectors beside the sources.
std::filesystem::path vectors_folder();

// Thrown by an adapter for a case of something that this version doesn't have: counted and named, not failed.
struct NotBuilt : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What the cases of a set gave.
struct Tally {
  int cases = 0, passed = 0;
  std::vector<std::string> failures;   // "NAME: what differs"
  std::vector<std::string> not_built;  // cases of things that this version doesn't have

  // Runs one case: its failures, or what it throws, are noted under `name`.
  void run(const std::string& name, const std::function<std::vector<std::string>()>& check);
  // Takes over the cases of another part of the same set.
  void add(const Tally& part);
};

// Safetensors files of a folder, one case each: those that bear the operator's name in their metadata, or begin with `prefix`; without an
// operator every file of the folder is a case.
struct FileSet {
  std::string folder, prefix, op;
  std::vector<std::string> (*check)(const io::SafetensorsFile& file);
};

// Empty where the folder is absent. Files that can't be read fail, since nobody can say whose they are.
std::optional<Tally> run_files(const FileSet& set, const std::filesystem::path& vectors);

// "SET: N of N cases", with what failed and what isn't built. True where there are cases and all passed.
bool report(const std::string& set, const Tally& tally, std::ostream& stream);

// One file, as adapters read it. Everything in it must be asked for: whatever is left over is not understood.
class Case {
 public:
  explicit Case(const io::SafetensorsFile& file);

  std::optional<Tensor> tensor(const std::string& name);
  Tensor required_tensor(const std::string& name);
  // An attribute; null where it is absent or null.
  io::Value attribute(const std::string& name);
  // A metadata list of names; empty where absent.
  std::vector<std::string> names(const std::string& key) const;
  // Compares and notes what differs.
  void expect(const std::string& name, const Tensor& got, const Tensor& wanted, const reference::Tolerance& tolerance);
  void fail(const std::string& problem) { failures_.push_back(problem); }

  // The failures, with one for each tensor and attribute that nobody asked for.
  std::vector<std::string> finish();

 private:
  const io::SafetensorsFile& file_;
  io::Value attributes_;
  std::vector<std::string> asked_, failures_;
};

std::vector<std::string> check_onnx_attention(const io::SafetensorsFile& file);
std::vector<std::string> check_onnx_recurrent(const io::SafetensorsFile& file);
std::vector<std::string> check_torch_multi_head(const io::SafetensorsFile& file);
std::vector<std::string> check_torch_sdpa(const io::SafetensorsFile& file);
std::vector<std::string> check_torch_recurrent(const io::SafetensorsFile& file);
std::vector<std::string> check_keras(const io::SafetensorsFile& file);
std::vector<std::string> check_joeynmt(const io::SafetensorsFile& file);
std::vector<std::string> check_opennmt(const io::SafetensorsFile& file);
std::vector<std::string> check_entmax(const io::SafetensorsFile& file);
// The cases of small-attention.json. Empty where the file is absent.
std::optional<Tally> run_small_attention(const std::filesystem::path& vectors);

}  // namespace attend::vectors
