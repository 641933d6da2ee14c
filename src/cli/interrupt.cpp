#include "cli/interrupt.h"

#include <csignal>
#include <cstdlib>

namespace attend::cli {
namespace {

volatile std::sig_atomic_t noted_signal = 0;

extern "C" void note_signal(int signal) {
  if (noted_signal != 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  noted_signal = signal;
}

}  // namespace

InterruptScope::InterruptScope() {
  std::signal(SIGINT, note_signal);
  std::signal(SIGTERM, note_signal);
}

InterruptScope::~InterruptScope() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool is_interrupted() { return noted_signal != 0; }

void forget_interrupt() { noted_signal = 0; }

void end_by_signal() {
  std::signal(noted_signal, SIG_DFL);
  std::raise(noted_signal);
  std::_Exit(128 + noted_signal);
}

}  // namespace attend::cli
