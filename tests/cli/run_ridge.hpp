// Shorthands for tests of verbs: one line of arguments, and what a complaint looks like.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "support/cli.hpp"
#include "support/temp_dir.hpp"

namespace ridge::test {

// `arguments` separated by blanks (temporary paths have none in them).
inline CliRun run_ridge(const std::string& arguments) {
    std::vector<std::string> list;
    std::istringstream in(arguments);
    for (std::string word; in >> word;) list.push_back(word);
    CliOptions options;
    options.timeout_s = 300;  // a bench on a busy machine with sanitizers
    return run_cli(RIDGE_CLI, list, options);
}

// Nothing on standard output, one line "ridge: ..." on standard error that contains `part`.
inline void expect_complaint(const std::string& arguments, const std::string& part) {
    const CliRun r = run_ridge(arguments);
    EXPECT_GT(r.code, 0) << arguments;
    EXPECT_TRUE(is_one_complaint(r.err)) << arguments << "\n" << r.err;
    EXPECT_NE(r.err.find(part), std::string::npos) << arguments << "\n" << r.err;
    EXPECT_EQ(r.out, "") << arguments;
}

}  // namespace ridge::test
