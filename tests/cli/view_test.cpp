// `attend view`: what it exports, and what it serves while it runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <signal.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "attend/base/format.h"
#include "attend/io/json.h"
#include "attend/io/safetensors.h"
#include "tests/cli/program.h"
#include "tests/cli/trained_run.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::tests {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

// No desktop, whatever the test itself runs in.
const Surroundings without_desktop{.environment = {{"DISPLAY", ""}, {"WAYLAND_DISPLAY", ""}}};

// `attend view` while it serves.
class Served {
 public:
  explicit Served(const std::vector<std::string>& arguments, const Surroundings& surroundings = without_desktop)
      : program(with_view(arguments), surroundings) {
    address = program.read_line().value_or("");
    EXPECT_THAT(address, MatchesRegex("http://127\\.0\\.0\\.1:[0-9]+/"));
  }

  httplib::Client client() const {
    httplib::Client client(address.substr(0, address.size() - 1));
    client.set_read_timeout(60);
    return client;
  }
  std::string get(const std::string& path) const {
    const httplib::Result answer = client().Get(path);
    EXPECT_TRUE(answer && answer->status == 200) << path;
    return answer ? answer->body : "";
  }
  io::Value json(const std::string& path) const { return io::parse_json(get(path), path); }

  static std::vector<std::string> with_view(const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"--threads", "1", "view"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
  }

  Program program;
  std::string address;
};

class View : public testing::Test {
 protected:
  static std::string samples() { return (trained_run() / "samples.attn").string(); }
  std::string place(const std::string& name) const { return (folder.path() / name).string(); }

  // A recording of one map of `panels` × 512 × 512, all zeros.
  std::string write_maps(const std::string& name, std::int64_t panels) const {
    const std::vector<std::byte> zeros(static_cast<std::size_t>(panels) * 512 * 512 * 4);
    io::write_safetensors(
        place(name), {{"w", {io::ElementType::float32, {panels, 512, 512}, zeros}}},
        {{"attend.record", R"({"format":1,"examples":[{"id":"zeros","source":[],"target":[],"items":[)"
                           R"({"module":"m","kind":"spatial","tensor":"w","axes":["map","row","column"],"heads":1,"layer":0}]}]})"}});
    return place(name);
  }

  const fixtures::TemporaryFolder folder;
};

// --- served ------------------------------------------------------------------------------------------------------------------------------

TEST_F(View, ServesARecordingUntilItIsInterrupted) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Served view({samples()});
    EXPECT_THAT(view.get("/"), AllOf(StartsWith("<!doctype html>"), HasSubstr("<title>samples.attn</title>")));
    const io::Value index = view.json("/api/record");
    EXPECT_TRUE(index.at("run").is_null());
    ASSERT_FALSE(index.at("examples").as_list().empty());
    EXPECT_FALSE(view.get("/api/weights?example=0&item=0&panel=0").empty());
    view.program.send(signal);
    const Ending ending = view.program.wait();
    EXPECT_EQ(ending.status, 0) << ending.errors;
    EXPECT_EQ(ending.signal, 0);
    EXPECT_EQ(ending.output, view.address + "\n");
    EXPECT_THAT(ending.errors, IsEmpty());
  }
}

TEST_F(View, ARunHasCurvesAndAnswersTexts) {
  const Served view({trained_run().string(), "--no-open"});
  const io::Value run = view.json("/api/record").at("run");
  EXPECT_EQ(run.at("name").as_text(), "letters");
  EXPECT_EQ(run.at("system").as_text(), "B3");
  EXPECT_EQ(run.at("try_hint").as_text(), "a word");
  EXPECT_TRUE(run.at("can_try").as_bool());
  const io::Value metrics = view.json("/api/metrics?from=0");
  EXPECT_FALSE(metrics.at("lines").as_list().empty());
  EXPECT_TRUE(metrics.at("finished").as_bool());

  const auto try_text = [&](const std::string& text) {
    io::Value body = io::Value::table();
    body.set("text", text);
    return view.client().Post("/api/try", io::to_json(body), "application/json");
  };
  const httplib::Result answer = try_text("badge");
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->status, 200) << answer->body;
  const io::Value told = io::parse_json(answer->body, "answer");
  EXPECT_EQ(told.at("output").as_text() + "\n",
            attend::tests::run({"--threads", "1", "predict", trained_run().string()}, "badge\n").output);
  EXPECT_EQ(io::to_json(told.at("entry").at("source")), R"(["b","a","d","g","e","</s>"])");
  const std::string key = format("/api/weights?example={}&item=0&panel=0", told.at("example").as_integer());
  EXPECT_EQ(view.get(key).size(), told.at("entry").at("target").as_list().size() * 6 * sizeof(float));
  for (const auto& [text, complaint] : std::map<std::string, std::string>{
           {"", "nothing but spaces"}, {" \n", "nothing but spaces"}, {"a\nb", "expected one line of text"}}) {
    const httplib::Result refused = try_text(text);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status, 422) << text;
    EXPECT_THAT(refused->body, HasSubstr(complaint));
  }
}

