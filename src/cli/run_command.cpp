// The entry of the module with the commands.
#include <malloc.h>
#include <sched.h>

#include <csignal>
#include <exception>
#include <variant>

#include "attend/base/api.h"
#include "attend/core/libtorch.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"

namespace attend::cli {
namespace {

// libtorch takes half of the cores on x86 unless told.
void set_threads(std::int64_t wanted) {
  cpu_set_t set;
  const int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  at::set_num_threads(wanted > 0 ? static_cast<int>(wanted) : cores);
}

// The tensors of one training step are the size of those of the step before: memory is kept instead of given back to the system and
// faulted in again, page by page.
void keep_memory() {
  mallopt(M_MMAP_THRESHOLD, 512 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

int run_command(const Arguments& arguments) {
  try {
    std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error with a message, as a full disk is
    set_threads(arguments.threads);
    // what is timed is what other programs get: with the C library's own settings
    if (!std::holds_alternative<BenchArguments>(arguments.command)) keep_memory();
    std::visit([](const auto& command) { run(command); }, arguments.command);
    flush_output();
    if (is_interrupted()) end_by_signal();
    return done;
  } catch (const c10::Error& error) {
    std::fflush(stdout);
    warn(std::string("libtorch refused: ") + error.what_without_backtrace());
  } catch (const WrongCall& error) {
    warn(error.what());
    return wrong_call;
  } catch (const std::exception& error) {
    std::fflush(stdout);  // answers before an error are answers
    warn(error.what());
    if (is_interrupted()) end_by_signal();
  }
  return failed;
}

}  // namespace
}  // namespace attend::cli

extern "C" ATTEND_API int attend_run_command(const attend::cli::Arguments* arguments) { return attend::cli::run_command(*arguments); }
