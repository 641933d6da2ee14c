#include "attend/view/server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <future>
#include <latch>
#include <map>
#include <regex>
#include <set>
#include <thread>

#include "attend/base/error.h"
#include "attend/io/json.h"
#include "tests/fixtures/temporary_folder.h"
#include "tests/view/alignment.h"
#include "tests/view/exported_page.h"

namespace attend::view {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Clock = std::chrono::steady_clock;

const Example two_words{"1", {"the", "cat"}, {"le"}, {}};

Record small_record() {
  Example example = two_words;
  example.items = {alignment(2, example, {0.25f, 0.75f, nan_weight, 0})};
  example.picture = Picture{1, 2, 1, {7, 9}};
  return {{example}};
}

// A client that says exactly what it is told to.
class RawClient {
 public:
  explicit RawClient(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawClient() { close(socket_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }
  // → false where the server has closed.
  bool send(std::string_view text) const { return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) == std::ssize(text); }
  // All that comes until the server closes; nothing added after `patience`.
  std::string read_all(std::chrono::milliseconds patience = 20s) const {
    std::string text;
    for (const auto until = Clock::now() + patience; Clock::now() < until;) {
      pollfd wanted{socket_, POLLIN, 0};
      if (poll(&wanted, 1, 100) <= 0) continue;
      char part[65536];
      const ssize_t count = recv(socket_, part, sizeof part, 0);
      if (count <= 0) return text;
      text.append(part, static_cast<std::size_t>(count));
    }
    return text + "(still open)";
  }

 private:
  int socket_;
  bool connected_;
};

class ServerTest : public ::testing::Test {
 protected:
  static httplib::Client client_of(const Server& server) {
    httplib::Client client("127.0.0.1", server.port());
    client.set_read_timeout(20);
    return client;
  }
  static int status_of(const httplib::Result& result) { return result ? result->status : -1; }
  static int status_of(const Server& server, const std::string& path, const httplib::Headers& headers = {}) {
    return status_of(client_of(server).Get(path, headers));
  }
  static std::string error_of(const httplib::Result& result) {
    return result ? io::parse_json(result->body, "answer").at("error").as_text() : "no answer";
  }
  static io::Value json_of(const Server& server, const std::string& path) {
    const httplib::Result result = client_of(server).Get(path);
    EXPECT_EQ(status_of(result), 200) << path;
    return result ? io::parse_json(result->body, path) : io::Value();
  }
  static httplib::Result try_text(const Server& server, const std::string& text) {
    io::Value body = io::Value::table();
    body.set("text", text);
    return client_of(server).Post("/api/try", io::to_json(body), "application/json");
  }
  static std::string own_head(const Server& server, const std::string& request) {
    return request + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server.port()) + "\r\n";
  }

