#include "attend/data/sets/debian_indexes.h"

#include <algorithm>
#include <sstream>

#include "attend/base/error.h"
#include "attend/io/file.h"
#include "attend/io/process.h"
#include "data/sets/temporary_folder.h"

namespace attend::data {
namespace {

constexpr auto archive_keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";

io::ProcessResult run_apt_get(const std::vector<std::string>& arguments, const std::filesystem::path& folder) {
  try {
    return io::run_process(arguments, folder);
  } catch (const SystemError& error) {
    throw SystemError(format("Debian's package lists: {}; this data set is made from them: run this on Debian", error.what()));
  }
}

// "zh-CN" as apt writes it
std::string apt_language(std::string language) {
  std::ranges::replace(language, '-', '_');
  return language;
}

// The line of a sources.list for the release that this machine runs: its mirror, without updates, backports and other archives.
std::string find_source(const std::filesystem::path& folder) {
  const io::ProcessResult listed =
      run_apt_get({"apt-get", "indextargets", "--format", "$(ORIGIN)\t$(LABEL)\t$(COMPONENT)\t$(CODENAME)\t$(REPO_URI)", "Created-By: Packages"}, folder);
  std::istringstream lines(listed.output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string origin, label, component, codename, site;
    for (std::string* field : {&origin, &label, &component, &codename, &site}) std::getline(fields, *field, '\t');
    if (origin != "Debian" || label != "Debian" || component != "main" || codename.find('-') != std::string::npos) continue;
    const std::string signed_by = std::filesystem::exists(archive_keyring) ? format(" signed-by={}", archive_keyring) : "";
    return format("deb [target=Packages,Translations{}] {} {} main\n", signed_by, site, codename);
  }
  throw SystemError(format("Debian's package lists: this machine's apt knows no release of Debian; run `apt-get update` as root first{}",
                           listed.output.empty() ? "" : " (apt-get says: " + listed.output.substr(0, 500) + ")"));
}

// Lists, cache and sources of our own; the machine's proxies stay. Hooks would touch what is the machine's.
std::string settings(const std::filesystem::path& folder, const std::vector<std::string>& languages) {
  std::string list;
  for (const std::string& language : languages) list += format(" \"{}\";", apt_language(language));
  return format(
      "#clear APT::Update;\n"
      "Dir::State::lists \"{0}/lists\";\n"
      "Dir::Cache \"{0}/cache\";\n"
      "Dir::Etc::sourcelist \"{0}/sources.list\";\n"
      "Dir::Etc::sourceparts \"/dev/null\";\n"
      "#clear Acquire::Languages;\n"
      "Acquire::Languages {{{1} }};\n"
      "Acquire::GzipIndexes \"false\";\n"
      "Acquire::Retries \"3\";\n"
      "APT::Sandbox::User \"root\";\n",
      folder.string(), list);
}

}  // namespace

DebianIndexes::DebianIndexes(const std::vector<std::string>& languages) : folder_(make_temporary_folder()) {
  try {
    io::write_file(folder_ / "sources.list", find_source(folder_));
    io::write_file(folder_ / "apt.conf", settings(folder_, languages));
    io::make_folders(folder_ / "lists" / "partial");
    io::make_folders(folder_ / "cache" / "archives" / "partial");
    const std::string configuration = (folder_ / "apt.conf").string();
    const io::ProcessResult updated =
        run_apt_get({"apt-get", "-c", configuration, "-q", "-o", "APT::Update::Error-Mode=any", "update"}, folder_);
    if (updated.status != 0)
      throw SystemError(format("Debian's package lists: `apt-get update` in a folder of our own failed: {}\n"
                               "Is there a network? If a proxy is needed, apt's own settings name it (Acquire::http::Proxy).",
                               updated.output));
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
    throw;
  }
}

DebianIndexes::~DebianIndexes() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::filesystem::path DebianIndexes::find(const std::string& end) const {
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "lists"))
    if (entry.path().filename().string().ends_with(end)) return entry.path();
  return {};
}

std::filesystem::path DebianIndexes::packages() const {
  const std::filesystem::path file = find("_Packages");
  if (file.empty()) throw SystemError("Debian's package lists: apt-get fetched no list of packages; run it again");
  return file;
}

std::filesystem::path DebianIndexes::translation(const std::string& language) const {
  std::string name = apt_language(language);
  if (const std::size_t at = name.find('_'); at != std::string::npos) name.replace(at, 1, "%5f");  // as apt names files
  std::filesystem::path file = find("_Translation-" + name);
  if (file.empty()) file = find("_Translation-" + apt_language(language));
  if (file.empty())
    throw SystemError(format("Debian's package lists: there are no descriptions in the language {}; there are, for example, fr, de, it, es, "
                             "ja, pl, ru, zh-CN",
                             language));
  return file;
}

std::string DebianIndexes::release() const {
  std::filesystem::path file = find("_InRelease");
  if (file.empty()) file = find("_Release");
  std::istringstream lines(file.empty() ? std::string() : io::read_file(file));
  std::string codename = "unknown", version, date;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Codename: ")) codename = line.substr(10);
    if (line.starts_with("Version: ")) version = line.substr(9);
    if (line.starts_with("Date: ")) date = line.substr(6);
    if (line.starts_with("MD5Sum:") || line.starts_with("SHA256:")) break;
  }
  return codename + (version.empty() ? "" : ", " + version) + (date.empty() ? "" : " of " + date);
}

}  // namespace attend::data
