// A run that the tool trained once, for all tests that use one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/fixtures/temporary_folder.h"

namespace attend::tests {

// `train RECIPE --out FOLDER` with what a test wants of every training: one thread, since tests share the machine.
std::vector<std::string> train_arguments(const std::filesystem::path& recipe, const std::filesystem::path& out,
                                         const std::vector<std::string>& more = {});

// The run's folder. It is read by several tests: who changes something takes a copy.
const std::filesystem::path& trained_run();
// A copy of it that a test may alter.
std::filesystem::path copy_of_trained_run(const fixtures::TemporaryFolder& folder);

// All files below a folder with their bytes: to see that nothing was lost.
std::vector<std::pair<std::string, std::string>> contents_of(const std::filesystem::path& folder);

}  // namespace attend::tests
