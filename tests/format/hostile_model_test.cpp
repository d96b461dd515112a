// Every hostile file, loaded as `ridge run` would, each in a process of its own with little memory:
// one sentence or a model that works, never a signal, a hang or a leak of control.
#include "gguf_image.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <new>

#include "format/dequantize.hpp"
#include "runtime/model.hpp"
#include "support/random_model.hpp"
#include "text/tokenizer.hpp"
#include "text/vocab.hpp"

namespace ridge {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool limit_memory = false;  // its shadow needs more address space than any limit
#else
constexpr bool limit_memory = true;
#endif
constexpr int hang_ms = 20000;  // no time is asserted: this tells a hang from a busy machine

bool is_printable(const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

// What the program does with a model: everything that reads the file, then three tokens.
std::string use(const std::string& path) {
    const auto file = GgufFile::open(path);
    if (!file) return file.error().message;
    size_t described = 0;
    for (const std::string& key : file->keys()) described += file->describe(key).size();
    const auto vocab = read_vocab(*file);
    if (!vocab) return vocab.error().message;
    const auto tokenizer = Tokenizer::create(*vocab);
    if (!tokenizer) return tokenizer.error().message;
    std::vector<int32_t> ids = tokenizer->encode("Once upon\ta time\xff", true, true);
    ids.resize(3, 0);
    ModelOptions options;
    options.threads = 1;
    options.chunk = 4;
    options.max_logits = 1;
    const auto model = Model::load(path, options);
    if (!model) return model.error().message;
    ContextOptions small;
    small.context = 8;
    const auto context = Context::create(**model, small);
    if (!context) return context.error().message;
    const Status done = (*context)->prefill(0, ids);
    return done ? std::string() : done.error().message;
}

// use() in a child with 512 MiB of address space. What it answered, or how it ended.
std::string use_apart(const std::string& path) {
    int ends[2];
    if (pipe(ends) != 0) return "SIGNAL: no pipe";
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        if (limit_memory) {
            const rlimit limit{512u << 20, 512u << 20};
            setrlimit(RLIMIT_AS, &limit);
        }
        const rlimit no_core{0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        std::string text;
        try {
            text = use(path);
        } catch (const std::bad_alloc&) {  // as the program's main() does
            text = "There is not enough memory for this.";
        }
        const ssize_t n = write(ends[1], text.data(), text.size());
        _exit(n == static_cast<ssize_t>(text.size()) ? 0 : 3);
    }
    close(ends[1]);
    std::string text;
    pollfd wait{ends[0], POLLIN, 0};
    for (char buffer[4096];;) {
        if (poll(&wait, 1, hang_ms) == 0) {
            kill(child, SIGKILL);
            text = "SIGNAL: hangs";
            break;
        }
        const ssize_t n = read(ends[0], buffer, sizeof buffer);
        if (n <= 0) break;
        text.append(buffer, static_cast<size_t>(n));
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) return "SIGNAL: " + std::to_string(WTERMSIG(status));
    if (WEXITSTATUS(status) != 0) return "SIGNAL: exit " + std::to_string(WEXITSTATUS(status));
    return text;
}

class HostileModel : public testing::Test {
  protected:
    void SetUp() override {
        ShapeConfig c = test::smallest_llama("llama");
        llama_ = test::write_model(dir_, c);
        c.name = "gemma";
        c.architecture = "gemma3";
        c.sliding_window = 4;
        c.block_count = 2;
        c.sliding_window_pattern = 2;
        c.type = DType::q5_0;
        gemma_ = test::write_model(dir_, c);
    }
    test::TempDir dir_;
    std::string llama_, gemma_;
};

TEST_F(HostileModel, TakenApartAndPutTogetherIsTheSame) {
    for (const std::string& path : {llama_, gemma_}) {
        EXPECT_EQ(test::GgufImage::read(path).bytes(), test::read_file(path));
        EXPECT_EQ(use_apart(path), "");
    }
}

TEST_F(HostileModel, EachGetsASentenceOrWorks) {
    const auto files =
        test::hostile_files(test::GgufImage::read(llama_), test::GgufImage::read(gemma_));
    EXPECT_GT(files.size(), 400u);
    size_t refused = 0;
    for (const test::HostileFile& f : files) {
        const std::string answer = use_apart(dir_.write("h.gguf", f.bytes));
        if (answer.empty()) {
            EXPECT_FALSE(f.must_fail) << f.name << " was taken for good";
            continue;
        }
        ++refused;
        EXPECT_FALSE(answer.starts_with("SIGNAL")) << f.name << ": " << answer;
        EXPECT_LT(answer.size(), 1000u) << f.name << ": " << answer;
        EXPECT_NE(answer.find(' '), std::string::npos) << f.name << ": " << answer;
        EXPECT_TRUE(is_printable(answer)) << f.name << ": " << answer;
    }
    EXPECT_GT(refused, 300u);
}

// Every byte pattern is a valid weight: NaN, infinite, denormal and negative scales included.
TEST_F(HostileModel, AnyWeightsRun) {
    for (const DType type :
         {DType::f32, DType::f16, DType::bf16, DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1,
          DType::q8_0, DType::q2_k, DType::q3_k, DType::q4_k, DType::q5_k, DType::q6_k,
          DType::iq4_nl, DType::iq4_xs, DType::mxfp4}) {
        ShapeConfig c = test::smallest_llama("any");
        c.embedding_length = c.feed_forward_length = 256;
        c.key_length = 128;
        c.type = type;
        test::GgufImage image = test::GgufImage::read(test::write_model(dir_, c));
        for (const int fill : {0, 0x7f, 0x80, 0xff, -1}) {
            uint32_t state = 12345;
            for (char& byte : image.data) {
                state = state * 1664525u + 1013904223u;
                byte = static_cast<char>(fill >= 0 ? fill : static_cast<int>(state >> 24));
            }
            EXPECT_EQ(use_apart(dir_.write("any.gguf", image.bytes())), "")
                << name(type) << " filled with " << fill;
        }
    }
}

}  // namespace
}  // namespace ridge
