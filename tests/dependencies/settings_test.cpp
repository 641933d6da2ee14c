// CLI11, toml++, nlohmann-json and fmt.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <toml++/toml.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace {

TEST(Dependencies, Cli11ParsesALine) {
  CLI::App app;
  int steps = 0;
  app.add_option("--steps", steps);
  app.parse("--steps 7");
  EXPECT_EQ(steps, 7);
}

TEST(Dependencies, TomlPlusPlusParsesATable) {
  const toml::table table = toml::parse("[train]\nsteps = 7\n");
  EXPECT_EQ(table["train"]["steps"].value<int>(), 7);
}

TEST(Dependencies, NlohmannJsonParsesAnObject) {
  const auto object = nlohmann::json::parse(R"({"steps": [7]})");
  EXPECT_EQ(object["steps"][0].get<int>(), 7);
  EXPECT_EQ(object.dump(), R"({"steps":[7]})");
}

TEST(Dependencies, FmtFormats) { EXPECT_EQ(fmt::format("{:.2f} of {}", 0.5, "all"), "0.50 of all"); }

}  // namespace
