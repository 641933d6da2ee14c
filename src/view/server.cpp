#include "attend/view/server.h"

#include <httplib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstring>
#include <mutex>
#include <random>

#include "attend/base/error.h"
#include "attend/io/json.h"
#include "view/http_connections.h"
#include "view/page_data.h"
#include "view/page_document.h"

namespace attend::view {
namespace {

constexpr std::size_t head_bytes_most = 32 << 10;  // request line and headers
constexpr std::size_t text_bytes_most = 64 << 10;  // of what is posted
constexpr auto json_type = "application/json", text_type = "text/plain; charset=utf-8";

// A connection as httplib reads and writes it.
class ConnectionStream : public httplib::Stream {
 public:
  explicit ConnectionStream(HttpConnection& connection) : connection_(connection) {}
  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* to, size_t size) override { return connection_.read(to, size); }
  ssize_t write(const char* from, size_t size) override { return connection_.write(from, size); }
  void get_remote_ip_and_port(std::string& ip, int& port) const override { ip.clear(), port = 0; }
  void get_local_ip_and_port(std::string& ip, int& port) const override { ip.clear(), port = 0; }
  socket_t socket() const override { return INVALID_SOCKET; }

 private:
  HttpConnection& connection_;
};

// The part of httplib's server that reads one request and writes its answer. Listening and waiting are HttpConnections'.
class RequestReader : public httplib::Server {
 public:
  void serve(HttpConnection& connection) {
    ConnectionStream stream(connection);
    connection.allow(head_bytes_most);
    bool ignored = false;
    process_request(stream, /*close_connection=*/true, ignored, [&](httplib::Request& request) {
      connection.allow(text_bytes_most);
      // what these ask for costs more than it brings, from one process to another of the same machine
      for (const char* header : {"Accept-Encoding", "Range"}) request.headers.erase(header);
      request.ranges.clear();
    });
  }
};

// httplib's server turns the signal for closed pipes off, for the whole process.
std::unique_ptr<RequestReader> make_request_reader() {
  struct sigaction before {};
  sigaction(SIGPIPE, nullptr, &before);
  auto reader = std::make_unique<RequestReader>();
  sigaction(SIGPIPE, &before, nullptr);
  return reader;
}

// Lets `rate` requests a second pass, and `burst` at once.
class TokenBucket {
 public:
  TokenBucket(double rate, double burst) : rate_(rate), burst_(burst), tokens_(burst), filled_(Clock::now()) {}
  bool take() {
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = Clock::now();
    tokens_ = std::min(burst_, tokens_ + rate_ * std::chrono::duration<double>(now - filled_).count());
    filled_ = now;
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  const double rate_, burst_;
  std::mutex mutex_;
  double tokens_;
  Clock::time_point filled_;
};

std::string fresh_nonce() {
  std::random_device device;
  std::array<std::uint32_t, 4> words;
  for (std::uint32_t& word : words) word = device();
  return base64({reinterpret_cast<const char*>(words.data()), sizeof words});
}

std::string lower_ascii(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

void check_server_options(const ServerOptions& options) {
  if (options.port < 0 || options.port > 65535) throw InvalidArgument(format("expected a port from 0 to 65535, got {}", options.port));
  if (!(options.requests_per_second > 0) || !(options.burst >= 1))
    throw InvalidArgument(format("expected more than 0 requests per second and a burst of at least 1, got {} and {}",
                                 options.requests_per_second, options.burst));
  if (options.connections < 1 || options.patience.count() < 1)
    throw InvalidArgument(format("expected at least 1 connection and a patience of at least 1 ms, got {} and {}", options.connections,
                                 options.patience.count()));
}

PageData page_data_of(std::variant<Record, RecordFile> record, PageOptions page, bool has_model) {
  const Carrier carrier = has_model ? Carrier::served_with_model : Carrier::served;
  if (auto* file = std::get_if<RecordFile>(&record)) {
    if (page.title.empty()) page.title = file->path().filename().string();
    return PageData(examples_of(std::move(*file)), std::move(page), carrier);
  }
  return PageData(examples_of(std::make_shared<const Record>(std::move(std::get<Record>(record)))), std::move(page), carrier);
}

// The connection that this thread serves.
thread_local HttpConnection* served_connection = nullptr;

}  // namespace

class Server::State {
 public:
  State(std::variant<Record, RecordFile> record, PageOptions page, Try try_text, const ServerOptions& options)
      : data_(page_data_of(std::move(record), std::move(page), static_cast<bool>(try_text))),
        try_text_(std::move(try_text)),
        bucket_(options.requests_per_second, options.burst),
        reader_(make_request_reader()) {
    set_rules();
    connections_.emplace(options.port, options.connections, options.patience, [this](HttpConnection& connection) { serve(connection); });
    for (const char* host : {"127.0.0.1", "localhost", "[::1]"}) {
      hosts_.push_back(format("{}:{}", host, port()));
      if (port() == 80) hosts_.emplace_back(host);
    }
    connections_->start();
  }

