#include "view/http_connections.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "attend/base/error.h"

namespace attend::view {
namespace {

using std::chrono::milliseconds;

// What a thread that is told to end, or a client that is told goodbye, gets.
constexpr milliseconds grace{1000};
constexpr std::size_t goodbye_bytes_most = 1 << 20;
constexpr int backlog = 128;

[[noreturn]] void refuse_port(int port, int error) {
  if (error == EADDRINUSE)
    throw SystemError(format("port {} of 127.0.0.1 is taken; choose another one, or none: then a free one is found", port));
  throw SystemError(
      format("port {} of 127.0.0.1 cannot be had: {}; choose another one, or none: then a free one is found", port, std::strerror(error)));
}

int listening_socket(int port) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) throw SystemError(format("no socket can be made: {}", std::strerror(errno)));
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);  // connections of a server that ended don't keep its port
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || listen(listener, backlog) != 0) {
    const int error = errno;
    close(listener);
    refuse_port(port, error);
  }
  return listener;
}

int port_of(int listener) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

// A thread that the process's signals are not handled in.
template <class Work>
std::thread thread_without_signals(Work work) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread thread(std::move(work));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

}  // namespace

// --- one connection ----------------------------------------------------------------------------------------------------------------------

void HttpConnection::enter(Phase phase) {
  const std::lock_guard lock(mutex_);
  phase_ = phase;
}

HttpConnection::Phase HttpConnection::phase() const {
  const std::lock_guard lock(mutex_);
  return phase_;
}

void HttpConnection::shut() {
  const std::lock_guard lock(mutex_);
  if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
}

void HttpConnection::close() {
  const std::lock_guard lock(mutex_);
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
  phase_ = Phase::closed;
}

