// A recording in a browser of this machine: the page and its data, served over HTTP (docs/viewer.md).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "attend/base/api.h"
#include "attend/view/page.h"
#include "attend/view/record.h"
#include "attend/view/record_file.h"

namespace attend::view {

// What came of a text that was tried in the page.
struct Tried {
  Example example = {};
  std::string output = {};  // the answer as a text
};

// Answers a text: its errors (attend::Error) are shown in the page. Called from a thread of the server's, one call at a time.
using Try = std::function<Tried(const std::string& text)>;

struct ServerOptions {
  int port = 0;                               // 0: a free one
  double requests_per_second = 200;           // on average; beyond that a request gets 429
  double burst = 1000;                        // requests that may come at once
  std::size_t connections = 64;               // at one time; the one that has been waited for longest makes room for a new one
  std::chrono::milliseconds patience{10000};  // in which a request must have come, and for its answer to be taken
};

// Serves from its construction to its end, from threads of its own: GET and HEAD of the page `/` and of its data `/api/KEY`, and POST
// /api/try; nothing else, and no file but what the recording and the run's metrics hold. It listens on 127.0.0.1 alone, and answers only
// requests that name this host and port as theirs (403), so that no page of another site can read or try anything. Texts of 64 KiB and
// more, long addresses and headers are refused (413, 414, 400). The last 50 texts that were tried stay in the page.
class ATTEND_API Server {
 public:
  // InvalidArgument where a Record's example or item contradicts itself, or an option is out of its range; SystemError where the port is
  // taken or may not be used.
  explicit Server(std::variant<Record, RecordFile> record, PageOptions page = {}, Try try_text = {}, ServerOptions options = {});
  ~Server();  // as stop()
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const;
  std::string address() const;  // "http://127.0.0.1:PORT/"

  // Takes no more requests, ends those that are under way (a text that is being tried is answered first) and returns when no thread of the
  // server runs. From any thread but the server's own, any number of times.
  void stop();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace attend::view
