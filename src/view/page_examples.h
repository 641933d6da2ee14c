// Where a page's examples come from: a file, memory, or what was tried while the page was open.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "attend/view/record.h"
#include "attend/view/record_file.h"

namespace attend::view {

// Examples by their numbers. May be asked from several threads; a number must be below count().
class PageExamples {
 public:
  virtual ~PageExamples() = default;
  virtual std::size_t count() const = 0;
  // With everything but the numbers of its items, which may be missing.
  virtual std::shared_ptr<const Example> example(std::size_t number) const = 0;
  // Whole. Nothing where the example doesn't have it.
  virtual std::shared_ptr<const Item> item(std::size_t example, std::size_t number) const = 0;
  virtual std::shared_ptr<const Picture> picture(std::size_t example) const = 0;
  virtual std::shared_ptr<const Sound> sound(std::size_t example) const = 0;
};

std::unique_ptr<const PageExamples> examples_of(RecordFile file);
// InvalidArgument where an example or item contradicts itself.
std::unique_ptr<const PageExamples> examples_of(std::shared_ptr<const Record> record);

// Examples that come one by one. Each keeps its number; only the last ones are kept, the others become empty.
class TriedExamples : public PageExamples {
 public:
  explicit TriedExamples(std::size_t most) : most_(most) {}
  // → its number.
  std::size_t add(Example example, std::string output);
  std::string output(std::size_t number) const;

  std::size_t count() const override;
  std::shared_ptr<const Example> example(std::size_t number) const override;
  std::shared_ptr<const Item> item(std::size_t example, std::size_t number) const override;
  std::shared_ptr<const Picture> picture(std::size_t example) const override;
  std::shared_ptr<const Sound> sound(std::size_t example) const override;

 private:
  struct Entry {
    Example example;
    std::string output;
  };
  std::shared_ptr<const Entry> entry(std::size_t number) const;

  const std::size_t most_;
  mutable std::mutex mutex_;
  std::size_t forgotten_ = 0;
  std::deque<std::shared_ptr<const Entry>> entries_;
};

}  // namespace attend::view