  int port() const { return connections_->port(); }
  void stop() { connections_->stop(); }

 private:
  using Request = httplib::Request;
  using Response = httplib::Response;
  using Handled = httplib::Server::HandlerResponse;

  void set_rules() {
    reader_->set_default_headers({{"X-Content-Type-Options", "nosniff"},
                                  {"Referrer-Policy", "no-referrer"},
                                  {"Cross-Origin-Resource-Policy", "same-origin"},
                                  {"Cross-Origin-Opener-Policy", "same-origin"},
                                  {"Cache-Control", "no-store"}});
    reader_->set_payload_max_length(text_bytes_most);
    reader_->set_pre_routing_handler([this](const Request& request, Response& response) {
      const HttpConnection::Work work(*served_connection);
      return answer_head(request, response) ? Handled::Handled : Handled::Unhandled;
    });
    reader_->Post("/api/try", [this](const Request& request, Response& response) {
      const HttpConnection::Work work(*served_connection);
      answer_try(request, response);
    });
    reader_->set_error_handler(httplib::Server::Handler([](const Request& request, Response& response) {
      if (response.body.empty()) refuse(request, response, response.status, reason_of(response.status));
      response.set_header("Content-Security-Policy", "default-src 'none'");
    }));
    reader_->set_exception_handler([](const Request& request, Response& response, std::exception_ptr error) {
      try {
        std::rethrow_exception(error);
      } catch (const std::exception& what) {
        refuse(request, response, 500, what.what());
      } catch (...) {
        refuse(request, response, 500, "failed for no known reason");
      }
    });
  }

  void serve(HttpConnection& connection) {
    served_connection = &connection;
    try {
      reader_->serve(connection);
    } catch (const std::exception&) {
      // out of memory, mostly: this client gets no answer, others do
    }
    served_connection = nullptr;
  }

  static const char* reason_of(int status) {
    if (status == 400) return "the request is not HTTP that this server reads, or its head is too long";
    if (status == 413) return "the text is too long: at most 64 KiB are taken";
    if (status == 414) return "the address is too long";
    return "the request was refused";
  }

  // The message as the page reads it, or a person.
  static void refuse(const Request& request, Response& response, int status, const std::string& message) {
    response.status = status;
    if (!request.target.starts_with("/api/")) return response.set_content(message + "\n", text_type);
    io::Value value = io::Value::table();
    value.set("error", message);
    response.set_content(io::to_json(value), json_type);
  }

  // Whether the request is meant for this server and comes from its own page, or from no page. A page of another site can make a browser
  // send requests here, but not under this name.
  bool is_ours(const Request& request, Response& response) const {
    const auto is_own = [this](const std::string& host) {
      return std::find(hosts_.begin(), hosts_.end(), lower_ascii(host)) != hosts_.end();
    };
    if (request.get_header_value_count("Host") != 1 || !is_own(request.get_header_value("Host"))) {
      refuse(request, response, 403,
             format("this server answers as 127.0.0.1:{} or localhost:{} only; open http://127.0.0.1:{}/", port(), port(), port()));
      return false;
    }
    const bool foreign_origin = request.has_header("Origin") && (request.get_header_value_count("Origin") != 1 ||
                                                                 !request.get_header_value("Origin").starts_with("http://") ||
                                                                 !is_own(request.get_header_value("Origin").substr(7)));
    // a browser's own word on who asks: same-origin, or none where a person does
    const std::string site = request.get_header_value("Sec-Fetch-Site");
    const bool foreign_site = request.target != "/" && !site.empty() && site != "same-origin" && site != "none";
    if (foreign_origin || foreign_site) refuse(request, response, 403, "this server answers its own page only, not those of other sites");
    return !foreign_origin && !foreign_site;
  }

