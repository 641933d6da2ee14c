// What the page asks for, key by key: the same bytes whether a server sends them or an exported page holds them (docs/viewer.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attend/view/page.h"
#include "view/page_examples.h"

namespace attend::view {

// How the page gets its data, and whether it may ask a model.
enum class Carrier { exported, served, served_with_model };

struct PageAnswer {
  std::string bytes;
  bool is_json = false;
};

// May be asked from several threads. Numbers are read when they are asked for; those of the last few items stay.
class PageData {
 public:
  PageData(std::unique_ptr<const PageExamples> examples, PageOptions options, Carrier carrier);

  const std::string& title() const { return options_.title; }

  // The answer of a key, spelt as docs/viewer.md has it; nothing where this page has no such key.
  std::optional<PageAnswer> answer(std::string_view key) const;

  // All keys of an exported page. "record" comes last: by then nothing has to be shortened for it once more.
  std::vector<std::string> keys() const;

  // Adds an example that was tried. → what the page is told: its number, its entry of the index and the output. InvalidArgument where the
  // example contradicts itself.
  std::string add(Example example, std::string output);

 private:
  // An item as it was recorded, and as the page gets it.
  struct Numbers {
    std::shared_ptr<const Item> whole, kept;
  };
  struct Place {
    const PageExamples& examples;
    std::size_t number;
  };
  using Key = std::pair<std::size_t, std::size_t>;

  std::optional<Place> find(std::size_t example) const;
  std::optional<Numbers> numbers(std::size_t example, std::size_t item) const;
  std::optional<Numbers> remembered(const Key& key) const;
  void remember(const Key& key, const Numbers& numbers) const;
  Item layout_of(std::size_t example, std::size_t item) const;

  std::string index() const;
  std::string entry(std::size_t example) const;
  std::optional<std::string> weights(std::size_t example, std::size_t item, std::size_t panel) const;
  std::optional<std::string> thumbnails(std::size_t example, std::size_t item) const;
  std::int64_t thumbnail_size() const;  // most rows and columns
  std::optional<std::string> summary(std::size_t example, std::size_t item) const;
  std::optional<std::string> picture(std::size_t example) const;
  std::optional<std::string> sound(std::size_t example) const;
  std::optional<std::string> metrics(std::uint64_t from) const;

  const std::unique_ptr<const PageExamples> examples_;
  PageOptions options_;
  const Carrier carrier_;
  TriedExamples tried_;

  mutable std::mutex mutex_;
  mutable std::list<std::pair<Key, Numbers>> recent_;  // the last one first
  mutable std::map<Key, Item> layouts_;                // of items that were shortened, without their numbers
  mutable std::vector<std::string> entries_;           // of examples_, once the index was asked for
};

}  // namespace attend::view
