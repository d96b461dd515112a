// Runs the ridge program as users do: arguments in; exit code, both outputs, time and memory out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace ridge::test {

struct CliRun {
    int code = -1;  // exit code; 128 + signal where a signal ended it; -1 where it did not start
    bool timed_out = false;  // ... and was killed
    std::string out, err;
    double seconds = 0;       // wall time
    double cpu_seconds = 0;   // of all threads: does not depend on what else runs
    uint64_t peak_bytes = 0;  // largest resident set
};

struct CliOptions {
    std::string input = {};  // on standard input
    double timeout_s = 60;
    // Called with what arrived on standard output so far (and the process) whenever more does.
    std::function<void(const std::string& out, int pid)> on_output = {};
    // Closes the read end of standard output once it gave so many bytes.
    size_t close_after = SIZE_MAX;
    std::vector<std::pair<std::string, std::string>> environment = {};  // beside the test's own
};

// The built program (macro RIDGE_CLI) with `args`. Its caches and profile are those of an empty
// home: HOME and XDG_CACHE_HOME name a folder that does not exist, unless `environment` says
// otherwise.
CliRun run_cli(const char* program, const std::vector<std::string>& args,
               const CliOptions& options = {});

// Does `err` hold exactly one line that begins with "ridge: "?
bool is_one_complaint(const std::string& err);

}  // namespace ridge::test
