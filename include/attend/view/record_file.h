// A recording that stays in its file: examples at once, weights when they are asked for.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <vector>

#include "attend/base/api.h"
#include "attend/view/record.h"

namespace attend::view {

// For recordings too large to unpack whole. Copies share the file's memory; what is const may be called from several threads.
class ATTEND_API RecordFile {
 public:
  // Reads the file and checks all of it but the numbers themselves. Throws as read_record().
  static RecordFile open(const std::filesystem::path& file);

  // Examples with everything but the numbers of their items: weights, keys, entropy, pixels and samples are empty.
  const std::vector<Example>& examples() const;
  // With their numbers. std::out_of_range where there is no such example, item, picture or sound; InvalidData where keys of a top-k item are no columns.
  Item item(std::size_t example, std::size_t item) const;
  Picture picture(std::size_t example) const;
  Sound sound(std::size_t example) const;
  const std::filesystem::path& path() const;

 private:
  struct Contents;
  std::shared_ptr<const Contents> contents_;
};

}  // namespace attend::view
