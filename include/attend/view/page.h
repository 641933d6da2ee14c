// Recordings as a page to look at in a browser: one file of HTML that needs nothing else (docs/viewer.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "attend/base/api.h"
#include "attend/view/record.h"
#include "attend/view/record_file.h"
#include "attend/view/shorten.h"

namespace attend::view {

// The training run that a recording belongs to: the page draws its curves.
struct PageRun {
  std::string name = {}, system = {};  // "B3-cmudict-quickstart", "B3"
  std::filesystem::path metrics = {};  // its metrics.jsonl, an object a line; may come into being later
  std::filesystem::path ended = {};    // a file that is there once the training has ended; empty: it has
  std::string try_hint = {};           // what may be tried: "a word"
};

struct PageOptions {
  std::string title = {};  // empty: the file's name, else the run's
  Keep keep = {};          // what an exported page holds of each panel; a served one always gives all
  std::optional<PageRun> run = {};
};

// Writes a page that shows a recording, offline and without any other file, to be opened in a browser, sent and kept. Texts and numbers of
// the recording lie in it as base64 and are never markup; a policy in its head lets it load and send nothing. The file appears whole or not
// at all; the same input gives the same bytes. → its size in bytes. Of a RecordFile one item at a time is in memory.
// InvalidArgument where an example or item contradicts itself (check_example(), check_item()) or keep is out of its range; InvalidData as
// RecordFile::item(); SystemError where a file can't be read or written.
ATTEND_API std::uintmax_t write_html(const std::filesystem::path& file, const RecordFile& record, const PageOptions& options = {});
ATTEND_API std::uintmax_t write_html(const std::filesystem::path& file, const Record& record, const PageOptions& options = {});

}  // namespace attend::view
