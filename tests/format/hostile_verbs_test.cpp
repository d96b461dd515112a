// Hostile files through the real program: every verb that opens one answers with one sentence and
// an exit code, or does its work; what it refuses leaves nothing where the output would be.
// The test takes some files of each class; RIDGE_HOSTILE=all takes every file (four minutes).
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "hostile_files.hpp"
#include "support/cli.hpp"
#include "support/parts.hpp"
#include "support/random_model.hpp"
#include "support/sanitized.hpp"

namespace ridge {
namespace {

namespace fs = std::filesystem;
using test::Outcome;

// Under the address sanitizer ./dev's max_allocation_size_mb is the limit.
constexpr const char* limit = test::address_sanitized ? "" : "ulimit -v 524288; ";
constexpr size_t files_of_a_class = test::address_sanitized ? 1 : 4;
// twice a load, at ten times what it may take
constexpr double most_cpu_s = test::instrumented ? 20 : 2;

bool take_all() {
    const char* asked = std::getenv("RIDGE_HOSTILE");
    return asked != nullptr && std::string_view(asked) == "all";
}

class HostileVerbs : public testing::Test {
  protected:
    struct Verb {
        const char* name;
        std::vector<std::string> arguments;
        bool whole_model = true;  // computes with it, so that what `run` refuses it must refuse
        bool writes = false;      // out()
        const char* input = "";
    };

    std::string out() const { return dir_.file("out"); }

    // Runs the program on something hostile; `name` says on what.
    void run(const Verb& verb, const std::string& name, Outcome outcome) {
        std::vector<std::string> arguments = {"-c", std::string(limit) + "exec \"$0\" \"$@\"",
                                              RIDGE_CLI};
        arguments.insert(arguments.end(), verb.arguments.begin(), verb.arguments.end());
        test::CliOptions options;
        options.timeout_s = 120;
        options.input = verb.input;
        const test::CliRun r = test::run_cli("/bin/sh", arguments, options);
        const std::string what = fmt::format("{} of {}: {}, {}", verb.name, name, r.code, r.err);
        ++runs_;
        if (r.cpu_seconds > slowest_) {
            slowest_ = r.cpu_seconds;
            slowest_name_ = fmt::format("{} of {}", verb.name, name);
        }
        EXPECT_FALSE(r.timed_out) << what;
        EXPECT_LT(r.cpu_seconds, most_cpu_s) << what;
        EXPECT_TRUE(r.code == 0 || r.code == 1) << what;
        for (const char c : r.err) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << what;
        if (r.code == 0) {
            EXPECT_FALSE(outcome == Outcome::refused && verb.whole_model) << what;
            EXPECT_EQ(fs::exists(out()), verb.writes) << what;
        } else {
            ++refused_;
            EXPECT_NE(outcome, Outcome::works) << what;
            EXPECT_TRUE(test::is_one_complaint(r.err)) << what;
            EXPECT_LT(r.err.size(), 1000u) << what;
            EXPECT_EQ(r.out, "") << what;
            EXPECT_FALSE(fs::exists(out())) << what;
        }
        EXPECT_FALSE(test::part_is_left(out())) << what;
        fs::remove(out());
    }

    // The hostile files that this run takes: spread over each class.
    static std::vector<test::HostileFile> some(std::vector<test::HostileFile> all) {
        if (take_all()) return all;
        std::vector<test::HostileFile> few;
        for (int number = 1; number <= 9; ++number) {
            std::vector<test::HostileFile> own;
            for (auto& f : all)
                if (f.number == number) own.push_back(std::move(f));
            for (size_t i = 0; i < files_of_a_class; ++i)
                few.push_back(own[(2 * i + 1) * own.size() / (2 * files_of_a_class)]);
        }
        return few;
    }

    void report() const {
        fmt::print("{} runs, {} refused; the slowest took {:.0f} ms of CPU: {}\n", runs_, refused_,
                   slowest_ * 1e3, slowest_name_);
    }