TEST_F(View, ARunThatIsStillTrainingHasCurvesAlone) {
  const fs::path run = copy_of_trained_run(folder);
  fs::remove(run / "samples.attn");
  const Served view({run.string()});
  const io::Value index = view.json("/api/record");
  EXPECT_TRUE(index.at("examples").as_list().empty());
  EXPECT_FALSE(index.at("run").at("can_try").as_bool());
  EXPECT_EQ(index.at("title").as_text(), "letters");
  const io::Value metrics = view.json("/api/metrics?from=0");
  EXPECT_FALSE(metrics.at("finished").as_bool());
  const std::size_t lines = metrics.at("lines").as_list().size();
  EXPECT_GT(lines, 0u);
  folder.write("copy-of-run/metrics.jsonl", fixtures::bytes_of(run / "metrics.jsonl") + "{\"step\":1000}\n");
  EXPECT_EQ(io::to_json(view.json(format("/api/metrics?from={}", metrics.at("next").as_integer())).at("lines")), R"([{"step":1000}])");
  EXPECT_EQ(view.client().Post("/api/try", R"({"text":"a"})", "application/json")->status, 404);
}

TEST_F(View, ServesOnTheWantedPort) {
  const Served first({samples()});
  const std::string port = first.address.substr(first.address.rfind(':') + 1, 5);
  const std::string number = port.substr(0, port.find('/'));
  const Ending taken = run(Served::with_view({samples(), "--port", number}), {}, without_desktop);
  EXPECT_EQ(taken.status, 1);
  EXPECT_EQ(taken.errors, "attend: port " + number + " of 127.0.0.1 is taken; choose another one, or none: then a free one is found\n");
  EXPECT_THAT(taken.output, IsEmpty());
  // free again once the first has ended
  Served second({samples()});
  const std::string address = second.address;
  second.program.send(SIGTERM);
  EXPECT_EQ(second.program.wait().status, 0);
  const Served third({samples(), "--port", address.substr(17, address.size() - 18)});
  EXPECT_EQ(third.address, address);
}

TEST_F(View, OpensTheBrowserWhereThereIsADesktop) {
  const fs::path opened = folder.path() / "opened";
  folder.write("bin/xdg-open", "#!/bin/sh\nprintf '%s %s\\n' \"$#\" \"$1\" > " + opened.string() + ".new && mv " + opened.string() +
                                   ".new " + opened.string() + "\n");
  fs::permissions(folder.path() / "bin/xdg-open", fs::perms::owner_all);
  const auto surroundings = [&](const std::string& display, const std::string& wayland) {
    return Surroundings{.environment = {{"PATH", place("bin") + ":" + getenv("PATH")}, {"DISPLAY", display}, {"WAYLAND_DISPLAY", wayland}}};
  };
  for (const auto& [display, wayland] : {std::pair(":7", ""), std::pair("", "wayland-7")}) {
    Served view({samples()}, surroundings(display, wayland));
    EXPECT_TRUE(view.program.wait_until([&] { return fs::exists(opened); }));
    EXPECT_EQ(fixtures::bytes_of(opened), "1 " + view.address + "\n");
    fs::remove(opened);
  }
  {
    Served unwanted({samples(), "--no-open"}, surroundings(":7", "")), impossible({samples()}, surroundings("", ""));
    for (Served* view : {&unwanted, &impossible}) {
      view->get("/api/record");
      view->program.send(SIGINT);
      EXPECT_EQ(view->program.wait().status, 0);
    }
    EXPECT_FALSE(fs::exists(opened));
  }
  // a desktop without xdg-open is served all the same
  fs::remove(folder.path() / "bin/xdg-open");
  const Served view({samples()}, {.environment = {{"PATH", place("bin")}, {"DISPLAY", ":7"}}});
  EXPECT_FALSE(view.get("/").empty());
}

