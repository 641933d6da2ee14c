// The tool as another program: started, fed, listened to, ended.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attend::tests {

// How a program ended, and all that it wrote.
struct Ending {
  int status = -1;  // what it returned; -1 where a signal ended it
  int signal = 0;   // the signal that ended it
  std::string output, errors;
  double seconds = 0;
};

// What a program finds when it starts.
struct Surroundings {
  std::map<std::string, std::string> environment = {};  // added to that of the test
  std::filesystem::path folder = {};                    // where it runs; empty: where the test runs
  std::filesystem::path output = {};                    // a file or device in place of the pipe
  std::optional<std::size_t> largest_file = {};         // no file may grow beyond this (RLIMIT_FSIZE)
};

// `attend ARGUMENTS…` in a process of its own, with pipes for input, output and errors. What still runs at the end of the scope is killed.
// Whatever is waited for longer than `patience` seconds is a failure of the test.
class Program {
 public:
  explicit Program(const std::vector<std::string>& arguments, const Surroundings& surroundings = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t process() const { return process_; }

  void write(std::string_view text);
  void close_input();

  // The next line of its output, without the newline; nothing where it ended without one more.
  std::optional<std::string> read_line();

  void send(int signal);

  // Listens until `happened()`; false where the program ended first.
  bool wait_until(const std::function<bool()>& happened);

  // Closes the input and listens until it ends.
  Ending wait();

  static constexpr double patience = 240;

 private:
  // Takes what has been written; waits for more at most `milliseconds`. False once the program has closed both pipes.
  bool listen(int milliseconds);
  bool is_late();
  void reap(bool may_wait);

  pid_t process_ = -1;
  int input_ = -1, output_ = -1, errors_ = -1;
  std::size_t read_ = 0;  // of ending_.output, by read_line()
  bool reaped_ = false;
  double started_ = 0;
  Ending ending_;
};

// Starts, feeds, waits.
Ending run(const std::vector<std::string>& arguments, std::string_view input = {}, const Surroundings& surroundings = {});

std::vector<std::string> lines_of(std::string_view text);

}  // namespace attend::tests