bool HttpConnection::wait_for(short events, Clock::time_point until) const {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    pollfd wanted{socket_, events, 0};
    const int ready = poll(&wanted, 1, static_cast<int>(std::min<std::int64_t>(left, 60000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

ssize_t HttpConnection::read(char* to, std::size_t size) {
  if (taken_ == buffered_) {
    taken_ = buffered_ = 0;
    ssize_t count;
    do {
      if (allowed_ == 0 || !wait_for(POLLIN, opened_ + patience_)) return -1;
      count = recv(socket_, buffer_, std::min(sizeof buffer_, allowed_), 0);
    } while (count < 0 && (errno == EAGAIN || errno == EINTR));
    if (count <= 0) return count;
    buffered_ = static_cast<std::size_t>(count);
    allowed_ -= buffered_;
  }
  const std::size_t given = std::min(size, buffered_ - taken_);
  std::memcpy(to, buffer_ + taken_, given);
  taken_ += given;
  return static_cast<ssize_t>(given);
}

ssize_t HttpConnection::write(const char* from, std::size_t size) {
  if (write_until_ == Clock::time_point()) write_until_ = Clock::now() + patience_, enter(Phase::answering);
  for (std::size_t sent = 0; sent < size;) {
    if (!wait_for(POLLOUT, write_until_)) return -1;
    const ssize_t count = send(socket_, from + sent, size - sent, MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return -1;
    if (count > 0) sent += static_cast<std::size_t>(count);
  }
  return static_cast<ssize_t>(size);
}

// Closing a socket with something unread in it would take the answer away from a client that still sends.
void HttpConnection::say_goodbye() {
  enter(Phase::leaving);
  ::shutdown(socket_, SHUT_WR);
  const Clock::time_point until = Clock::now() + std::min(grace, patience_);
  for (std::size_t seen = 0; seen < goodbye_bytes_most;) {
    if (!wait_for(POLLIN, until)) break;
    const ssize_t count = recv(socket_, buffer_, sizeof buffer_, 0);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) break;
    if (count > 0) seen += static_cast<std::size_t>(count);
  }
}

// --- all of them -------------------------------------------------------------------------------------------------------------------------

HttpConnections::HttpConnections(int port, std::size_t most, milliseconds patience, Serve serve)
    : most_(most),
      patience_(patience),
      serve_(std::move(serve)),
      listener_(listening_socket(port)),
      wake_(eventfd(0, EFD_CLOEXEC)),
      port_(port_of(listener_)) {
  if (wake_ < 0) {
    const int error = errno;
    close(listener_);
    throw SystemError(format("no event can be made: {}", std::strerror(error)));
  }
}

void HttpConnections::start() {
  acceptor_ = thread_without_signals([this] { accept_all(); });
}

HttpConnections::~HttpConnections() { stop(); }

void HttpConnections::accept_all() {
  for (;;) {
    pollfd wanted[] = {{listener_, POLLIN, 0}, {wake_, POLLIN, 0}};
    if (poll(wanted, 2, -1) < 0) continue;
    if (wanted[1].revents != 0) return;
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket >= 0) {
      const int yes = 1;
      setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);  // an answer's head and body go out at once
      begin(socket);
    } else if (errno != EAGAIN) {
      std::this_thread::sleep_for(milliseconds(10));  // out of descriptors or memory: until some are free again
    }
  }
}

void HttpConnections::begin(int socket) {
  std::unique_lock lock(mutex_);
  join_finished(lock);
  if (!make_room(lock)) {
    close(socket);
    return;
  }
  Client& client = clients_.emplace_back(socket, patience_);
  try {
    client.thread = thread_without_signals([this, &client] {
      serve_(client.connection);
      client.connection.say_goodbye();
      client.connection.close();
      const std::lock_guard end(mutex_);
      client.done = true;
      ended_.notify_all();
    });
  } catch (const std::system_error&) {  // no more threads
    client.connection.close();
    clients_.pop_back();
  }
}

std::size_t HttpConnections::running() const {
  return static_cast<std::size_t>(std::count_if(clients_.begin(), clients_.end(), [](const Client& client) { return !client.done; }));
}

// Threads that are done have nothing left to do but end.
void HttpConnections::join_finished(std::unique_lock<std::mutex>& lock) {
  std::list<Client> finished;
  for (auto client = clients_.begin(); client != clients_.end();) {
    const auto next = std::next(client);
    if (client->done) finished.splice(finished.end(), clients_, client);
    client = next;
  }
  lock.unlock();
  for (Client& client : finished) client.thread.join();
  lock.lock();
}

bool HttpConnections::make_room(std::unique_lock<std::mutex>& lock) {
  if (running() < most_) return true;
  // the list is in the order in which they came
  const auto oldest = std::find_if(clients_.begin(), clients_.end(), [](const Client& client) {
    return !client.done && client.connection.phase() != HttpConnection::Phase::working;
  });
  if (oldest != clients_.end()) oldest->connection.shut();
  return ended_.wait_for(lock, grace, [this] { return running() < most_; });
}

void HttpConnections::shut_all(std::initializer_list<HttpConnection::Phase> phases) {
  for (Client& client : clients_) {
    const HttpConnection::Phase phase = client.connection.phase();
    if (std::find(phases.begin(), phases.end(), phase) != phases.end()) client.connection.shut();
  }
}

void HttpConnections::stop() {
  const std::lock_guard stopping(stop_mutex_);
  if (stopped_) return;
  stopped_ = true;
  const std::uint64_t one = 1;
  while (::write(wake_, &one, sizeof one) < 0 && errno == EINTR) {
  }
  if (acceptor_.joinable()) acceptor_.join();
  close(listener_);
  std::unique_lock lock(mutex_);
  using Phase = HttpConnection::Phase;
  // whoever hasn't asked yet isn't waited for, whoever doesn't take its answer not for long
  shut_all({Phase::asking, Phase::leaving});
  while (!ended_.wait_for(lock, grace, [this] { return running() == 0; })) shut_all({Phase::asking, Phase::answering, Phase::leaving});
  join_finished(lock);
  close(wake_);
}

}  // namespace attend::view