// --- exported ----------------------------------------------------------------------------------------------------------------------------

TEST_F(View, ExportsAPage) {
  const Ending ending = run(Served::with_view({samples(), "--export", place("a.html")}));
  EXPECT_EQ(ending.status, 0) << ending.errors;
  EXPECT_EQ(ending.output, place("a.html") + "\n");
  EXPECT_THAT(ending.errors, IsEmpty());
  const std::string page = fixtures::bytes_of(place("a.html"));
  EXPECT_THAT(page, AllOf(StartsWith("<!doctype html>"), HasSubstr("<title>samples.attn</title>"), HasSubstr("data-key=\"record\""),
                          HasSubstr("data-key=\"weights?example=3&amp;item=0&amp;panel=0\"")));
  EXPECT_THAT(page, Not(HasSubstr("data-key=\"metrics")));
}

TEST_F(View, ExportsOneExample) {
  ASSERT_EQ(run(Served::with_view({samples(), "--export", place("a.html"), "--example", "4"})).status, 0);
  const std::string page = fixtures::bytes_of(place("a.html"));
  EXPECT_THAT(page, AllOf(HasSubstr("<title>samples.attn</title>"), HasSubstr("data-key=\"weights?example=0&amp;"),
                          Not(HasSubstr("data-key=\"weights?example=1&amp;"))));
  const Ending missing = run(Served::with_view({samples(), "--export", place("b.html"), "--example", "none"}));
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.errors, HasSubstr("has no example with the id \"none\""));
  EXPECT_FALSE(fs::exists(place("b.html")));
}

TEST_F(View, ExportsARunWithItsCurves) {
  ASSERT_EQ(run(Served::with_view({trained_run().string(), "--export", place("a.html")})).status, 0);
  EXPECT_THAT(fixtures::bytes_of(place("a.html")), AllOf(HasSubstr("<title>letters</title>"), HasSubstr("data-key=\"metrics?from=0\""),
                                                         HasSubstr("data-key=\"weights?example=0&amp;")));
  const fs::path training = copy_of_trained_run(folder);
  fs::remove(training / "samples.attn");
  ASSERT_EQ(run(Served::with_view({training.string(), "--export", place("b.html")})).status, 0);
  EXPECT_THAT(fixtures::bytes_of(place("b.html")), AllOf(HasSubstr("data-key=\"metrics?from=0\""), Not(HasSubstr("data-key=\"weights"))));
}

TEST_F(View, ALargePageIsToldAndCanBeShortened) {
  const std::string file = write_maps("maps.attn", 20);
  const Ending large = run(Served::with_view({file, "--export", place("a.html")}));
  EXPECT_EQ(large.status, 0);
  EXPECT_THAT(large.errors, MatchesRegex("attend: .*/a\\.html has 2[89] MB, which browsers are slow to open; --keep top-k=K .* --keep "
                                         "thumbnail=N .* --example ID one example\n"));
  std::map<std::string, std::uintmax_t> sizes;
  for (const std::string keep : {"top-k", "top-k=3", "thumbnail", "thumbnail=8"}) {
    const Ending ending = run(Served::with_view({file, "--export", place("a.html"), "--keep", keep}));
    EXPECT_EQ(ending.status, 0) << ending.errors;
    EXPECT_THAT(ending.errors, IsEmpty()) << keep;
    sizes[keep] = fs::file_size(place("a.html"));
  }
  EXPECT_LT(sizes["top-k=3"], sizes["top-k"]);
  EXPECT_LT(sizes["thumbnail=8"], sizes["thumbnail"]);
}

