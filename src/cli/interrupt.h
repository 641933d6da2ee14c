// Ctrl-C and SIGTERM: noticed, so that work is saved first.
#pragma once

namespace attend::cli {

// While one lives, the first SIGINT or SIGTERM is only noted; a second one ends the process at once.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
};

// Whether a signal was noted.
bool is_interrupted();
// Forgets it: for commands that run until they are interrupted, and have then done what they should.
void forget_interrupt();
// Ends the process by the signal that was noted, as if it had not been caught, so that the caller sees how it ended.
[[noreturn]] void end_by_signal();

}  // namespace attend::cli
