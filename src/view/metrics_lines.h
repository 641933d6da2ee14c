// The metrics of a run, also while it is training: its metrics.jsonl, read on from where one was.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace attend::view {

struct MetricsLines {
  std::uint64_t next = 0;               // the byte to go on from
  bool at_end = true;                   // whether nothing is left to read now
  std::vector<std::string> lines = {};  // JSON objects, each on one line
};

// The whole lines from byte `from` on, about `most` bytes of them; a line's beginning that has no end yet is left for the next time.
// Lines that are no JSON object are passed over. A file that isn't there has none. One that ends before `from` was begun anew: `next` is 0, and
// nothing is read. SystemError where it can't be read.
MetricsLines read_metrics(const std::filesystem::path& file, std::uint64_t from, std::uint64_t most);

}  // namespace attend::view
