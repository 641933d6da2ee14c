#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "attend/base/error.h"

namespace attend::cli {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

[[noreturn]] void refuse_output() { throw SystemError(format("standard output cannot be written: {}", std::strerror(errno))); }

}  // namespace

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) refuse_output();
}

void flush_output() {
  if (std::fflush(stdout) != 0) refuse_output();
}

void warn(std::string_view message) { std::fprintf(stderr, "attend: %.*s\n", static_cast<int>(message.size()), message.data()); }

bool output_is_terminal() { return isatty(STDOUT_FILENO) == 1; }

int terminal_width() {
  winsize size{};
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO})
    if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

ProgressLine::ProgressLine() : on_terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() { clear(); }

bool ProgressLine::is_due() const { return on_terminal_ && now() - drawn_at_ >= 0.1; }

void ProgressLine::show(double share, std::string_view text) {
  if (!is_due()) return;
  constexpr int bar_width = 24;
  const int filled = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * bar_width));
  std::string line = "[" + std::string(static_cast<std::size_t>(filled), '#') + std::string(static_cast<std::size_t>(bar_width - filled), '.') + "] ";
  line += text;
  line.resize(std::min(line.size(), static_cast<std::size_t>(std::max(terminal_width() - 1, 10))));
  std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
  std::fflush(stderr);
  drawn_ = true;
  drawn_at_ = now();
}

void ProgressLine::clear() {
  if (drawn_) std::fputs("\r\x1b[K", stderr), std::fflush(stderr);
  drawn_ = false;
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<long>(std::lround(std::max(seconds, 0.0)));
  if (whole >= 3600) return format("{} h {:02d} m", whole / 3600, whole / 60 % 60);
  if (whole >= 60) return format("{} m {:02d} s", whole / 60, whole % 60);
  return format("{} s", whole);
}

}  // namespace attend::cli