    test::TempDir dir_;
    size_t runs_ = 0, refused_ = 0;
    double slowest_ = 0;
    std::string slowest_name_;
};

TEST_F(HostileVerbs, EachRefusesOrWorks) {
    const std::string text = dir_.write("text.txt", "Once upon a time there was a file.");
    for (const test::HostileFile& f : some(test::hostile_files(test::hostile_bases(dir_)))) {
        const test::TempDir apart;
        const std::string path = f.write(apart);
        const Outcome outcome = f.outcome;
        // what a conversation refuses, other verbs need not
        const bool talk = f.number == 6;
        const std::string name = fmt::format("class {}, {}", f.number, f.name);
        const Verb verbs[] = {
            {"run", {"run", path, "-p", "Once", "-n", "2", "-t", "1"}, !talk},
            {"run --chat", {"run", path, "--chat", "-p", "Once", "-n", "2", "-t", "1"}, talk},
            {"inspect", {"inspect", path, "--tensors", "--steps"}, false},
            {"tokenize", {"tokenize", path, "-p", "Once upon"}, false},
            {"quantize",
             {"quantize", path, out(), "Q4_0", "--allow-requantize", "-t", "1"},
             false,
             true},
            {"perplexity", {"perplexity", path, text, "--window", "8", "-t", "1"}, !talk},
            {"bench",
             {"bench", path, "-p", "4", "-n", "2", "-r", "1", "--roof-seconds", "0", "-t", "1"},
             !talk},
            {"embed", {"embed", path, "-p", "Once", "-t", "1"}, !talk},
            {"chat", {"chat", path, "-n", "2", "-t", "1"}, talk, false, "Hello\n"},
            {"export", {"export", path, "-o", out()}, false, true},
            {"convert", {"convert", path, out()}, false, true}};
        for (const Verb& verb : verbs) {
            Outcome expected = outcome;
            const std::string_view which = verb.name;
            // most of these are no model that talks, none one that a board runs, none a folder
            if (which == "export" || which == "convert" || which == "quantize" ||
                (!talk && (which == "chat" || which == "run --chat")))
                expected = Outcome::either;
            // bench makes its own ids; a measure may refuse logits that are no numbers
            if (which == "bench" && (f.number == 5 || f.name.starts_with("tokenizer.")))
                expected = Outcome::either;
            if (which == "perplexity" && f.number == 9) expected = Outcome::either;
            run(verb, name, expected);
        }
    }
    EXPECT_GT(refused_, runs_ / 3);
    report();
}

// The table of embeddings is read through the mapping while a model runs.
TEST_F(HostileVerbs, AFileThatShrinksWhileItRunsEndsInASentence) {
    ShapeConfig c = test::smallest_llama("m");
    c.tied = false;
    c.context_length = 1 << 20;
    const std::string path = test::write_model(dir_, c);
    test::CliOptions options;
    options.on_output = [&](const std::string&, int) { EXPECT_EQ(truncate(path.c_str(), 0), 0); };
    const test::CliRun r = test::run_cli(
        RIDGE_CLI,
        {"run", path, "-p", "Once", "-n", "500000", "-c", "500000", "--ignore-eos", "-t", "1"},
        options);
    EXPECT_EQ(r.code, 1) << r.err;
    EXPECT_TRUE(test::is_one_complaint(r.err)) << r.err;
    EXPECT_NE(r.err.find("became shorter"), std::string::npos) << r.err;
}

// A folder of transformers with one file replaced.
TEST_F(HostileVerbs, ConvertRefusesOrWorks) {
    const fs::path good = fs::path(RIDGE_TEST_DATA) / "hf" / "qwen3";
    const std::string tensors = test::read_file(good / "model.safetensors");
    const std::string config = test::read_file(good / "config.json");
    const std::string tokenizer = test::read_file(good / "tokenizer.json");
    const auto safe = [](const std::string& header, uint64_t length) {
        return test::Bytes().put(length).raw(header).zeros(64).text();
    };
    const auto entry = [&](const std::string& text) {
        const std::string header = "{\"model.norm.weight\":" + text + "}";
        return safe(header, header.size());
    };
    const auto repeated = [](const std::string& text, size_t n) {
        std::string all;
        while (n-- > 0) all += text;
        return all;
    };
    const auto replaced = [](std::string text, const std::string& from, const std::string& to) {
        const size_t at = text.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        return at == std::string::npos ? text : text.replace(at, from.size(), to);
    };
    struct Change {
        std::string name, file, bytes;
    };
    std::vector<Change> changes;
    const auto add = [&](const std::string& name, const char* file, const std::string& bytes) {
        changes.push_back({name, file, bytes});
    };
    uint64_t header_length = 0;
    std::memcpy(&header_length, tensors.data(), 8);
    for (const size_t n :
         {size_t{0}, size_t{1}, size_t{7}, size_t{8}, size_t{9}, header_length, header_length + 7,
          header_length + 8, header_length + 9, size_t{4096}, tensors.size() - 1})
        add(fmt::format("cut at {}", n), "model.safetensors", tensors.substr(0, n));
    for (const uint64_t n : test::hostile_limits)
        add(fmt::format("header of {}", n), "model.safetensors", safe("{}", n));
    for (const uint64_t n : test::hostile_limits) {
        add(fmt::format("shape of {}", n), "model.safetensors",
            entry(fmt::format(R"({{"dtype":"F32","shape":[{}],"data_offsets":[0,4]}})", n)));
        add(fmt::format("offset of {}", n), "model.safetensors",
            entry(fmt::format(R"({{"dtype":"F32","shape":[1],"data_offsets":[{},{}]}})", n, n)));
    }
    add("unknown type", "model.safetensors",
        entry(R"({"dtype":"F33","shape":[1],"data_offsets":[0,4]})"));
    add("overlapping", "model.safetensors",
        entry(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32",)"
              R"("shape":[1],"data_offsets":[2,6]})"));
    const std::string deep = repeated("[", 100000), keys = repeated("{\"a\":", 100000);
    for (const char* file : {"config.json", "tokenizer.json", "model.safetensors"}) {
        const bool weights = std::string_view(file) == "model.safetensors";
        for (const std::string& text :
             {std::string(), std::string("[]"), std::string("1"), std::string("{"),
              std::string("{}"), deep, keys, "{\"a\":" + deep, std::string("\xff\xfe"),
              std::string(1 << 20, ' ')})
            add(fmt::format("'{}' of {}", text.substr(0, 4) == "\xff\xfe" ? "" : text.substr(0, 4),
                            text.size()),
                file, weights ? safe(text, text.size()) : text);
        if (!weights)
            for (size_t n = 1; n < 8; ++n) {
                const std::string& whole =
                    std::string_view(file) == "config.json" ? config : tokenizer;
                add(fmt::format("{} eighths", n), file, whole.substr(0, whole.size() * n / 8));
            }
    }
    for (const char* key :
         {"hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
          "intermediate_size", "head_dim", "vocab_size", "rms_norm_eps", "rope_theta"})
        for (const char* value : {"0", "-1", "1e30", "4294967295", "18446744073709551615", "null",
                                  "\"x\"", "[1]", "1e999"}) {
            const size_t at = config.find(fmt::format("\"{}\":", key));
            ASSERT_NE(at, std::string::npos) << key;
            const size_t end = config.find_first_of(",\n}", at);
            std::string text = config;
            text.replace(at, end - at, fmt::format("\"{}\": {}", key, value));
            add(fmt::format("{} {}", key, value), "config.json", text);
        }
    add("another architecture", "config.json", replaced(config, "Qwen3ForCausalLM", "\\u001b[31m"));
    size_t number = 0;
    for (const Change& c : changes) {
        if (!take_all() && number++ % (files_of_a_class == 1 ? 16 : 4) != 0) continue;
        const test::TempDir folder;
        for (const auto& e : fs::directory_iterator(good))
            fs::copy(e.path(), fs::path(folder.path()) / e.path().filename());
        folder.write(c.file, c.bytes);
        run({"convert", {"convert", folder.path(), out(), "-t", "1"}, false, true},
            c.file + " " + c.name, Outcome::either);
    }
    run({"convert", {"convert", good.string(), out(), "-t", "1"}, false, true}, "the whole folder",
        Outcome::works);
    EXPECT_GT(refused_, runs_ / 2);
    report();
}

}  // namespace
}  // namespace ridge
