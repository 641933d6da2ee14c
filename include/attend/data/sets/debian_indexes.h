// Debian's lists of packages and of their translated descriptions, without touching what apt knows on this machine.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/api.h"

namespace attend::data {

// The section "main" of the release that this machine runs, fetched by `apt-get update` from the mirror that the machine uses, into a
// temporary folder, which goes when this object goes. Its signature is checked by apt.
class ATTEND_API DebianIndexes {
 public:
  // `languages` as "fr" or "zh-CN". SystemError that says what to do: no apt-get (not Debian), no Debian among the machine's sources (run
  // `apt-get update`), no network.
  explicit DebianIndexes(const std::vector<std::string>& languages);
  ~DebianIndexes();
  DebianIndexes(const DebianIndexes&) = delete;
  DebianIndexes& operator=(const DebianIndexes&) = delete;

  // The list of packages: stanzas of `Field: value` lines.
  std::filesystem::path packages() const;
  // The descriptions in a language. SystemError where the archive has none.
  std::filesystem::path translation(const std::string& language) const;
  // "bookworm, 12.5 of Sat, 10 Feb 2024 11:07:25 UTC", as the archive's release file says.
  std::string release() const;

 private:
  std::filesystem::path find(const std::string& end) const;
  std::filesystem::path folder_;
};

}  // namespace attend::data