TEST_F(View, ExportsPictures) {
  for (const std::string name : {"a.svg", "a.png"}) {
    const Ending ending = run(Served::with_view({trained_run().string(), "--export", place(name), "--example", "2", "--dark"}));
    EXPECT_EQ(ending.status, 0) << ending.errors;
    EXPECT_THAT(fixtures::bytes_of(place(name)), HasSubstr(name == "a.svg" ? "<svg" : "PNG"));
  }
}

TEST_F(View, ExportsMapsAndGlimpsesOverTheirPicture) {
  const std::vector<float> weights = {0, 0.25f, 0.75f, 0, 0.1f, 0.1f, 0.2f, 0.3f};
  const std::vector<std::byte> pixels(4 * 6 * 3, std::byte{200});
  const auto numbers = std::as_bytes(std::span(weights));
  io::write_safetensors(
      place("pictured.attn"),
      {{"maps", {io::ElementType::float32, {2, 2, 1}, numbers.first(16)}},
       {"boxes", {io::ElementType::float32, {1, 4}, numbers.subspan(16)}},
       {"pixels", {io::ElementType::uint8, {4, 6, 3}, pixels}}},
      {{"attend.record", R"({"format":1,"examples":[)"
                         R"({"id":"caption","source":[],"target":["a","dog"],"picture":"pixels","items":[)"
                         R"({"module":"m","kind":"spatial","tensor":"maps","axes":["target","row","column"],"heads":1,"layer":0}]},)"
                         R"({"id":"glimpse","source":[],"target":[],"picture":"pixels","items":[)"
                         R"({"module":"m","kind":"glimpse","tensor":"boxes","axes":["step","coordinate"],"heads":1,"layer":0}]}]})"}});
  const Ending plain = run(Served::with_view({place("pictured.attn"), "--export", place("a.svg"), "--example", "caption", "--overlay", "none"}));
  EXPECT_EQ(plain.status, 0) << plain.errors;
  EXPECT_THAT(fixtures::bytes_of(place("a.svg")), HasSubstr("<title>Heat map of m</title>"));
  for (const auto& [example, title] : std::map<std::string, std::string>{{"caption", "<title>Heat map of m over its picture</title>"},
                                                                         {"glimpse", "<title>Glimpses of m over their picture</title>"}}) {
    for (const std::string name : {"a.svg", "a.png"}) {
      const Ending ending = run(Served::with_view({place("pictured.attn"), "--export", place(name), "--example", example}));
      EXPECT_EQ(ending.status, 0) << ending.errors;
      EXPECT_EQ(ending.output, place(name) + "\n");
    }
    EXPECT_THAT(fixtures::bytes_of(place("a.svg")), AllOf(HasSubstr(title), HasSubstr("data:image/png;base64,")));
    EXPECT_THAT(fixtures::bytes_of(place("a.png")), HasSubstr("PNG"));
  }
}

TEST_F(View, ExportsTheItemThatIsChosen) {
  const float one = 1;
  const auto item = [](const std::string& module, int layer) {
    return R"({"module":")" + module + R"(","kind":"alignment","tensor":"w","axes":["head","target","source"],"heads":1,"layer":)" + std::to_string(layer) + "}";
  };
  io::write_safetensors(place("layers.attn"), {{"w", {io::ElementType::float32, {1, 1, 1}, std::as_bytes(std::span(&one, 1))}}},
                        {{"attend.record", R"({"format":1,"examples":[{"id":"e","source":["a"],"target":["b"],"items":[)" + item("decoder.read", 1) + "," +
                                               item("decoder.read", 2) + "," + item("memory", 0) + "]}]}"}});
  for (const auto& [chosen, title] : std::vector<std::pair<std::string, std::string>>{{"", "decoder.read, layer 1"},
                                                                                    {"decoder.read", "decoder.read, layer 1"},
                                                                                    {"decoder.read:2", "decoder.read, layer 2"},
                                                                                    {"2", "decoder.read, layer 2"},
                                                                                    {"memory", "memory"}}) {
    std::vector<std::string> arguments = {place("layers.attn"), "--export", place("a.svg")};
    if (!chosen.empty()) arguments.insert(arguments.end(), {"--item", chosen});
    const Ending ending = run(Served::with_view(arguments));
    EXPECT_EQ(ending.status, 0) << ending.errors;
    EXPECT_THAT(fixtures::bytes_of(place("a.svg")), HasSubstr("<title>Heat map of " + title + "</title>")) << chosen;
  }
  const Ending unknown = run(Served::with_view({place("layers.attn"), "--export", place("b.svg"), "--item", "memory:3"}));
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.errors, HasSubstr("has no item \"memory:3\"; it has 1 decoder.read:1, 2 decoder.read:2, 3 memory"));
  EXPECT_FALSE(fs::exists(place("b.svg")));
}

