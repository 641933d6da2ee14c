// Connections on 127.0.0.1, each with a thread of its own that no client can hold for long.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <list>
#include <mutex>
#include <string>
#include <thread>

namespace attend::view {

// One client, for one request: what it sends must come within the patience and be no longer than it may be, and what it is sent must be
// taken within the patience too.
class HttpConnection {
 public:
  using Clock = std::chrono::steady_clock;

  HttpConnection(int socket, std::chrono::milliseconds patience) : socket_(socket), patience_(patience), opened_(Clock::now()) {}

  // Up to `size` bytes: at least one, 0 at the end, −1 where the patience is over or more came than was allowed.
  ssize_t read(char* to, std::size_t size);
  // All of them, or −1.
  ssize_t write(const char* from, std::size_t size);

  // Bytes that may come from now on.
  void allow(std::size_t bytes) { allowed_ = bytes; }

  // While one lives, the client waits for us and not we for it: the connection is not ended for another's sake.
  class Work {
   public:
    explicit Work(HttpConnection& connection) : connection_(connection) { connection_.enter(Phase::working); }
    ~Work() { connection_.enter(Phase::answering); }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    HttpConnection& connection_;
  };

 private:
  friend class HttpConnections;

  enum class Phase { asking, working, answering, leaving, closed };

  void enter(Phase phase);
  Phase phase() const;
  bool wait_for(short events, Clock::time_point until) const;
  void say_goodbye();
  void shut();  // ends whatever waits for the client
  void close();

  mutable std::mutex mutex_;
  int socket_;
  Phase phase_ = Phase::asking;
  const std::chrono::milliseconds patience_;
  const Clock::time_point opened_;
  Clock::time_point write_until_ = {};
  std::size_t allowed_ = 0;
  char buffer_[4096] = {};
  std::size_t buffered_ = 0, taken_ = 0;
};

// Listens from start() to stop(). Clients that come between construction and start() wait.
class HttpConnections {
 public:
  using Serve = std::function<void(HttpConnection&)>;

  // Calls serve() for each connection, from its thread. Of more than `most` at a time the one that waits longest for its client is ended.
  // SystemError where the port (0: a free one) can't be had.
  HttpConnections(int port, std::size_t most, std::chrono::milliseconds patience, Serve serve);
  ~HttpConnections();
  HttpConnections(const HttpConnections&) = delete;
  HttpConnections& operator=(const HttpConnections&) = delete;

  int port() const { return port_; }
  void start();  // once
  void stop();   // any number of times

 private:
  struct Client {
    Client(int socket, std::chrono::milliseconds patience) : connection(socket, patience) {}
    HttpConnection connection;
    std::thread thread;
    bool done = false;
  };

  void accept_all();
  void begin(int socket);
  void join_finished(std::unique_lock<std::mutex>& lock);
  bool make_room(std::unique_lock<std::mutex>& lock);
  std::size_t running() const;
  void shut_all(std::initializer_list<HttpConnection::Phase> phases);

  const std::size_t most_;
  const std::chrono::milliseconds patience_;
  const Serve serve_;
  int listener_ = -1, wake_ = -1, port_ = 0;
  std::mutex stop_mutex_;  // held by who stops
  bool stopped_ = false;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::list<Client> clients_;
  std::thread acceptor_;
};

}  // namespace attend::view
