#include "attend/data/sets/debian_package.h"

#include "attend/base/error.h"
#include "attend/io/process.h"
#include "data/sets/temporary_folder.h"

namespace attend::data {
namespace {

io::ProcessResult download(const std::string& name, const std::filesystem::path& folder) {
  try {
    return io::run_process({"apt-get", "download", "-q", name}, folder);
  } catch (const SystemError& error) {
    throw SystemError(format("Debian package {}: {}; this data set is made from a Debian package: run this on Debian or a system derived from it",
                             name, error.what()));
  }
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

DebianPackage::DebianPackage(const std::string& name) : name_(name), folder_(make_temporary_folder()) {
  try {
    const io::ProcessResult downloaded = download(name, folder_);
    if (downloaded.status != 0)
      throw SystemError(format("Debian package {}: `apt-get download` failed: {}\nIf the package is unknown, run `apt-get update` as root first.", name,
                               downloaded.output));
    std::filesystem::path archive;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      if (entry.path().extension() == ".deb") archive = entry.path();
    const io::ProcessResult unpack = io::run_process({"dpkg-deb", "-x", archive.string(), "unpacked"}, folder_);
    if (unpack.status != 0) throw SystemError(format("Debian package {}: `dpkg-deb -x` failed: {}", name, unpack.output));
    version_ = first_line(io::run_process({"dpkg-deb", "-f", archive.string(), "Version"}, folder_).output);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
    throw;
  }
}

DebianPackage::~DebianPackage() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::filesystem::path DebianPackage::file(const std::string& path) const {
  const std::filesystem::path file = folder_ / "unpacked" / path;
  if (!std::filesystem::exists(file)) throw SystemError(format("Debian package {} {}: expected the file {}, it has none such", name_, version_, path));
  return file;
}

}  // namespace attend::data