// --- refused -----------------------------------------------------------------------------------------------------------------------------

TEST_F(View, WhatDoesNotGoTogetherIsAWrongCall) {
  const auto expect = [](const std::vector<std::string>& arguments, const std::string& complaint) {
    const Ending ending = run(Served::with_view(arguments));
    EXPECT_EQ(ending.status, 2) << ending.errors;
    EXPECT_THAT(ending.errors, AllOf(StartsWith("attend: "), HasSubstr(complaint)));
    EXPECT_THAT(ending.output, IsEmpty());
  };
  expect({}, "FILE");
  expect({"a.attn", "--keep", "top-k"}, "--keep: shortens an exported page; give --export NAME.html too");
  expect({"a.attn", "--dark"}, "--dark: is of --export");
  expect({"a.attn", "--example", "1"}, "--example: is of --export");
  expect({"a.attn", "--export", "a.gif"}, "--export: expected a name that ends in .html, .svg or .png, got a.gif");
  expect({"a.attn", "--export", ".html"}, "--export: expected a name that ends in .html");
  expect({"a.attn", "--export", "a.html", "--port", "8080"}, "--port: is of the page that is served");
  expect({"a.attn", "--export", "a.svg", "--no-open"}, "--no-open: is of the page that is served");
  expect({"a.attn", "--export", "a.html", "--dark"}, "--dark: is of pictures");
  expect({"a.attn", "--export", "a.html", "--item", "2"}, "--item: is of pictures");
  expect({"a.attn", "--overlay", "light"}, "--overlay: is of --export");
  expect({"a.attn", "--export", "a.png", "--keep", "all"}, "--keep: shortens a page");
  expect({"a.attn", "--port", "0"}, "--port");
  expect({"a.attn", "--port", "65536"}, "--port");
  for (const std::string keep : {"", "some", "top-k=", "top-k=0", "top-k=-1", "top-k=x", "top-k=1x", "all=3", "thumbnail=9999999", "Top-k"})
    expect({"a.attn", "--export", "a.html", "--keep", keep},
           "--keep: expected all, top-k, top-k=K, thumbnail or thumbnail=N with a K or N of at least 1, got " + keep);
}

TEST_F(View, ABadRecordingIsRefusedBeforeAnythingIsServed) {
  const std::string bytes = fixtures::bytes_of(samples());
  const std::string truncated = folder.write("truncated.attn", bytes.substr(0, bytes.size() / 2)).string();
  io::write_safetensors(place("newer.attn"), {}, {{"attend.record", R"({"format":7,"examples":[]})"}});
  const auto expect = [&](const std::string& file, const std::string& complaint) {
    for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{{"--no-open"}, {"--export", place("x.html")}}) {
      std::vector<std::string> arguments = {file};
      arguments.insert(arguments.end(), more.begin(), more.end());
      const Ending ending = run(Served::with_view(arguments));
      EXPECT_EQ(ending.status, 1) << file;
      EXPECT_THAT(ending.errors, AllOf(StartsWith("attend: " + file), HasSubstr(complaint)));
      EXPECT_THAT(ending.output, IsEmpty());
    }
  };
  expect(truncated, "");
  expect(place("newer.attn"), "a recording of format 7, but this attend reads 1 at most; update attend");
  expect(place("missing.attn"), "cannot be opened");
  expect(folder.path().string(), "is no run folder");
  EXPECT_FALSE(fs::exists(place("x.html")));
}

}  // namespace
}  // namespace attend::tests
