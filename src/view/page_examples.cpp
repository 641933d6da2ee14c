#include "view/page_examples.h"

#include <utility>

#include "attend/base/format.h"
#include "view/record_format.h"

namespace attend::view {
namespace {

// A part of something that is shared: it lives as long as the whole.
template <class Whole, class Part>
std::shared_ptr<const Part> shared_part(const std::shared_ptr<const Whole>& whole, const Part& part) {
  return std::shared_ptr<const Part>(whole, &part);
}

std::shared_ptr<const Item> item_in(const std::shared_ptr<const Example>& example, std::size_t number) {
  return number < example->items.size() ? shared_part(example, example->items[number]) : nullptr;
}
std::shared_ptr<const Picture> picture_in(const std::shared_ptr<const Example>& example) {
  return example->picture ? shared_part(example, *example->picture) : nullptr;
}
std::shared_ptr<const Sound> sound_in(const std::shared_ptr<const Example>& example) {
  return example->sound ? shared_part(example, *example->sound) : nullptr;
}

class ExamplesInFile : public PageExamples {
 public:
  explicit ExamplesInFile(RecordFile file) : file_(std::make_shared<const RecordFile>(std::move(file))) {}

  std::size_t count() const override { return file_->examples().size(); }
  std::shared_ptr<const Example> example(std::size_t number) const override { return shared_part(file_, file_->examples()[number]); }
  std::shared_ptr<const Item> item(std::size_t example, std::size_t number) const override {
    return number < file_->examples()[example].items.size() ? std::make_shared<const Item>(file_->item(example, number)) : nullptr;
  }
  std::shared_ptr<const Picture> picture(std::size_t example) const override {
    return file_->examples()[example].picture ? std::make_shared<const Picture>(file_->picture(example)) : nullptr;
  }
  std::shared_ptr<const Sound> sound(std::size_t example) const override {
    return file_->examples()[example].sound ? std::make_shared<const Sound>(file_->sound(example)) : nullptr;
  }

 private:
  const std::shared_ptr<const RecordFile> file_;
};

class ExamplesInMemory : public PageExamples {
 public:
  explicit ExamplesInMemory(std::shared_ptr<const Record> record) : record_(std::move(record)) {}

  std::size_t count() const override { return record_->examples.size(); }
  std::shared_ptr<const Example> example(std::size_t number) const override { return shared_part(record_, record_->examples[number]); }
  std::shared_ptr<const Item> item(std::size_t example, std::size_t number) const override {
    return item_in(this->example(example), number);
  }
  std::shared_ptr<const Picture> picture(std::size_t example) const override { return picture_in(this->example(example)); }
  std::shared_ptr<const Sound> sound(std::size_t example) const override { return sound_in(this->example(example)); }

 private:
  const std::shared_ptr<const Record> record_;
};

}  // namespace

std::unique_ptr<const PageExamples> examples_of(RecordFile file) { return std::make_unique<ExamplesInFile>(std::move(file)); }

std::unique_ptr<const PageExamples> examples_of(std::shared_ptr<const Record> record) {
  for (std::size_t e = 0; e < record->examples.size(); ++e) {
    const Example& example = record->examples[e];
    with_place<InvalidArgument>(format("example {}", e), [&] {
      check_example(example);
      for (std::size_t i = 0; i < example.items.size(); ++i)
        with_place<InvalidArgument>(format("item {}", i), [&] { check_item(example, example.items[i]); });
    });
  }
  return std::make_unique<ExamplesInMemory>(std::move(record));
}

std::size_t TriedExamples::add(Example example, std::string output) {
  auto entry = std::make_shared<const Entry>(std::move(example), std::move(output));
  const std::lock_guard lock(mutex_);
  entries_.push_back(std::move(entry));
  if (entries_.size() > most_) entries_.pop_front(), ++forgotten_;
  return forgotten_ + entries_.size() - 1;
}

std::shared_ptr<const TriedExamples::Entry> TriedExamples::entry(std::size_t number) const {
  const std::lock_guard lock(mutex_);
  if (number < forgotten_) return std::make_shared<const Entry>(Example{.id = "(no longer kept)"}, "");
  return entries_.at(number - forgotten_);
}

std::size_t TriedExamples::count() const {
  const std::lock_guard lock(mutex_);
  return forgotten_ + entries_.size();
}

std::shared_ptr<const Example> TriedExamples::example(std::size_t number) const {
  const auto entry = this->entry(number);
  return shared_part(entry, entry->example);
}
std::string TriedExamples::output(std::size_t number) const { return entry(number)->output; }
std::shared_ptr<const Item> TriedExamples::item(std::size_t example, std::size_t number) const {
  return item_in(this->example(example), number);
}
std::shared_ptr<const Picture> TriedExamples::picture(std::size_t example) const { return picture_in(this->example(example)); }
std::shared_ptr<const Sound> TriedExamples::sound(std::size_t example) const { return sound_in(this->example(example)); }

}  // namespace attend::view
