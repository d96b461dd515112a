// Folders that transformers saved (tests/data/hf): converted, they compute transformers' logits and
// tokenize as its tokenizers do; damaged ones are refused and leave nothing.
#include "format/convert.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "format/convert_vocab.hpp"
#include "runtime/model.hpp"
#include "support/engine.hpp"
#include "support/parts.hpp"
#include "support/temp_dir.hpp"
#include "support/worst_difference.hpp"
#include "text/tokenizer.hpp"
#include "text/vocab.hpp"

namespace ridge {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

const std::string folders = std::string(RIDGE_TEST_DATA) + "/hf/";

json expected(const std::string& name) {
    return json::parse(test::read_file(folders + name + ".json"));
}

class Convert : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        ConvertOptions options;
        options.threads = 2;
        const auto report = convert_folder(folders + GetParam(), out_, options);
        ASSERT_TRUE(report) << report.error().message;
        report_ = *report;
    }
    test::TempDir dir_;
    std::string out_ = dir_.file("out.gguf");
    ConvertReport report_;
};

TEST_P(Convert, LogitsAreThoseOfTransformers) {
    const json want = expected(GetParam());
    ModelOptions options;
    options.f32_activations = true;
    options.kv = KvType::f32;
    options.threads = 1;
    options.vocabulary = false;
    const auto model = Model::load(out_, options);
    ASSERT_TRUE(model) << model.error().message;
    const auto tokens = want.at("tokens").get<std::vector<int32_t>>();
    const std::string bytes = test::read_file(folders + GetParam() + ".f32");
    std::vector<float> logits(bytes.size() / sizeof(float));
    std::memcpy(logits.data(), bytes.data(), bytes.size());
    ContextOptions context_options;
    context_options.context = static_cast<uint32_t>(tokens.size());
    const auto context = Context::create(**model, context_options);
    ASSERT_TRUE(context) << context.error().message;
    const std::vector<float> got = test::all_logits(**context, tokens, 64);
    ASSERT_EQ(got.size(), logits.size());
    const test::WorstDifference worst(got, logits);
    EXPECT_LE(worst.value(), 1e-4 * worst.largest());  // as tests/runtime/golden_test.cpp
}

TEST_P(Convert, IdsAreThoseOfTheFoldersTokenizer) {
    const auto file = GgufFile::open(out_);
    ASSERT_TRUE(file);
    const auto vocab = read_vocab(*file);
    ASSERT_TRUE(vocab) << vocab.error().message;
    const auto tokenizer = Tokenizer::create(*vocab);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    const json want = expected(GetParam());
    for (const json& t : want.at("texts")) {
        const auto text = t.at("text").get<std::string>();
        const auto ids = t.at("ids").get<std::vector<int32_t>>();
        if (text.empty() && vocab->model == "llama") continue;  // a lone U+2581 there, none here
        EXPECT_EQ(tokenizer->encode(text, true, false), ids) << text;
    }
}

