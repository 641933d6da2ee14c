// cpp-httplib.
#include <gtest/gtest.h>
#include <httplib.h>

#include <thread>

namespace {

TEST(Dependencies, CppHttplibServesAndFetches) {
  httplib::Server server;
  server.Get("/where", [](const httplib::Request&, httplib::Response& response) { response.set_content("here", "text/plain"); });
  const int port = server.bind_to_any_port("127.0.0.1");
  ASSERT_GT(port, 0);
  std::jthread serving([&] { server.listen_after_bind(); });
  const httplib::Result result = httplib::Client("127.0.0.1", port).Get("/where");
  server.stop();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 200);
  EXPECT_EQ(result->body, "here");
}

}  // namespace
