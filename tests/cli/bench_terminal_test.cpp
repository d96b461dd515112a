// ridge bench on a terminal of 60 columns: no line wraps, progress is rewritten and gone in the
// end.
#include <gmock/gmock.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <sstream>

#include "cli/run_ridge.hpp"
#include "support/engine.hpp"

namespace ridge::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// Everything a program writes to a terminal of so many columns, both outputs together.
std::string on_terminal(unsigned short columns, const std::vector<std::string>& arguments) {
    winsize size{};
    size.ws_col = columns;
    size.ws_row = 24;
    std::vector<std::string> words = {RIDGE_CLI};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    int fd = -1;
    const pid_t child = forkpty(&fd, nullptr, nullptr, &size);
    if (child == 0) {
        execv(RIDGE_CLI, argv.data());
        _exit(127);
    }
    EXPECT_GT(child, 0);
    std::string out;
    std::array<char, 4096> buffer;
    for (ssize_t n; (n = read(fd, buffer.data(), buffer.size())) > 0;)
        out.append(buffer.data(), static_cast<size_t>(n));
    int status = 0;
    waitpid(child, &status, 0);
    close(fd);
    EXPECT_EQ(status, 0) << out;
    return out;
}

// The pieces a terminal shows one after the other in a line, without the codes that erase.
std::vector<std::string> pieces(const std::string& text) {
    std::vector<std::string> out(1);
    for (size_t i = 0; i < text.size(); ++i) {
        if (text.compare(i, 3, "\033[K") == 0)
            i += 2;
        else if (text[i] == '\r' || text[i] == '\n')
            out.emplace_back();
        else
            out.back() += text[i];
    }
    return out;
}

TEST(BenchTerminal, NothingIsWiderThanSixtyColumns) {
    TempDir dir;
    const std::string path = write_model(dir, tiny_llama(DType::q4_0));
    const std::string out =
        on_terminal(60, {"bench", path, "-p", "40", "-n", "3", "-b", "1,2", "-r", "2", "-t", "2",
                         "--steps", "--load", "--roof-seconds", "0.01", "--attempts", "1"});
    size_t rewritten = 0;
    for (const std::string& piece : pieces(out)) {
        EXPECT_LE(piece.size(), 60u) << piece;
        rewritten += piece.find(": 1 of 2") != std::string::npos;
    }
    EXPECT_GT(rewritten, 0u) << out;  // progress was shown
    EXPECT_THAT(out, HasSubstr("pp40 "));
    EXPECT_THAT(out, HasSubstr("tg3 x2 "));
    EXPECT_THAT(out, HasSubstr("t/s"));
    EXPECT_THAT(out, HasSubstr("% int8"));
    EXPECT_THAT(out, HasSubstr("% read"));
    EXPECT_THAT(out, HasSubstr("x its bound"));
    EXPECT_THAT(out, HasSubstr("product ffn_gate+up"));
    EXPECT_THAT(out, HasSubstr("weights ready in"));
    EXPECT_THAT(out, Not(HasSubstr("| model")));
}

TEST(BenchTerminal, AWideOneGetsTheTable) {
    TempDir dir;
    const std::string path = write_model(dir, tiny_llama(DType::q4_0));
    const std::string out = on_terminal(
        200, {"bench", path, "-p", "4", "-n", "0", "-r", "1", "-t", "1", "--roof-seconds", "0"});
    EXPECT_THAT(out, HasSubstr("| model "));
}

}  // namespace
}  // namespace ridge::test
