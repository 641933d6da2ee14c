// The contract on every mechanism, path and type; the matrix is printed at the end.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "tests/contract/rules.h"

namespace attend::contract {
namespace {

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> all = [] {
    std::vector<Subject> result;
    for (const Mechanism& mechanism : mechanisms())
      for (const Path path : {Path::composed, Path::automatic, Path::fused})
        for (const Type type : {Type::float32, Type::float64, Type::float16, Type::bfloat16}) {
          if (path != Path::fused || mechanism.has.form != addressing::ScoreForm::any) result.push_back({&mechanism, path, type});
        }
    return result;
  }();
  return all;
}

struct Cell {
  std::size_t subject, rule;
};

std::vector<Cell> cells() {
  std::vector<Cell> result;
  for (std::size_t s = 0; s < subjects().size(); ++s)
    for (std::size_t r = 0; r < rules().size(); ++r)
      if (rules()[r].applies != nullptr && rules()[r].applies(subjects()[s])) result.push_back({s, r});
  return result;
}

// What each cell that ran gave, printed when all tests are done.
class Matrix : public testing::Environment {
 public:
  static std::map<std::pair<std::size_t, std::size_t>, bool>& results() {
    static std::map<std::pair<std::size_t, std::size_t>, bool> all;
    return all;
  }

  void TearDown() override {
    if (results().empty()) return;
    std::size_t held = 0;
    std::cout << std::string(50, ' ');
    for (const Rule& rule : rules()) std::cout << (rule.number < 10 ? "  " : " ") << rule.number;
    std::cout << "\n";
    for (std::size_t s = 0; s < subjects().size(); ++s) {
      std::string name = name_of(subjects()[s]);
      name.resize(50, ' ');
      std::cout << name;
      for (std::size_t r = 0; r < rules().size(); ++r) {
        const auto cell = results().find({s, r});
        const bool ran = cell != results().end();
        held += ran && cell->second;
        std::cout << "  " << (!ran ? "–" : cell->second ? "✓" : "✗");
      }
      std::cout << "\n";
    }
    for (const Rule& rule : rules()) std::cout << (rule.number < 10 ? " " : "") << rule.number << "  " << rule.title << "\n";
    std::cout << "[" << held << " of " << results().size() << " cells]" << std::endl;
  }
};

const testing::Environment* const matrix = testing::AddGlobalTestEnvironment(new Matrix);

class Contract : public testing::TestWithParam<Cell> {};

TEST_P(Contract, Holds) {
  const Subject& subject = subjects()[GetParam().subject];
  const Rule& rule = rules()[GetParam().rule];
  const Failures failures = check(rule, subject);
  Matrix::results()[{GetParam().subject, GetParam().rule}] = failures.empty();
  std::string text;
  for (const std::string& failure : failures) text += "\n  " + failure;
  EXPECT_TRUE(failures.empty()) << name_of(subject) << ", rule " << rule.number << " (" << rule.title << "):" << text;
}

std::string test_name(const testing::TestParamInfo<Cell>& cell) {
  std::string name = name_of(subjects()[cell.param.subject]) + "_rule_" + std::to_string(rules()[cell.param.rule].number);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ' ' || c == '-' || c == ':'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Contract, testing::ValuesIn(cells()), test_name);

}  // namespace
}  // namespace attend::contract
