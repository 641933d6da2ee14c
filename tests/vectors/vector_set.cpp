#include "tests/vectors/vector_set.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "attend/base/error.h"
#include "attend/core/shapes.h"
#include "attend/io/json.h"
#include "tests/reference/tensors.h"

namespace attend::vectors {
namespace {

at::ScalarType scalar_type(io::ElementType type) {
  switch (type) {
    case io::ElementType::boolean:
      return at::kBool;
    case io::ElementType::uint8:
      return at::kByte;
    case io::ElementType::int8:
      return at::kChar;
    case io::ElementType::int16:
      return at::kShort;
    case io::ElementType::int32:
      return at::kInt;
    case io::ElementType::int64:
      return at::kLong;
    case io::ElementType::float16:
      return at::kHalf;
    case io::ElementType::bfloat16:
      return at::kBFloat16;
    case io::ElementType::float32:
      return at::kFloat;
    case io::ElementType::float64:
      return at::kDouble;
  }
  throw NotSupported("a vector has a type that libtorch lacks");
}

Tensor to_tensor(const io::TensorView& view) {
  Tensor tensor = at::empty(view.shape, scalar_type(view.type));
  if (!view.bytes.empty()) std::memcpy(tensor.data_ptr(), view.bytes.data(), view.bytes.size());
  return tensor;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Sorted, so that the order of a report doesn't depend on the file system.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

void run_file(Tally& tally, const FileSet& set, const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  const bool named = name.rfind(set.prefix, 0) == 0;
  std::optional<io::SafetensorsFile> file;
  try {
    file = io::SafetensorsFile::read(path);
  } catch (const Error& error) {
    tally.run(name, [&]() -> std::vector<std::string> { return {std::string("not understood: ") + error.what()}; });
    return;
  }
  const auto op = file->metadata().find("op");
  const bool meant = op != file->metadata().end() && (set.op.empty() || op->second == set.op);
  if (meant) {
    tally.run(name, [&] { return set.check(*file); });
  } else if (named) {
    tally.run(name, [&]() -> std::vector<std::string> { return {"not understood: expected metadata op \"" + set.op + "\""}; });
  }
}

}  // namespace

std::filesystem::path vectors_folder() {
  const char* shared = std::getenv("ATTEND_SHARED");
  const std::filesystem::path root =
      shared != nullptr && *shared != '\0' ? std::filesystem::path(shared) : std::filesystem::path(ATTEND_SOURCE_DIR) / ".." / "shared";
  return root / "vectors";
}

void Tally::run(const std::string& name, const std::function<std::vector<std::string>()>& check) {
  ++cases;
  std::vector<std::string> problems;
  try {
    problems = check();
  } catch (const NotBuilt& thing) {
    --cases;
    not_built.push_back(name + ": " + thing.what());
    return;
  } catch (const std::exception& error) {
    problems.push_back("threw: " + first_line(error.what()));
  }
  passed += problems.empty();
  for (const std::string& problem : problems) failures.push_back(name + ": " + problem);
}

void Tally::add(const Tally& part) {
  cases += part.cases;
  passed += part.passed;
  failures.insert(failures.end(), part.failures.begin(), part.failures.end());
  not_built.insert(not_built.end(), part.not_built.begin(), part.not_built.end());
}

std::optional<Tally> run_files(const FileSet& set, const std::filesystem::path& vectors) {
  const std::filesystem::path folder = vectors / set.folder;
  if (!std::filesystem::is_directory(folder)) return std::nullopt;
  Tally tally;
  for (const std::filesystem::path& path : files_in(folder)) run_file(tally, set, path);
  return tally;
}

bool report(const std::string& set, const Tally& tally, std::ostream& stream) {
  for (const std::string& failure : tally.failures) stream << failure << "\n";
  stream << set << ": " << tally.passed << " of " << tally.cases << " cases";
  if (!tally.not_built.empty()) stream << "; not built yet: " << tally.not_built.size();
  for (std::size_t i = 0; i < tally.not_built.size(); ++i) stream << (i == 0 ? " (" : ", ") << tally.not_built[i];
  stream << (tally.not_built.empty() ? "" : ")") << std::endl;
  if (tally.cases == 0) stream << set << ": the folder exists, but holds no case of this set" << std::endl;
  return tally.cases > 0 && tally.passed == tally.cases && tally.failures.empty();
}

Case::Case(const io::SafetensorsFile& file) : file_(file) {
  const auto text = file.metadata().find("attributes");
  attributes_ = text == file.metadata().end() ? io::Value::table() : io::parse_json(text->second, "attributes");
  if (!attributes_.is_table()) throw InvalidData("attributes: expected a table, got " + attributes_.kind());
}

std::optional<Tensor> Case::tensor(const std::string& name) {
  const auto found = file_.tensors().find(name);
  if (found == file_.tensors().end()) return std::nullopt;
  asked_.push_back("tensor " + name);
  return to_tensor(found->second);
}

Tensor Case::required_tensor(const std::string& name) {
  const std::optional<Tensor> found = tensor(name);
  if (!found) throw InvalidData("has no tensor \"" + name + "\"");
  return *found;
}

io::Value Case::attribute(const std::string& name) {
  asked_.push_back("attribute " + name);
  const io::Value* found = attributes_.find(name);
  return found == nullptr ? io::Value() : *found;
}

std::vector<std::string> Case::names(const std::string& key) const {
  std::vector<std::string> result;
  const auto text = file_.metadata().find(key);
  if (text == file_.metadata().end()) return result;
  const io::Value list = io::parse_json(text->second, key);
  for (const io::Value& name : list.as_list()) result.push_back(name.as_text());
  return result;
}

void Case::expect(const std::string& name, const Tensor& got, const Tensor& wanted, const reference::Tolerance& tolerance) {
  if (got.sizes() != wanted.sizes()) {
    fail(name + ": got " + shape_text(got) + ", wanted " + shape_text(wanted));
  } else if (got.scalar_type() != wanted.scalar_type()) {
    fail(name + ": got " + at::toString(got.scalar_type()) + ", wanted " + at::toString(wanted.scalar_type()));
  } else {
    const std::string problem = reference::difference(name, reference::numbers(got), reference::numbers(wanted), tolerance);
    if (!problem.empty()) fail(problem);
  }
}

std::vector<std::string> Case::finish() {
  const auto check_asked = [&](const std::string& what) {
    if (std::find(asked_.begin(), asked_.end(), what) == asked_.end()) fail("not understood: " + what);
  };
  for (const auto& [name, view] : file_.tensors()) check_asked("tensor " + name);
  for (const auto& [name, value] : attributes_.as_table()) check_asked("attribute " + name);
  return std::move(failures_);
}

}  // namespace attend::vectors
