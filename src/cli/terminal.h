// What the tool writes: lines to standard output, progress to a terminal, messages to standard error.
#pragma once

#include <string>
#include <string_view>

namespace attend::cli {

// Writes to standard output. SystemError where that fails (a full disk behind a pipe), at the latest in flush_output().
void print(std::string_view text);
void flush_output();

// A message to standard error, "attend: …", on a line of its own.
void warn(std::string_view message);

bool output_is_terminal();
// Columns of the terminal; 80 where there is none.
int terminal_width();

// One line on standard error that is drawn over itself. On a terminal only: in a pipe it writes nothing.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Whether a call of show() would draw: the terminal is redrawn at most ten times a second.
  bool is_due() const;
  // A bar for `share` (0 to 1) and the text behind it.
  void show(double share, std::string_view text);
  void clear();

 private:
  bool on_terminal_;
  bool drawn_ = false;
  double drawn_at_ = -1;
};

// "2 m 05 s"
std::string duration_text(double seconds);

}  // namespace attend::cli
