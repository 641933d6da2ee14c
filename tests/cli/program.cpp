#include "tests/cli/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <stdexcept>

namespace attend::tests {
namespace {

double seconds_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe can be made");
    from = ends[0], to = ends[1];
  }
  int from, to;
};

void close_once(int& descriptor) {
  if (descriptor >= 0) close(descriptor);
  descriptor = -1;
}

// Appends what can be read now; closes at the end.
void take(int& descriptor, std::string& text) {
  std::array<char, 65536> chunk;
  const ssize_t count = read(descriptor, chunk.data(), chunk.size());
  if (count > 0)
    text.append(chunk.data(), static_cast<std::size_t>(count));
  else if (count == 0 || errno != EINTR)
    close_once(descriptor);
}

}  // namespace

Program::Program(const std::vector<std::string>& arguments, const Surroundings& surroundings) : started_(seconds_now()) {
  signal(SIGPIPE, SIG_IGN);  // a program that ends before it has read all is for the test to judge
  std::vector<std::string> words = {ATTEND_TOOL};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> values;
  for (std::string& word : words) values.push_back(word.data());
  values.push_back(nullptr);
  Pipe input, output, errors;
  process_ = fork();
  if (process_ == 0) {
    signal(SIGPIPE, SIG_DFL);
    for (const auto& [name, value] : surroundings.environment) setenv(name.c_str(), value.c_str(), 1);
    if (!surroundings.folder.empty() && chdir(surroundings.folder.c_str()) != 0) _exit(126);
    if (surroundings.largest_file) {
      const rlimit limit{*surroundings.largest_file, *surroundings.largest_file};
      setrlimit(RLIMIT_FSIZE, &limit);
    }
    const int target = surroundings.output.empty() ? output.to : open(surroundings.output.c_str(), O_WRONLY | O_CREAT, 0666);
    dup2(input.from, STDIN_FILENO), dup2(target, STDOUT_FILENO), dup2(errors.to, STDERR_FILENO);
    execv(values[0], values.data());
    _exit(127);
  }
  close(input.from), close(output.to), close(errors.to);
  input_ = input.to, output_ = output.from, errors_ = errors.from;
  if (process_ < 0) throw std::runtime_error("no process can be started");
}

Program::~Program() {
  close_once(input_);
  if (!reaped_) kill(process_, SIGKILL), reap(/*may_wait=*/true);
  close_once(output_), close_once(errors_);
}

void Program::write(std::string_view text) {
  // both ways at once: a program that answers what it reads must not wait for us while we wait for it
  fcntl(input_, F_SETFL, O_NONBLOCK);
  while (!text.empty() && input_ >= 0 && !is_late()) {
    const ssize_t count = ::write(input_, text.data(), text.size());
    if (count > 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      listen(10);
    } else if (errno != EINTR) {
      close_once(input_);
    }
  }
}

void Program::close_input() { close_once(input_); }

std::optional<std::string> Program::read_line() {
  std::size_t end;
  while ((end = ending_.output.find('\n', read_)) == std::string::npos)
    if (is_late() || !listen(1000)) return std::nullopt;
  std::string line = ending_.output.substr(read_, end - read_);
  read_ = end + 1;
  return line;
}

void Program::send(int signal) { kill(process_, signal); }

bool Program::wait_until(const std::function<bool()>& happened) {
  while (!happened()) {
    if (reaped_ || is_late()) return false;
    listen(1);
    reap(/*may_wait=*/false);
  }
  return true;
}

Ending Program::wait() {
  close_input();
  while (!is_late() && listen(1000)) {
  }
  reap(/*may_wait=*/true);
  return ending_;
}

bool Program::listen(int milliseconds) {
  pollfd wanted[] = {{output_, POLLIN, 0}, {errors_, POLLIN, 0}};  // closed ones are -1, which poll() passes over
  if (output_ < 0 && errors_ < 0) return false;
  if (poll(wanted, 2, milliseconds) > 0) {
    if (wanted[0].revents != 0) take(output_, ending_.output);
    if (wanted[1].revents != 0) take(errors_, ending_.errors);
  }
  return true;
}

bool Program::is_late() {
  if (seconds_now() - started_ < patience) return false;
  ADD_FAILURE() << "attend was still running after " << patience << " s; it had written:\n" << ending_.output << ending_.errors;
  kill(process_, SIGKILL);
  return true;
}

void Program::reap(bool may_wait) {
  if (reaped_) return;
  int status = 0;
  pid_t found;
  do found = waitpid(process_, &status, may_wait ? 0 : WNOHANG);
  while (found < 0 && errno == EINTR);
  if (found != process_) return;
  reaped_ = true;
  ending_.seconds = seconds_now() - started_;
  if (WIFEXITED(status)) ending_.status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ending_.signal = WTERMSIG(status);
}

Ending run(const std::vector<std::string>& arguments, std::string_view input, const Surroundings& surroundings) {
  Program program(arguments, surroundings);
  program.write(input);
  return program.wait();
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace attend::tests