TEST_P(Convert, TypesFollowTheFolderOrTheWish) {
    const auto as_it_is = GgufFile::open(out_);
    ASSERT_TRUE(as_it_is);
    for (const char* type : {"F32", "Q8_0"}) {
        ConvertOptions options;
        options.type = type;
        const auto report = convert_folder(folders + GetParam(), dir_.file("as.gguf"), options);
        ASSERT_TRUE(report) << report.error().message;
        const auto file = GgufFile::open(dir_.file("as.gguf"));
        ASSERT_TRUE(file);
        ASSERT_EQ(file->tensors().size(), as_it_is->tensors().size());
        for (const TensorInfo& t : file->tensors()) {
            // of the tiny models' rows, those of 48 are no whole blocks of Q8_0
            const bool fits = t.n_dims == 2 && (t.dims[0] % 32 == 0 || std::string(type) == "F32");
            EXPECT_EQ(name(t.type), std::string(fits            ? type
                                                : t.n_dims == 2 ? "F16"
                                                                : "F32"))
                << t.name;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Folders, Convert,
                         testing::Values("llama", "llama3", "qwen2", "qwen3", "gemma2", "gemma3",
                                         "phi3"),
                         [](const auto& p) { return std::string(p.param); });

// A copy of a folder that a test may damage.
class DamagedFolder : public testing::Test {
  protected:
    void copy(const char* name) {
        fs::remove_all(folder_);
        fs::copy(folders + name, folder_);
    }
    json config() { return json::parse(test::read_file(folder_ + "/config.json")); }
    void write(const char* name, const std::string& text) {
        dir_.write(std::string("folder/") + name, text);
    }
    // The message of a refusal, after which nothing is left.
    std::string refused(const ConvertOptions& options = {}) {
        const auto report = convert_folder(folder_, dir_.file("out.gguf"), options);
        EXPECT_FALSE(fs::exists(dir_.file("out.gguf")));
        EXPECT_FALSE(test::part_is_left(dir_.file("out.gguf")));
        if (report) return "accepted";
        EXPECT_EQ(report.error().message.back(), '.');
        return report.error().message;
    }
    void expect(const std::string& message, const std::string& words) {
        EXPECT_NE(message.find(words), std::string::npos) << message;
    }
    test::TempDir dir_;
    std::string folder_ = dir_.file("folder");
};

TEST_F(DamagedFolder, FilesThatAreMissingOrNoJson) {
    expect(refused(), "There is no folder");
    for (const char* name : {"config.json", "tokenizer.json", "model.safetensors"}) {
        copy("qwen2");
        fs::remove(folder_ + "/" + name);
        EXPECT_NE(refused(), "accepted") << name;
        for (const std::string& text : {std::string("{"), std::string("[]"),
                                        std::string("{\"a\":") + std::string(100000, '['),
                                        std::string("\xff\xfe"), std::string(1, '\0')}) {
            write(name, text);
            EXPECT_NE(refused(), "accepted") << name;
        }
    }
}

TEST_F(DamagedFolder, IndexesThatLeaveTheFolder) {
    copy("llama");
    for (const char* file : {"../llama/model-00001-of-00004.safetensors", "/etc/passwd", "..",
                             "absent.safetensors", ""}) {
        write("model.safetensors.index.json",
              json{{"weight_map", {{"model.norm.weight", file}}}}.dump());
        EXPECT_NE(refused(), "accepted") << file;
    }
    write("model.safetensors.index.json", "{}");
    expect(refused(), "weight_map");
}

TEST_F(DamagedFolder, WhatWouldComputeSomethingElseIsRefused) {
    const auto with = [&](const char* folder, const char* key, const json& value) {
        copy(folder);
        json c = config();
        c[key] = value;
        write("config.json", c.dump());
        return refused();
    };
    expect(with("qwen2", "model_type", "mamba"), "ridge converts llama");
    expect(with("qwen2", "use_sliding_window", true), "sliding window");
    expect(with("qwen2", "hidden_act", "relu"), "relu");
    expect(with("qwen2", "num_hidden_layers", 1), "model.layers.1");
    expect(with("qwen2", "num_hidden_layers", 0), "num_hidden_layers");
    expect(with("qwen2", "num_hidden_layers", -1), "num_hidden_layers");
    expect(with("qwen2", "hidden_size", "many"), "hidden_size");
    expect(with("qwen2", "hidden_size", nullptr), "hidden_size");
    expect(with("qwen2", "rms_norm_eps", -1.0), "rms_norm_eps");
    expect(with("qwen2", "num_attention_heads", 0), "num_attention_heads");
    expect(with("gemma2", "query_pre_attn_scalar", 100), "query_pre_attn_scalar");
    expect(with("gemma3", "layer_types", json::array({"full_attention"})), "layer_types");
    expect(with("llama", "head_dim", 7), "heads of 7");
    expect(with("llama", "rope_parameters", {{"rope_type", "dynamic"}, {"factor", 2.0}}),
           "dynamic");
    expect(with("llama", "rope_parameters", {{"rope_type", "linear"}}), "factor");
    expect(with("phi3", "rope_parameters",
                {{"rope_type", "longrope"},
                 {"original_max_position_embeddings", 64},
                 {"short_factor", json::array({1.0})},
                 {"long_factor", json::array({1.0})}}),
           "long_factor");
}

TEST_F(DamagedFolder, TokenizersOfOtherKinds) {
    copy("qwen2");
    json t = json::parse(test::read_file(folder_ + "/tokenizer.json"));
    json other = t;
    other["model"]["type"] = "Unigram";
    write("tokenizer.json", other.dump());
    expect(refused(), "Unigram");
    other = t;
    other["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "x+";
    write("tokenizer.json", other.dump());
    expect(refused(), "--pre");
    ConvertOptions named;
    named.pre = "qwen2";
    EXPECT_TRUE(convert_folder(folder_, dir_.file("named.gguf"), named));
    other = t;
    other["model"]["merges"][0] = json::array({"a"});
    write("tokenizer.json", other.dump());
    expect(refused(), "merge");
    other = t;
    other["model"]["vocab"]["a"] = -5;
    write("tokenizer.json", other.dump());
    expect(refused(), "no id");

    copy("gemma3");
    const std::string whole = test::read_file(folder_ + "/tokenizer.model");
    for (size_t n = 1; n < whole.size(); n += 97) {
        write("tokenizer.model", whole.substr(0, n));
        convert::Vocabulary v(379);
        (void)convert::read_sentencepiece(folder_ + "/tokenizer.model", v);  // no crash
    }
    write("tokenizer.model", std::string(64, '\xff'));
    expect(refused(), "SentencePiece");
    write("tokenizer.model", whole + "\x12\x02\x18\x01");  // trainer_spec.model_type = unigram
    expect(refused(), "not of kind BPE");
}

TEST_F(DamagedFolder, StoppingLeavesNothing) {
    copy("qwen2");
    ConvertOptions options;
    options.progress = [](double share) { return share < 0.5; };
    expect(refused(options), "Stopped");
    options.progress = {};
    options.type = "Q4_K";
    expect(refused(options), "ridge quantize");
}

TEST(PreTokenizerNames, ComeFromTheSteps) {
    const auto name = [](const char* text) {
        return convert::pre_tokenizer_name(json::parse(text));
    };
    EXPECT_EQ(name(R"({"type": "ByteLevel", "add_prefix_space": false})"), "gpt-2");
    EXPECT_EQ(name(R"({"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": true}, {"type": "ByteLevel"}]})"),
              "smollm");
    EXPECT_EQ(name(R"({"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": false}, {"type": "ByteLevel"}]})"),
              "");
    EXPECT_EQ(name(R"({"type": "Whitespace"})"), "");
    EXPECT_EQ(name("{}"), "");
    EXPECT_EQ(name("null"), "");
}

}  // namespace
}  // namespace ridge
