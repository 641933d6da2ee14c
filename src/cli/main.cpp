// The launcher: parses the line and opens the module with the commands only when one is to run, since libtorch takes half a second to
// load.
#include <dlfcn.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/blas.h"

namespace {

// The build tree is laid out as the installed one: one path from the tool to the libraries holds in both.
std::filesystem::path commands_module() {
  const std::filesystem::path tool = std::filesystem::read_symlink("/proc/self/exe");
  return (tool.parent_path() / ATTEND_LIBRARIES_FROM_TOOL / "attend/attend_commands.so").lexically_normal();
}

int run(const attend::cli::Arguments& arguments) {
  const std::filesystem::path file = commands_module();
  if (!std::filesystem::exists(file)) {
    std::fprintf(stderr, "attend: %s is missing; install attend again\n", file.c_str());
    return attend::cli::failed;
  }
  void* module = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr) {
    std::fprintf(stderr, "attend: %s cannot be opened: %s\n", file.c_str(), dlerror());
    return attend::cli::failed;
  }
  using Entry = int (*)(const attend::cli::Arguments*);
  const auto entry = reinterpret_cast<Entry>(dlsym(module, "attend_run_command"));
  if (entry == nullptr) {
    std::fprintf(stderr, "attend: %s is not of this version; install attend again\n", file.c_str());
    return attend::cli::failed;
  }
  return entry(&arguments);
}

}  // namespace

int main(int count, char** values) {
  try {
    attend::cli::restart_with_widest_kernels(values);
    attend::cli::Arguments arguments;
    int status = attend::cli::done;
    if (!attend::cli::parse(count, values, arguments, status)) return status;
    return run(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "attend: %s\n", error.what());
    return attend::cli::failed;
  }
}
