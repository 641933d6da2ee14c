// Files of a Debian package, without installing it and without being root.
#pragma once

#include <filesystem>
#include <string>

#include "attend/base/api.h"

namespace attend::data {

// A package downloaded by `apt-get download` and unpacked by `dpkg-deb` into a temporary folder, which goes when this object goes.
class ATTEND_API DebianPackage {
 public:
  // SystemError that says what to do: no apt-get (not Debian), no such package (run `apt-get update`), no network.
  explicit DebianPackage(const std::string& name);
  ~DebianPackage();
  DebianPackage(const DebianPackage&) = delete;
  DebianPackage& operator=(const DebianPackage&) = delete;

  // A file as its path in the installed system without the leading slash. SystemError where the package has none such.
  std::filesystem::path file(const std::string& path) const;
  // "1.2.3-4"
  const std::string& version() const { return version_; }

 private:
  std::string name_, version_;
  std::filesystem::path folder_;
};

}  // namespace attend::data
