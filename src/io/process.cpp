#include "attend/io/process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "attend/base/error.h"

namespace attend::io {
namespace {

constexpr std::size_t kept_output = std::size_t{64} * 1024;

// Only calls that are safe between fork and exec.
[[noreturn]] void become(const std::vector<char*>& arguments, const char* folder, int output, int failure) {
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0 &&
      chdir(folder) == 0)
    execvp(arguments[0], arguments.data());
  const int error = errno;
  [[maybe_unused]] const auto written = write(failure, &error, sizeof error);
  _exit(127);
}

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > 2 * kept_output) text.erase(0, text.size() - kept_output);
  }
  return text.size() > kept_output ? text.substr(text.size() - kept_output) : text;
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments, const std::filesystem::path& folder) {
  if (arguments.empty()) throw InvalidArgument("attend::io::run_process: expected a program, got no arguments");
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  const auto refuse = [&](int error) {
    throw SystemError(format("{}: cannot be started in {}: {}", arguments[0], folder.string(), std::strerror(error)));
  };
  int output[2], failure[2];
  if (pipe2(output, O_CLOEXEC) != 0) refuse(errno);
  if (pipe2(failure, O_CLOEXEC) != 0) {
    const int error = errno;
    close(output[0]), close(output[1]);
    refuse(error);
  }
  const pid_t child = fork();
  if (child == 0) become(pointers, folder.c_str(), output[1], failure[1]);
  const int fork_error = errno;
  close(output[1]), close(failure[1]);
  ProcessResult result;
  int start_error = child < 0 ? fork_error : 0;
  if (child > 0) {
    result.output = read_all(output[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (read(failure[0], &start_error, sizeof start_error) != sizeof start_error) start_error = 0;
  }
  close(output[0]), close(failure[0]);
  if (start_error != 0) refuse(start_error);
  return result;
}

}  // namespace attend::io
