// Every hostile file, loaded as `ridge run` would, each in a process of its own with little memory:
// one sentence or a model that works, never a signal, a hang or a leak of control.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <new>

#include "format/dequantize.hpp"
#include "hostile_files.hpp"
#include "runtime/model.hpp"
#include "support/random_model.hpp"
#include "support/sanitized.hpp"
#include "text/chat.hpp"
#include "text/tokenizer.hpp"
#include "text/vocab.hpp"

namespace ridge {
namespace {

using test::Outcome;

// The address sanitizer's shadow needs more address space than any limit: ./dev sets
// max_allocation_size_mb=256, so that asking for more ends the child.
constexpr bool limit_memory = !test::address_sanitized;
// ten times what each may take on a quiet machine
constexpr double most_cpu_s = test::instrumented ? 10 : 1;
constexpr int hang_ms = 60000;  // of waiting: a busy machine is no fault

bool is_printable(const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

// What the program does with a model: everything that reads the file, a conversation where it has
// a template for one, then three tokens.
std::string use(const std::string& path) {
    const auto file = GgufFile::open(path);
    if (!file) return file.error().message;
    for (const std::string& key : file->keys()) (void)file->describe(key);
    const auto vocab = read_vocab(*file);
    if (!vocab) return vocab.error().message;
    const auto tokenizer = Tokenizer::create(*vocab);
    if (!tokenizer) return tokenizer.error().message;
    std::vector<int32_t> ids = tokenizer->encode("Once upon\ta time\xff", true, true);
    if (!tokenizer->chat_template().empty()) {
        const auto prompt = ChatPrompt::create(*tokenizer);
        if (!prompt) return prompt.error().message;
        TemplateInput input;
        input.messages = {{{"role", "user"}, {"content", "Hello"}}};
        auto talk = prompt->encode(std::move(input));
        if (!talk) return talk.error().message;
        ids = std::move(*talk);
    }
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

struct Apart {
    std::string answer;  // "SIGNAL ..." where the child did not end by itself
    double cpu_s = 0;
};

// `act` in a child with 512 MiB of address space.
Apart apart(const std::function<std::string()>& act) {
    int ends[2];
    if (pipe(ends) != 0) return {"SIGNAL: no pipe"};
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
            text = act();
        } catch (const std::bad_alloc&) {  // as the program's main() does
            text = "There is not enough memory for this.";
        }
        const ssize_t n = write(ends[1], text.data(), text.size());
        _exit(n == static_cast<ssize_t>(text.size()) ? 0 : 3);
    }
    close(ends[1]);
    Apart out;
    pollfd wait{ends[0], POLLIN, 0};
    for (char buffer[4096];;) {
        if (poll(&wait, 1, hang_ms) == 0) {
            kill(child, SIGKILL);
            out.answer = "SIGNAL: hangs";
            break;
        }
        const ssize_t n = read(ends[0], buffer, sizeof buffer);
        if (n <= 0) break;
        out.answer.append(buffer, static_cast<size_t>(n));
    }
    close(ends[0]);
    int status = 0;
    rusage usage{};
    wait4(child, &status, 0, &usage);
    if (WIFSIGNALED(status))
        out.answer = fmt::format("SIGNAL: {} {}", WTERMSIG(status), out.answer);
    else if (WEXITSTATUS(status) != 0)
        out.answer = fmt::format("SIGNAL: exit {}", WEXITSTATUS(status));
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    out.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    return out;
}

std::string use_apart(const std::string& path) {
    return apart([&] { return use(path); }).answer;
}

class HostileModel : public testing::Test {
  protected:
    test::TempDir dir_;
};

TEST_F(HostileModel, TakenApartAndPutTogetherIsTheSame) {
    const test::HostileBases bases = test::hostile_bases(dir_);
    EXPECT_EQ(bases.size(), 6u);
    for (const auto& [architecture, image] : bases) {
        const std::string path = dir_.file(architecture + ".gguf");
        EXPECT_EQ(image.bytes(), test::read_file(path));
        EXPECT_EQ(use_apart(path), "") << architecture;
    }
}

TEST_F(HostileModel, EachGetsASentenceOrWorks) {
    const auto files = test::hostile_files(test::hostile_bases(dir_));
    std::array<int, 10> of_class{};
    size_t refused = 0;
    double slowest = 0;
    std::string slowest_name;
    for (const test::HostileFile& f : files) {
        ++of_class.at(static_cast<size_t>(f.number));
        const test::TempDir apart_dir;
        const std::string path = f.write(apart_dir);
        auto [answer, cpu_s] = apart([&] { return use(path); });
        // a template's own words: the program shows control characters as \\xNN (complain())
        if (f.number == 6) std::replace(answer.begin(), answer.end(), '\x1b', '?');
        const std::string what = fmt::format("class {}, {}: {}", f.number, f.name, answer);
        if (cpu_s > slowest) {
            slowest = cpu_s;
            slowest_name = f.name;
        }
        EXPECT_LT(cpu_s, most_cpu_s) << what;
        EXPECT_FALSE(answer.starts_with("SIGNAL")) << what;
        if (answer.empty()) {
            EXPECT_NE(f.outcome, Outcome::refused) << what << "was taken for good";
            continue;
        }
        ++refused;
        EXPECT_NE(f.outcome, Outcome::works) << what;
        EXPECT_LT(answer.size(), 1000u) << what;
        EXPECT_NE(answer.find(' '), std::string::npos) << what;
        EXPECT_TRUE(is_printable(answer)) << what;
    }
    for (size_t number = 1; number <= 9; ++number) EXPECT_GE(of_class.at(number), 7) << number;
    EXPECT_GT(refused, 1000u);
    fmt::print("{} files, {} refused; the slowest took {:.0f} ms of CPU: {}\n", files.size(),
               refused, slowest * 1e3, slowest_name);
}

// A file that another process shortens: what is copied from it ends in a sentence
// (MappedFile::read); the program turns the kernel's signal for the rest into one
// (src/cli/main.cpp).
TEST_F(HostileModel, AFileThatShrinksWhileItIsRead) {
    const std::string path = test::write_model(dir_, test::smallest_llama("m"));
    const auto answer = apart([&]() -> std::string {
        const auto file = GgufFile::open(path);
        if (!file) return file.error().message;
        if (truncate(path.c_str(), 100) != 0) return "cannot shorten it";
        const TensorInfo& t = file->tensors()[0];
        std::vector<uint8_t> bytes(t.bytes);
        const Status read = file->read(t.data, t.bytes, bytes.data());
        return read ? "" : read.error().message;
    });
    EXPECT_NE(answer.answer.find("has become shorter"), std::string::npos) << answer.answer;
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
