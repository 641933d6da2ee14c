// The suite tested: copies of dot-product attention pass, and each planted fault turns at least one rule red.
#include <gtest/gtest.h>

#include <iostream>
#include <set>

#include "tests/contract/faulty.h"
#include "tests/contract/rules.h"

namespace attend::contract {
namespace {

// Faults that show in one type only are looked for in that type.
std::vector<Type> types_of(Fault fault) {
  if (fault == Fault::none) return {Type::float32, Type::float64, Type::float16, Type::bfloat16};
  if (fault == Fault::half_accumulation) return {Type::float16};
  return {Type::float64};
}

// Numbers of the rules that a copy with this fault breaks.
std::set<int> broken_rules(Fault fault, const CopyForm& form, std::string* details = nullptr) {
  const Mechanism copy = faulty_mechanism(fault, form);
  std::set<int> broken;
  for (const Type type : types_of(fault))
    for (const Rule& rule : rules()) {
      const Subject subject{&copy, Path::composed, type};
      if (rule.check == nullptr || !rule.applies(subject)) continue;
      const Failures failures = check(rule, subject);
      if (failures.empty()) continue;
      broken.insert(rule.number);
      if (details != nullptr) *details += "\n  " + name_of(subject) + ", rule " + std::to_string(rule.number) + ": " + failures[0];
    }
  return broken;
}

TEST(Faults, TheSoundCopiesPass) {
  using addressing::Normalizer, addressing::Window;
  const CopyForm forms[] = {{}, {.window = Window::local_m}, {.window = Window::local_p}, {.normalizer = Normalizer::sparsemax},
                            {.normalizer = Normalizer::hard_max}, {.normalizer = Normalizer::hard_sample}};
  for (const CopyForm& form : forms) {
    std::string details;
    EXPECT_TRUE(broken_rules(Fault::none, form, &details).empty()) << details;
  }
}

TEST(Faults, EachIsNoticedAndEachRuleNoticesOne) {
  std::set<int> useful;
  std::size_t noticed = 0;
  for (const FaultName& fault : faults()) {
    const std::set<int> broken = broken_rules(fault.fault, form_of(fault.fault));
    EXPECT_FALSE(broken.empty()) << fault.name << " breaks no rule";
    noticed += !broken.empty();
    useful.insert(broken.begin(), broken.end());
    std::string name(fault.name);
    name.resize(28, ' ');
    std::cout << name << "rule";
    for (const int rule : broken) std::cout << " " << rule;
    std::cout << "\n";
  }
  std::cout << "[" << noticed << " of " << faults().size() << " planted faults noticed]" << std::endl;
  for (const Rule& rule : rules()) {
    EXPECT_TRUE(rule.check == nullptr || useful.count(rule.number) == 1) << "no planted fault breaks rule " << rule.number;
  }
}

}  // namespace
}  // namespace attend::contract
