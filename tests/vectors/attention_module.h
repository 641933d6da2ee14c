// A case of others' attention over a memory, run by the module Attention with their parameters in it.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "attend/addressing/attention.h"
#include "tests/vectors/vector_set.h"

namespace attend::vectors {

class ModuleCase {
 public:
  // Names of the query and of the memory, which is key and value, in the file. The attribute `lengths` is the memory's mask.
  ModuleCase(Case& from, const std::string& query_name, const std::string& memory_name);

  // Tensors whose gradients the file has: an input, a parameter that isn't the module's.
  Tensor leaf(const std::string& input);
  Tensor parameter(const std::string& theirs);

  void make(addressing::Score score, std::int64_t hidden = 1);
  // Copies their parameter into ours; `as_ours` changes its layout, and that of its gradient back.
  void load(const std::string& ours, const std::string& theirs,
            const std::function<Tensor(const Tensor&)>& as_ours = [](const Tensor& same) { return same; });
  // Sets a parameter that they don't have to 0.
  void clear(const std::string& ours);

  AttentionResult run();
  // Compares an output, and adds it to what is differentiated.
  void expect(const std::string& output, const Tensor& got);
  void expect_gradients();

  Tensor query, memory;  // as attention gets them; an adapter may put something in between

 private:
  Case& from_;
  Mask mask_;
  std::map<std::string, Tensor> leaves_;  // by the name of the gradient
  addressing::Attention module_{nullptr};
  struct Loaded {
    std::string theirs;
    std::function<Tensor(const Tensor&)> as_ours;
  };
  std::map<std::string, Loaded> loaded_;  // by our name
  std::int64_t terms_ = 1;
  Tensor loss_;
};

}  // namespace attend::vectors