  // → false: what is left is to read the text that is posted, and to answer it.
  bool answer_head(const Request& request, Response& response) {
    if (!is_ours(request, response)) return true;
    if (!bucket_.take()) {
      response.set_header("Retry-After", "1");
      refuse(request, response, 429, "too many requests at once; wait a second");
      return true;
    }
    if (request.target == "/api/try") return !may_be_tried(request, response);
    if (request.method != "GET" && request.method != "HEAD") {
      response.set_header("Allow", "GET, HEAD");
      refuse(request, response, 405, format("expected GET or HEAD here, got {}", request.method));
      return true;
    }
    answer_get(request, response);
    return true;
  }

  void answer_get(const Request& request, Response& response) {
    const std::string_view target = request.target;
    if (target == "/") {
      const std::string nonce = fresh_nonce();
      const Carrier carrier = try_text_ ? Carrier::served_with_model : Carrier::served;
      const PageDocument document = page_document(data_.title(), nonce, carrier);
      response.set_header("Content-Security-Policy", page_policy(nonce, carrier));
      response.set_content(document.before_data + document.after_data, "text/html; charset=utf-8");
      response.status = 200;
    } else if (target == "/favicon.ico") {
      response.status = 204;
    } else if (const auto answer = target.starts_with("/api/") ? data_.answer(target.substr(5)) : std::nullopt) {
      response.set_header("Content-Security-Policy", "default-src 'none'");
      response.set_content(answer->bytes, answer->is_json ? json_type : "application/octet-stream");
      response.status = 200;
    } else {
      refuse(request, response, 404, "there is nothing of this name; the page is at / and what it shows below /api/");
    }
  }

  // Whether a text may be read and tried.
  bool may_be_tried(const Request& request, Response& response) const {
    const auto refused = [&](int status, const std::string& message) {
      refuse(request, response, status, message);
      return false;
    };
    if (request.method != "POST") {
      response.set_header("Allow", "POST");
      return refused(405, format("expected POST here, got {}", request.method));
    }
    if (!try_text_) return refused(404, "this page has no model to ask; open a finished run: attend view RUN");
    const std::string type = lower_ascii(request.get_header_value("Content-Type"));
    if (type.substr(0, type.find_first_of("; ")) != json_type || request.has_header("Content-Encoding"))
      return refused(415, "expected Content-Type: application/json, and no Content-Encoding");
    const std::string length = request.get_header_value("Content-Length");
    if (request.get_header_value_count("Content-Length") != 1 || request.has_header("Transfer-Encoding") || length.empty() ||
        length.find_first_not_of("0123456789") != std::string::npos)
      return refused(411, "expected a Content-Length");
    if (length.size() > 8 || std::stoul(length) > text_bytes_most) return refused(413, reason_of(413));
    return true;
  }

  void answer_try(const Request& request, Response& response) {
    std::string text;
    try {
      text = io::parse_json(request.body, "the request").at("text").as_text();
    } catch (const Error& error) {
      return refuse(request, response, 400, format("expected {{\"text\": \"…\"}}: {}", error.what()));
    }
    const std::unique_lock one_at_a_time(trying_, std::try_to_lock);
    if (!one_at_a_time) return refuse(request, response, 429, "another text is still being answered; try again later");
    try {
      Tried tried = try_text_(text);
      response.set_content(data_.add(std::move(tried.example), std::move(tried.output)), json_type);
      response.set_header("Content-Security-Policy", "default-src 'none'");
      response.status = 200;
    } catch (const Error& error) {
      refuse(request, response, 422, error.what());
    }
  }

  PageData data_;
  const Try try_text_;
  std::mutex trying_;
  TokenBucket bucket_;
  std::vector<std::string> hosts_;
  std::unique_ptr<RequestReader> reader_;
  std::optional<HttpConnections> connections_;  // the last member: its threads use all others
};

Server::Server(std::variant<Record, RecordFile> record, PageOptions page, Try try_text, ServerOptions options) {
  check_server_options(options);
  state_ = std::make_unique<State>(std::move(record), std::move(page), std::move(try_text), options);
}

Server::~Server() = default;

int Server::port() const { return state_->port(); }
std::string Server::address() const { return format("http://127.0.0.1:{}/", port()); }
void Server::stop() { state_->stop(); }

}  // namespace attend::view