  const fixtures::TemporaryFolder folder;
};

// An answer with one weight: how long the text was.
Tried measured(const std::string& text) {
  Tried tried{{text, {text}, {"x"}, {}}, "<" + text + ">"};
  tried.example.items = {alignment(1, tried.example, {static_cast<float>(text.size())})};
  return tried;
}

// --- what is served ----------------------------------------------------------------------------------------------------------------------

TEST_F(ServerTest, ServesThePage) {
  const Server server(small_record(), {.title = "<words>"});
  EXPECT_EQ(server.address(), format("http://127.0.0.1:{}/", server.port()));
  const httplib::Result page = client_of(server).Get("/");
  ASSERT_EQ(status_of(page), 200);
  EXPECT_EQ(page->get_header_value("Content-Type"), "text/html; charset=utf-8");
  EXPECT_THAT(page->body, AllOf(StartsWith("<!doctype html>"), EndsWith("</html>\n"), HasSubstr("<title>&lt;words&gt;</title>")));
  EXPECT_THAT(page->body, Not(HasSubstr("data-key=\""))) << "data are asked for";
  EXPECT_EQ(status_of(server, "/favicon.ico"), 204);
}

TEST_F(ServerTest, GivesEachKeyTheBytesOfAnExportedPage) {
  write_html(folder.path() / "a.html", small_record());
  const ExportedPage page(folder.path() / "a.html");
  const Server server(small_record());
  EXPECT_EQ(page.data_by_key.size(), 6u);
  for (const auto& [key, bytes] : page.data_by_key) {
    const httplib::Result answer = client_of(server).Get("/api/" + key);
    ASSERT_EQ(status_of(answer), 200) << key;
    if (key == "record") continue;
    EXPECT_EQ(answer->body, bytes) << key;
    EXPECT_EQ(answer->get_header_value("Content-Type"), bytes.starts_with("{") ? "application/json" : "application/octet-stream") << key;
  }
  io::Value index = json_of(server, "/api/record");
  EXPECT_TRUE(index.at("served").as_bool());
  index.set("served", false);
  EXPECT_EQ(io::to_json(index), page.bytes("record"));
}

TEST_F(ServerTest, AFileIsServedWithoutBeingUnpacked) {
  Example example{.id = "1"};
  example.items = {{.module = "m",
                    .kind = Kind::spatial,
                    .axes = {"a", "row", "column"},
                    .shape = {8, 64, 64},
                    .weights = std::vector<float>(8 * 64 * 64, 0.5f)}};
  write_record(folder.path() / "a.attn", {{example}});
  const Server server(RecordFile::open(folder.path() / "a.attn"));
  EXPECT_EQ(json_of(server, "/api/record").at("title").as_text(), "a.attn");
  const httplib::Result answer = client_of(server).Get("/api/weights?example=0&item=0&panel=7");
  ASSERT_TRUE(answer);
  EXPECT_EQ(numbers_of<float>(answer->body), std::vector<float>(64 * 64, 0.5f));
}

TEST_F(ServerTest, HeadIsGetWithoutABody) {
  const Server server(small_record());
  for (const std::string path : {"/api/record", "/api/picture?example=0", "/api/no"}) {
    const httplib::Result get = client_of(server).Get(path), head = client_of(server).Head(path);
    ASSERT_TRUE(get && head);
    EXPECT_EQ(head->status, get->status);
    EXPECT_THAT(head->body, IsEmpty());
    EXPECT_EQ(head->get_header_value("Content-Length"), std::to_string(get->body.size()));
  }
}

TEST_F(ServerTest, KnowsNoOtherNames) {
  folder.write("secret", "secret");
  const Server server(small_record(), {.run = PageRun{.metrics = folder.write("metrics.jsonl", "{}\n")}});
  for (const std::string path : {"/index.html",
                                 "/style.css",
                                 "/api",
                                 "/api/",
                                 "/api/Record",
                                 "/api/record?",
                                 "/api/record/",
                                 "/api/record?example=0",
                                 "/api/weights",
                                 "/api/weights?example=0&item=0",
                                 "/api/weights?example=0&item=0&panel=2",
                                 "/api/weights?example=0&item=1&panel=0",
                                 "/api/weights?example=1&item=0&panel=0",
                                 "/api/weights?example=0&item=0&panel=-1",
                                 "/api/weights?example=0&item=0&panel=+1",
                                 "/api/weights?example=0&item=0&panel=0x0",
                                 "/api/weights?example=0&item=0&panel=99999999999999999999999",
                                 "/api/weights?item=0&example=0&panel=0",
                                 "/api/weights?example=0&item=0&panel=0&more=1",
                                 "/api/thumbnails?example=0&item=7",
                                 "/api/summary?example=18446744073709551615&item=0",
                                 "/api/picture?example=1",
                                 "/api/sound?example=0",
                                 "/api/metrics",
                                 "/api/metrics?from=",
                                 "/api/metrics?from=-1",
                                 "/api/metrics?from=0&path=secret",
                                 "/api/../record",
                                 "/../secret",
                                 "/api/%2e%2e/%2e%2e/etc/passwd",
                                 "/api/..%2f..%2fetc%2fpasswd",
                                 "/api/%72ecord",
                                 "/etc/passwd",
                                 "//etc/passwd",
                                 "/api/record%00",
                                 "/api/metrics.jsonl"}) {
    const RawClient raw(server.port());
    raw.send(own_head(server, "GET " + path) + "\r\n");
    const std::string answer = raw.read_all();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 ")) << path;
    EXPECT_THAT(answer, Not(HasSubstr("secret"))) << path;
  }
  const RawClient raw(server.port());
  raw.send(own_head(server, "GET http://127.0.0.1/etc/passwd") + "\r\n");
  EXPECT_THAT(raw.read_all(), StartsWith("HTTP/1.1 404 "));
}

// --- who is answered ---------------------------------------------------------------------------------------------------------------------

TEST_F(ServerTest, AnswersUnderItsOwnNamesOnly) {
  const Server server(small_record());
  const std::string port = std::to_string(server.port());
  for (const std::string& host : {"127.0.0.1:" + port, "localhost:" + port, "LocalHost:" + port, "[::1]:" + port}) {
    EXPECT_EQ(status_of(server, "/", {{"Host", host}}), 200) << host;
    EXPECT_EQ(status_of(server, "/api/record", {{"Host", host}}), 200) << host;
  }
  for (const std::string& host :
       {std::string("127.0.0.1"), std::string("localhost"), std::string("evil.example"), "evil.example:" + port,
        "127.0.0.1.evil.example:" + port, "127.0.0.2:" + port, "127.0.0.1:" + std::to_string(server.port() % 60000 + 1),
        "localhost:" + port + "0", "user@localhost:" + port, "0.0.0.0:" + port}) {
    const httplib::Result page = client_of(server).Get("/", {{"Host", host}});
    ASSERT_EQ(status_of(page), 403) << host;
    EXPECT_EQ(page->body,
              format("this server answers as 127.0.0.1:{} or localhost:{} only; open http://127.0.0.1:{}/\n", port, port, port));
    EXPECT_EQ(status_of(server, "/api/record", {{"Host", host}}), 403) << host;
  }
  for (const std::string& hosts : {std::string(), "Host: 127.0.0.1:" + port + "\r\nHost: evil.example\r\n",
                                   "Host: 127.0.0.1:" + port + "\r\nhost: 127.0.0.1:" + port + "\r\n"}) {
    const RawClient raw(server.port());
    raw.send("GET /api/record HTTP/1.1\r\n" + hosts + "\r\n");
    EXPECT_THAT(raw.read_all(), StartsWith("HTTP/1.1 403 ")) << hosts;
  }
}

TEST_F(ServerTest, AnswersNoPageOfAnotherSite) {
  const Server server(small_record(), {}, measured);
  const std::string port = std::to_string(server.port());
  for (const std::string& origin : {"http://127.0.0.1:" + port, "http://localhost:" + port})
    EXPECT_EQ(status_of(server, "/api/record", {{"Origin", origin}}), 200) << origin;
  for (const std::string& origin : {std::string("null"), std::string("http://evil.example"), "https://127.0.0.1:" + port,
                                    "http://127.0.0.1:" + port + ".evil.example", std::string("file://")}) {
    EXPECT_EQ(status_of(server, "/api/record", {{"Origin", origin}}), 403) << origin;
    EXPECT_EQ(status_of(client_of(server).Post("/api/try", {{"Origin", origin}}, R"({"text":"a"})", "application/json")), 403) << origin;
  }
  for (const std::string site : {"cross-site", "same-site"}) {
    EXPECT_EQ(status_of(server, "/api/record", {{"Sec-Fetch-Site", site}}), 403) << site;
    EXPECT_EQ(status_of(server, "/", {{"Sec-Fetch-Site", site}}), 200) << "a link to the page may be followed";
  }
  EXPECT_EQ(status_of(server, "/api/record", {{"Sec-Fetch-Site", "same-origin"}}), 200);
  EXPECT_EQ(status_of(server, "/api/record", {{"Sec-Fetch-Site", "none"}}), 200);
}

TEST_F(ServerTest, ListensOnThisMachineAlone) {
  const Server server(small_record());
  const int other = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(server.port()));
  inet_pton(AF_INET, "127.0.0.2", &address.sin_addr);  // what 0.0.0.0 would answer as well
  EXPECT_NE(connect(other, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  close(other);
}

TEST_F(ServerTest, EveryAnswerHasItsGuards) {
  const Server server(small_record());
  const auto expect_guards = [](const httplib::Result& answer) {
    ASSERT_TRUE(answer);
    for (const auto& [header, value] : std::map<std::string, std::string>{{"X-Content-Type-Options", "nosniff"},
                                                                          {"Referrer-Policy", "no-referrer"},
                                                                          {"Cross-Origin-Resource-Policy", "same-origin"},
                                                                          {"Cache-Control", "no-store"}}) {
      EXPECT_EQ(answer->get_header_value(header), value) << header;
      EXPECT_EQ(answer->get_header_value_count(header), 1u) << header;
    }
    EXPECT_EQ(answer->get_header_value_count("Content-Security-Policy"), 1u);
    EXPECT_THAT(answer->get_header_value("Content-Security-Policy"), StartsWith("default-src 'none'"));
    EXPECT_FALSE(answer->has_header("Access-Control-Allow-Origin"));
  };
  for (const std::string path : {"/", "/api/record", "/api/picture?example=0", "/api/no", "/no"})
    expect_guards(client_of(server).Get(path));
  expect_guards(client_of(server).Get("/", {{"Host", "evil.example"}}));
  expect_guards(client_of(server).Options("/api/record"));
  expect_guards(client_of(server).Post("/api/try", "{}", "application/json"));
}

TEST_F(ServerTest, ThePolicyAllowsTheScriptsOfThisAnswerOnly) {
  const Server server(small_record());
  std::set<std::string> nonces;
  for (int i = 0; i < 3; ++i) {
    const httplib::Result page = client_of(server).Get("/");
    ASSERT_TRUE(page);
    std::smatch found;
    const std::string policy = page->get_header_value("Content-Security-Policy");
    ASSERT_TRUE(std::regex_search(policy, found, std::regex("script-src 'nonce-([A-Za-z0-9+/]{22}==)'; style-src 'nonce-([^']*)'")))
        << policy;
    EXPECT_EQ(found[1].str(), found[2].str());
    EXPECT_THAT(policy, AllOf(HasSubstr("connect-src 'self'"), HasSubstr("frame-ancestors 'none'"), Not(HasSubstr("unsafe"))));
    EXPECT_THAT(page->body, HasSubstr("<script nonce=\"" + found[1].str() + "\">"));
    nonces.insert(found[1].str());
  }
  EXPECT_EQ(nonces.size(), 3u);
}

TEST_F(ServerTest, OtherMethodsAreRefused) {
  const Server server(small_record(), {}, measured);
  httplib::Client client = client_of(server);
  for (const std::string path : {"/", "/api/record"}) {
    for (const httplib::Result& answer : {client.Post(path, "x", "text/plain"), client.Put(path, "x", "text/plain"),
                                          client.Patch(path, "x", "text/plain"), client.Delete(path), client.Options(path)}) {
      ASSERT_EQ(status_of(answer), 405) << path;
      EXPECT_EQ(answer->get_header_value("Allow"), "GET, HEAD");
    }
  }
  const httplib::Result get = client.Get("/api/try");
  ASSERT_EQ(status_of(get), 405);
  EXPECT_EQ(get->get_header_value("Allow"), "POST");
  EXPECT_EQ(status_of(client.Put("/api/try", "{}", "application/json")), 405);
  const RawClient raw(server.port());
  raw.send(own_head(server, "BREW /") + "\r\n");
  EXPECT_THAT(raw.read_all(), StartsWith("HTTP/1.1 400 "));
}

// --- sizes, rates, slow clients ----------------------------------------------------------------------------------------------------------

TEST_F(ServerTest, LongHeadsAreRefused) {
  const Server server(small_record());
  EXPECT_EQ(status_of(server, "/api/" + std::string(9000, 'a')), 414);
  EXPECT_EQ(status_of(server, "/api/record", {{"X-Long", std::string(7000, 'a')}}), 200);
  for (const std::string& head : {own_head(server, "GET /api/record") + "X-Long: " + std::string(100'000, 'a') + "\r\n\r\n",
                                  own_head(server, "GET /" + std::string(100'000, 'a')) + "\r\n"}) {
    const RawClient raw(server.port());
    raw.send(head);
    EXPECT_THAT(raw.read_all(), Not(HasSubstr("HTTP/1.1 200")));
  }
  std::string many;
  for (int i = 0; i < 20000; ++i) many += "X: y\r\n";
  const RawClient raw(server.port());
  raw.send(own_head(server, "GET /api/record") + many + "\r\n");
  EXPECT_THAT(raw.read_all(), StartsWith("HTTP/1.1 400 "));
  EXPECT_EQ(status_of(server, "/api/record"), 200);
}

TEST_F(ServerTest, LongTextsAreRefused) {
  const Server server(small_record(), {}, measured);
  httplib::Client client = client_of(server);
  const std::string longest = R"({"text":")" + std::string((64 << 10) - 11, 'a') + R"("})";
  ASSERT_EQ(longest.size(), 64u << 10);
  EXPECT_EQ(status_of(client.Post("/api/try", longest, "application/json")), 200);
  const httplib::Result longer = client.Post("/api/try", longest + " ", "application/json");
  ASSERT_EQ(status_of(longer), 413);
  EXPECT_EQ(error_of(longer), "the text is too long: at most 64 KiB are taken");
  EXPECT_EQ(status_of(client.Post("/api/try", std::string(1'000'000, 'a'), "application/json")), 413);
  const RawClient endless(server.port());
  endless.send(own_head(server, "POST /api/try") + "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_THAT(endless.read_all(), StartsWith("HTTP/1.1 411 "));
  const RawClient lying(server.port());
  lying.send(own_head(server, "POST /api/try") + "Content-Type: application/json\r\nContent-Length: 99999999999999999999\r\n\r\n");
  EXPECT_THAT(lying.read_all(), StartsWith("HTTP/1.1 413 "));
  const RawClient packed(server.port());
  packed.send(own_head(server, "POST /api/try") +
              "Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nxx");
  EXPECT_THAT(packed.read_all(), StartsWith("HTTP/1.1 415 "));
}

TEST_F(ServerTest, RangesAndCompressionAreNotTaken) {
  const Server server(small_record());
  const httplib::Result answer = client_of(server).Get("/api/picture?example=0", {{"Range", "bytes=0-0"}, {"Accept-Encoding", "gzip, br"}});
  ASSERT_EQ(status_of(answer), 200);
  EXPECT_EQ(answer->body, std::string("\7\11"));
  EXPECT_FALSE(client_of(server).Get("/api/record", {{"Accept-Encoding", "gzip, br"}})->has_header("Content-Encoding"));
}

TEST_F(ServerTest, TooManyRequestsAreRefusedUntilTimeHasPassed) {
  const Server server(small_record(), {}, {}, {.requests_per_second = 2, .burst = 5});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(status_of(server, "/api/record"), 200);
  EXPECT_EQ(status_of(server, "/api/record", {{"Host", "evil.example"}}), 403) << "what isn't answered doesn't count";
  httplib::Result answer = client_of(server).Get("/api/record");
  for (int i = 0; i < 5 && status_of(answer) == 200; ++i) answer = client_of(server).Get("/api/record");  // a slow machine lets some pass
  ASSERT_EQ(status_of(answer), 429);
  EXPECT_EQ(answer->get_header_value("Retry-After"), "1");
  EXPECT_EQ(error_of(answer), "too many requests at once; wait a second");
  std::this_thread::sleep_for(700ms);
  EXPECT_EQ(status_of(server, "/api/record"), 200);
}

TEST_F(ServerTest, AClientThatDoesNotFinishIsLeft) {
  const Server server(small_record(), {}, measured, {.patience = 300ms});
  const RawClient silent(server.port()), half(server.port()), bodiless(server.port());
  half.send("GET /api/rec");
  bodiless.send(own_head(server, "POST /api/try") + "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{");
  const auto begin = Clock::now();
  EXPECT_THAT(silent.read_all(), IsEmpty());
  EXPECT_THAT(half.read_all(), Not(HasSubstr("still open")));
  EXPECT_THAT(bodiless.read_all(), Not(AnyOf(HasSubstr("still open"), HasSubstr("HTTP/1.1 200"))));
  EXPECT_LT(Clock::now() - begin, 10s);
}

TEST_F(ServerTest, AClientThatDripsIsLeft) {
  const Server server(small_record(), {}, {}, {.patience = 500ms});
  const RawClient dripping(server.port());
  const auto begin = Clock::now();
  bool open = true;
  for (int i = 0; i < 200 && open; ++i) {
    open = dripping.send("a");
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_FALSE(open);
  EXPECT_LT(Clock::now() - begin, 9s);
}

TEST_F(ServerTest, AClientThatDoesNotTakeItsAnswerIsLeft) {
  Example example{.id = "1"};
  example.items = {{.module = "m",
                    .kind = Kind::spatial,
                    .axes = {"row", "column"},
                    .shape = {3000, 3000},
                    .weights = std::vector<float>(9'000'000, 0.5f)}};
  Server server(Record{{example}}, {}, {}, {.connections = 1, .patience = 1s});
  const RawClient deaf(server.port());
  deaf.send(own_head(server, "GET /api/weights?example=0&item=0&panel=0") + "\r\n");
  std::this_thread::sleep_for(1500ms);
  EXPECT_EQ(status_of(server, "/api/record"), 200);
  EXPECT_LT(deaf.read_all().size(), 36'000'000u);
}

TEST_F(ServerTest, ManySilentClientsKeepNobodyOut) {
  const Server server(small_record(), {}, {}, {.connections = 4, .patience = 60s});
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 40; ++i) {
    silent.push_back(std::make_unique<RawClient>(server.port()));
    EXPECT_TRUE(silent.back()->connected());
  }
  const auto begin = Clock::now();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(status_of(server, "/api/record"), 200);
  EXPECT_LT(Clock::now() - begin, 10s);
  EXPECT_THAT(silent.front()->read_all(), IsEmpty()) << "the oldest made room";
}

TEST_F(ServerTest, ManyAreAnsweredAtOnce) {
  const Server server(small_record());
  const std::string expected = client_of(server).Get("/api/record")->body;
  std::vector<std::future<int>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::async(std::launch::async, [&] {
      int right = 0;
      for (int request = 0; request < 25; ++request) {
        const httplib::Result answer = client_of(server).Get("/api/record");
        right += answer && answer->status == 200 && answer->body == expected;
      }
      return right;
    }));
  }
  for (std::future<int>& client : clients) EXPECT_EQ(client.get(), 25);
}

TEST_F(ServerTest, WhatFollowsARequestIsNoRequest) {
  const Server server(small_record());
  const std::string second = own_head(server, "GET /api/record") + "\r\n";
  for (const std::string& first :
       {own_head(server, "GET /favicon.ico") + "\r\n",
        own_head(server, "GET /favicon.ico") + "Connection: keep-alive\r\nContent-Length: " + std::to_string(second.size()) + "\r\n\r\n",
        own_head(server, "POST /") + "Content-Type: text/plain\r\nContent-Length: " + std::to_string(second.size()) + "\r\n\r\n"}) {
    const RawClient raw(server.port());
    raw.send(first + second);
    const std::string answer = raw.read_all();
    EXPECT_EQ(answer.find("HTTP/1.1", 1), std::string::npos) << answer;
    EXPECT_THAT(answer, HasSubstr("Connection: close"));
  }
}

// --- trying ------------------------------------------------------------------------------------------------------------------------------

TEST_F(ServerTest, ATextIsAnsweredAndItsWeightsCanBeAskedFor) {
  const Server server(small_record(), {.run = PageRun{.name = "r", .try_hint = "a word"}}, measured);
  EXPECT_TRUE(json_of(server, "/api/record").at("run").at("can_try").as_bool());
  const httplib::Result answer = try_text(server, "h</script>é");
  ASSERT_EQ(status_of(answer), 200);
  const io::Value told = io::parse_json(answer->body, "answer");
  EXPECT_EQ(told.at("example").as_integer(), 1);
  EXPECT_EQ(told.at("output").as_text(), "<h</script>é>");
  EXPECT_EQ(told.at("entry").at("id").as_text(), "h</script>é");
  EXPECT_EQ(told.at("entry").at("output").as_text(), "<h</script>é>");
  EXPECT_EQ(told.at("entry").at("items").as_list().at(0).at("panels").as_integer(), 1);
  EXPECT_THAT(numbers_of<float>(client_of(server).Get("/api/weights?example=1&item=0&panel=0")->body), ElementsAre(12.0f));
  // a page that is opened later sees it too
  const io::Value index = json_of(server, "/api/record");
  ASSERT_EQ(index.at("examples").as_list().size(), 2u);
  EXPECT_EQ(index.at("examples").as_list()[1], told.at("entry"));
}

TEST_F(ServerTest, TheLastFiftyAreKept) {
  const Server server(Record{}, {}, measured);
  for (int i = 0; i < 53; ++i)
    EXPECT_EQ(
        io::parse_json(try_text(server, std::string(static_cast<std::size_t>(i) + 1, 'a'))->body, "answer").at("example").as_integer(), i);
  EXPECT_EQ(status_of(server, "/api/weights?example=2&item=0&panel=0"), 404);
  EXPECT_THAT(numbers_of<float>(client_of(server).Get("/api/weights?example=3&item=0&panel=0")->body), ElementsAre(4.0f));
  EXPECT_THAT(numbers_of<float>(client_of(server).Get("/api/weights?example=52&item=0&panel=0")->body), ElementsAre(53.0f));
  const io::Value index = json_of(server, "/api/record");
  ASSERT_EQ(index.at("examples").as_list().size(), 53u) << "numbers stay";
  EXPECT_EQ(index.at("examples").as_list()[2].at("id").as_text(), "(no longer kept)");
  EXPECT_EQ(index.at("examples").as_list()[2].at("items").as_list().size(), 0u);
}

TEST_F(ServerTest, ErrorsOfTryingAreTold) {
  const Server server(small_record(), {}, [](const std::string& text) -> Tried {
    if (text == "own") throw InvalidArgument("expected another \"text\"");
    if (text == "foreign") throw std::runtime_error("the tensor library broke");
    Tried tried = measured(text);
    tried.example.items[0].weights.clear();
    return tried;
  });
  const httplib::Result own = try_text(server, "own"), foreign = try_text(server, "foreign"), unfit = try_text(server, "unfit");
  EXPECT_EQ(status_of(own), 422);
  EXPECT_EQ(error_of(own), "expected another \"text\"");
  EXPECT_EQ(status_of(foreign), 500);
  EXPECT_EQ(error_of(foreign), "the tensor library broke");
  EXPECT_EQ(status_of(unfit), 422);
  EXPECT_THAT(error_of(unfit), HasSubstr("weights"));
  EXPECT_EQ(json_of(server, "/api/record").at("examples").as_list().size(), 1u);
}

TEST_F(ServerTest, OnlyJsonWithATextIsTried) {
  const Server server(small_record(), {}, measured);
  httplib::Client client = client_of(server);
  for (const char* body : {"", "text", "{}", "[]", "{\"text\":1}", "{\"text\":", "{\"text\":null}", "\xFF"}) {
    const httplib::Result answer = client.Post("/api/try", body, "application/json");
    EXPECT_EQ(status_of(answer), 400) << body;
    EXPECT_THAT(error_of(answer), StartsWith("expected {\"text\": \"…\"}: "));
  }
  // what a form or a script of another site could send without being asked
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp", ""})
    EXPECT_EQ(status_of(client.Post("/api/try", R"({"text":"a"})", type)), 415) << type;
  EXPECT_EQ(status_of(client.Post("/api/try", R"({"text":"a"})", "Application/JSON; charset=utf-8")), 200);
}

TEST_F(ServerTest, WithoutAModelNothingIsTried) {
  const Server server(small_record(), {.run = PageRun{.name = "r"}});
  EXPECT_FALSE(json_of(server, "/api/record").at("run").at("can_try").as_bool());
  const httplib::Result answer = try_text(server, "a");
  EXPECT_EQ(status_of(answer), 404);
  EXPECT_EQ(error_of(answer), "this page has no model to ask; open a finished run: attend view RUN");
}

TEST_F(ServerTest, OneTextIsTriedAtATimeAndTheOthersAreServedMeanwhile) {
  std::latch begun(1), may_end(1);
  const Server server(small_record(), {}, [&](const std::string& text) {
    begun.count_down();
    may_end.wait();
    return measured(text);
  });
  std::future<int> first = std::async(std::launch::async, [&] { return status_of(try_text(server, "a")); });
  begun.wait();
  EXPECT_EQ(status_of(server, "/api/record"), 200);
  const httplib::Result second = try_text(server, "b");
  may_end.count_down();
  EXPECT_EQ(status_of(second), 429);
  EXPECT_EQ(error_of(second), "another text is still being answered; try again later");
  EXPECT_EQ(first.get(), 200);
}

// --- curves ------------------------------------------------------------------------------------------------------------------------------

TEST_F(ServerTest, CurvesGrowWhileTheRunTrains) {
  const std::filesystem::path metrics = folder.path() / "metrics.jsonl", ended = folder.path() / "samples.attn";
  const Server server(Record{}, {.run = PageRun{.name = "r", .metrics = metrics, .ended = ended}});
  EXPECT_EQ(client_of(server).Get("/api/metrics?from=0")->body, R"({"next":0,"lines":[],"finished":false})");
  folder.write("metrics.jsonl", "{\"step\":1}\n{\"ste");
  EXPECT_EQ(client_of(server).Get("/api/metrics?from=0")->body, R"({"next":11,"lines":[{"step":1}],"finished":false})");
  folder.write("metrics.jsonl", "{\"step\":1}\n{\"step\":2}\n");
  EXPECT_EQ(client_of(server).Get("/api/metrics?from=11")->body, R"({"next":22,"lines":[{"step":2}],"finished":false})");
  folder.write("samples.attn", "");
  EXPECT_EQ(client_of(server).Get("/api/metrics?from=22")->body, R"({"next":22,"lines":[],"finished":true})");
}

TEST_F(ServerTest, CurvesOfAFileThatWasBegunAnewAreReadFromItsStart) {
  const std::filesystem::path metrics = folder.path() / "metrics.jsonl", ended = folder.path() / "samples.attn";
  const Server server(Record{}, {.run = PageRun{.name = "r", .metrics = metrics, .ended = ended}});
  folder.write("samples.attn", "");
  folder.write("metrics.jsonl", "{\"step\":1}\n");
  EXPECT_EQ(client_of(server).Get("/api/metrics?from=11")->body, R"({"next":11,"lines":[],"finished":true})");
  EXPECT_EQ(client_of(server).Get("/api/metrics?from=22")->body, R"({"next":0,"lines":[],"finished":false})");
  EXPECT_EQ(client_of(server).Get("/api/metrics?from=1000000000000")->body, R"({"next":0,"lines":[],"finished":false})");
  std::filesystem::remove(metrics);
  EXPECT_EQ(client_of(server).Get("/api/metrics?from=11")->body, R"({"next":0,"lines":[],"finished":false})");
}

TEST_F(ServerTest, LongCurvesComeInParts) {
  std::string lines;
  for (int step = 1; step <= 30000; ++step) lines += format("{{\"step\":{},\"text\":\"{}\"}}\n", step, std::string(60, 'x'));
  lines += std::string(1'500'000, 'y') + "\n{\"step\":30001}\n";
  const Server server(Record{}, {.run = PageRun{.metrics = folder.write("metrics.jsonl", lines)}});
  std::int64_t from = 0, step = 0;
  int parts = 0;
  for (bool finished = false; !finished && parts < 100; ++parts) {
    const httplib::Result answer = client_of(server).Get("/api/metrics?from=" + std::to_string(from));
    ASSERT_EQ(status_of(answer), 200);
    EXPECT_LE(answer->body.size(), (1u << 20) + 100);
    const io::Value part = io::parse_json(answer->body, "metrics");
    for (const io::Value& line : part.at("lines").as_list()) EXPECT_EQ(line.at("step").as_integer(), ++step);
    from = part.at("next").as_integer();
    finished = part.at("finished").as_bool();
  }
  EXPECT_EQ(step, 30001);
  EXPECT_GT(parts, 3);
  EXPECT_EQ(from, std::ssize(lines));
}

// --- beginning and end -------------------------------------------------------------------------------------------------------------------

TEST_F(ServerTest, ATakenPortIsTold) {
  const Server server(small_record());
  try {
    const Server second(small_record(), {}, {}, {.port = server.port()});
    FAIL() << "two servers on one port";
  } catch (const SystemError& error) {
    EXPECT_EQ(std::string(error.what()),
              format("port {} of 127.0.0.1 is taken; choose another one, or none: then a free one is found", server.port()));
  }
}

TEST_F(ServerTest, APortIsFreeAgainAtOnce) {
  int port = 0;
  for (int i = 0; i < 3; ++i) {
    const Server server(small_record(), {}, {}, {.port = port});
    port = server.port();
    EXPECT_EQ(status_of(server, "/api/record"), 200);
  }
}

TEST_F(ServerTest, RefusesWhatItCannotServe) {
  for (const ServerOptions& options :
       {ServerOptions{.port = -1}, ServerOptions{.port = 65536}, ServerOptions{.requests_per_second = 0}, ServerOptions{.burst = 0.5},
        ServerOptions{.burst = std::nan("")}, ServerOptions{.connections = 0}, ServerOptions{.patience = 0ms}})
    EXPECT_THROW(Server(small_record(), {}, {}, options), InvalidArgument);
  Record contradictory = small_record();
  contradictory.examples[0].items[0].weights.pop_back();
  EXPECT_THROW(Server{contradictory}, InvalidArgument);
}

TEST_F(ServerTest, StopsWhenToldAnyNumberOfTimes) {
  Server server(small_record());
  const int port = server.port();
  EXPECT_EQ(status_of(server, "/api/record"), 200);
  const RawClient idle(port);
  const auto begin = Clock::now();
  std::thread other([&] { server.stop(); });
  server.stop();
  other.join();
  server.stop();
  EXPECT_LT(Clock::now() - begin, 5s);
  EXPECT_THAT(idle.read_all(), IsEmpty());
  EXPECT_FALSE(RawClient(port).connected());
}

TEST_F(ServerTest, StopsOnceWhatIsTriedIsAnswered) {
  std::latch begun(1), may_end(1);
  Server server(small_record(), {}, [&](const std::string& text) {
    begun.count_down();
    may_end.wait();
    return measured(text);
  });
  std::future<int> trying = std::async(std::launch::async, [&] { return status_of(try_text(server, "a")); });
  begun.wait();
  std::future<void> stopping = std::async(std::launch::async, [&] { server.stop(); });
  EXPECT_EQ(stopping.wait_for(300ms), std::future_status::timeout) << "it must not end what is being tried";
  may_end.count_down();
  EXPECT_EQ(trying.get(), 200);
  stopping.get();
}

TEST_F(ServerTest, LeavesTheSignalsOfTheProcessAlone) {
  const auto before = std::signal(SIGPIPE, SIG_DFL);
  { const Server server(small_record()); }
  EXPECT_EQ(std::signal(SIGPIPE, before), SIG_DFL);
}

}  // namespace
}  // namespace attend::view
