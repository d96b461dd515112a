// The hostile files themselves (gguf_image.hpp), by the classes of reliability-anchors.md
// section 2.
#include <limits>

#include "gguf_image.hpp"

namespace ridge::test {

using gguf::ValueType;

namespace {

constexpr uint64_t limits[] = {0, 1u << 31, 1ull << 32, 1ull << 62, 1ull << 63, ~0ull - 31, ~0ull};

class Maker {
  public:
    Maker(const GgufImage& llama, const GgufImage& gemma) : llama_(llama), gemma_(gemma) {}

    std::vector<HostileFile> run() {
        headers();
        values();
        hyper_parameters();
        alignment();
        tensors();
        vocabulary();
        templates();
        truncations();
        return std::move(out_);
    }

  private:
    void add(std::string name, std::string bytes, bool must_fail = true) {
        out_.push_back({std::move(name), std::move(bytes), must_fail});
    }
    template <typename F>
    void llama(const std::string& name, bool must_fail, F&& change) {
        GgufImage image = llama_;
        change(image);
        add(name, image.bytes(), must_fail);
    }

    void headers() {
        const std::string whole = llama_.bytes();
        add("empty", "");
        for (size_t n = 1; n < 24; ++n)
            add("header cut at " + std::to_string(n), whole.substr(0, n));
        add("wrong magic", "GGML" + whole.substr(4));
        add("big-endian magic", "FUGG" + whole.substr(4));
        for (const uint32_t version : {0u, 1u, 4u, 1u << 31})
            llama("version " + std::to_string(version), true,
                  [&](GgufImage& i) { i.version = version; });
        for (const uint64_t n : limits) {
            if (n == 0) continue;
            add("tensor count", Bytes().header(n, 0).zeros(64).text());
            add("value count", Bytes().header(0, n).zeros(64).text());
        }
        add("counts of 1000", Bytes().header(1000, 1000).zeros(512).text());
    }

    void values() {
        const auto value = [&](const std::string& name, const std::string& raw) {
            add(name, Bytes().header(0, 1).raw(raw).zeros(64).text());
        };
        for (const uint64_t n : limits) value("key length", Bytes().put(n).zeros(32).text());
        llama("key not UTF-8", true,
              [](GgufImage& i) { i.set("a\xff\xfe", encoded(ValueType::u8, uint8_t{1})); });
        llama("duplicate key", true,
              [](GgufImage& i) { i.values.emplace_back("general.name", encoded_string("again")); });
        for (const uint32_t type : {13u, 255u, 1u << 31, ~0u})
            value("value type", Bytes().string("k").put(type).zeros(16).text());
        llama("truth value 2", true, [](GgufImage& i) {
            i.set("tokenizer.ggml.add_bos_token", encoded(ValueType::boolean, uint8_t{2}));
        });
        for (const size_t depth : {1u, 2u, 1000u, 100000u}) {
            Bytes b;
            b.string("k");
            for (size_t i = 0; i < depth; ++i)
                b.type(ValueType::array).type(ValueType::array).put<uint64_t>(1);
            value("nested arrays " + std::to_string(depth), b.text());
        }
        for (uint32_t type = 0; type < 13; ++type)
            for (const uint64_t n : limits) {
                if (n == 0) continue;
                value("array length",
                      Bytes().string("k").type(ValueType::array).put(type).put(n).text());
            }
        for (const uint64_t n : limits) {
            if (n == 0) continue;
            value("string length", Bytes().string("k").type(ValueType::string).put(n).text());
            value("string in an array", Bytes()
                                            .string("k")
                                            .type(ValueType::array)
                                            .type(ValueType::string)
                                            .put<uint64_t>(1)
                                            .put(n)
                                            .text());
        }
        value("1 GiB in 200 bytes",
              Bytes().string("k").type(ValueType::string).put(1ull << 30).zeros(120).text());
    }

    void hyper_parameters() {
        constexpr double nan = std::numeric_limits<double>::quiet_NaN();
        const std::vector<std::pair<std::string, std::string>> numbers = {
            {"0", encoded(ValueType::u32, 0u)},
            {"huge", encoded(ValueType::u32, ~0u)},
            {"2^63", encoded(ValueType::u64, 1ull << 63)},
            {"-1", encoded(ValueType::i32, -1)},
            {"NaN", encoded(ValueType::f32, static_cast<float>(nan))},
            {"1.5", encoded(ValueType::f64, 1.5)},
            {"infinite", encoded(ValueType::f32, std::numeric_limits<float>::infinity())},
            {"text", encoded_string("many")},
            {"list", Bytes()
                         .type(ValueType::array)
                         .type(ValueType::u32)
                         .put<uint64_t>(1)
                         .put<uint32_t>(1)
                         .text()}};
        // Keys that every model here needs as whole numbers; of the others ridge may ignore some.
        const std::vector<std::string> counts = {
            "block_count",           "embedding_length",        "feed_forward_length",
            "attention.head_count",  "attention.head_count_kv", "attention.key_length",
            "attention.value_length"};
        const std::vector<std::string> others = {"context_length",
                                                 "attention.layer_norm_rms_epsilon",
                                                 "rope.freq_base",
                                                 "rope.dimension_count",
                                                 "vocab_size",
                                                 "expert_count",
                                                 "expert_used_count",
                                                 "attention.sliding_window",
                                                 "attention.sliding_window_pattern"};
        for (const GgufImage* image : {&llama_, &gemma_}) {
            const std::string arch = image == &llama_ ? "llama." : "gemma3.";
            for (const auto& key : counts)
                for (const auto& [what, value] : numbers)
                    changed(*image, arch + key, what, value, true);
            for (const auto& key : others)
                for (const auto& [what, value] : numbers)
                    changed(*image, arch + key, what, value, false);
            for (const char* key :
                 {"block_count", "embedding_length", "feed_forward_length", "attention.head_count"})
                changed(*image, arch + key, "missing", "", true);
            changed(*image, "general.architecture", "missing", "", true);
            changed(*image, "general.architecture", "unknown", encoded_string("mamba"), true);
            changed(*image, "general.architecture", "not printable", encoded_string("a\n\xff"),
                    true);
            changed(*image, "general.architecture", "of 1 MiB",
                    encoded_string(std::string(1 << 20, 'a')), true);
            changed(*image, "general.architecture", "number", encoded(ValueType::u32, 1u), true);
        }
        const auto count = [&](const char* key, uint32_t n) {
            llama(std::string(key) + " " + std::to_string(n), true,
                  [&](GgufImage& i) { i.set(key, encoded(ValueType::u32, n)); });
        };
        count("llama.attention.head_count_kv", 4);  // more than heads
        count("llama.attention.head_count", 3);     // not divided by KV heads' width
        count("llama.embedding_length", 33);
        count("llama.attention.key_length", 15);
        count("llama.block_count", 2);
        count("llama.block_count", 512);
        count("llama.expert_count", 8);
    }

    void changed(const GgufImage& from, const std::string& key, const std::string& what,
                 const std::string& value, bool must_fail) {
        GgufImage image = from;
        image.set(key, value);
        add(key + " " + what, image.bytes(), must_fail);
    }

    void alignment() {
        for (const uint32_t a : {0u, 1u, 3u, 48u, 1u << 31, ~0u})
            llama("alignment " + std::to_string(a), true,
                  [&](GgufImage& i) { i.set("general.alignment", encoded(ValueType::u32, a)); });
        llama("data section not where it belongs", true, [](GgufImage& i) {
            i.alignment = 1;
            i.set("general.name", encoded_string("moves the data section"));
            i.data.resize(i.data.size() - 64);
        });
    }

    void tensors() {
        constexpr const char* q = "blk.0.attn_q.weight";
        llama("duplicate tensor", true, [](GgufImage& i) { i.tensors.push_back(i.tensors[1]); });
        llama("tensor name of 65", true,
              [](GgufImage& i) { i.tensors[0].name = std::string(65, 'n'); });
        llama("empty tensor name", true, [](GgufImage& i) { i.tensors[0].name.clear(); });
        for (const uint32_t n : {0u, 5u, 9u, ~0u})
            llama("dimensions " + std::to_string(n), true,
                  [&](GgufImage& i) { i.tensor(q).n_dims = n; });
        for (const uint64_t n : limits) {
            llama("ne0", true, [&](GgufImage& i) { i.tensor(q).dims[0] = n; });
            llama("ne1", true, [&](GgufImage& i) { i.tensor(q).dims[1] = n; });
            llama("both", true, [&](GgufImage& i) { i.tensor(q).dims = {n, n}; });
            llama("four", true, [&](GgufImage& i) {
                i.tensor(q).dims = {32, n, n, n};
                i.tensor(q).n_dims = 4;
            });
            if (n != 0) llama("offset", true, [&](GgufImage& i) { i.tensor(q).offset = n; });
        }
        llama("row not a multiple of the block", true,
              [&](GgufImage& i) { i.tensor(q).dims[0] = 31; });
        for (const uint32_t type : {4u, 5u, 16u, 31u, 32u, 33u, 36u, 38u, 40u, 1000u, ~0u})
            llama("tensor type " + std::to_string(type), true,
                  [&](GgufImage& i) { i.tensor(q).type = type; });
        llama("offset unaligned", true, [&](GgufImage& i) { i.tensor(q).offset += 8; });
        llama("tensors that overlap", false, [&](GgufImage& i) { i.tensor(q).offset = 0; });
        llama("wrong shape", true, [&](GgufImage& i) { i.tensor(q).dims = {32, 64}; });
        llama("transposed", true,
              [&](GgufImage& i) { i.tensor("token_embd.weight").dims = {264, 32}; });
        llama("norm of another type", true,
              [&](GgufImage& i) { i.tensor("output_norm.weight").type = 1; });
        for (size_t t = 0; t < llama_.tensors.size(); ++t)
            llama("without " + llama_.tensors[t].name, true, [&](GgufImage& i) {
                i.tensors.erase(i.tensors.begin() + static_cast<std::ptrdiff_t>(t));
            });
        llama("tied and untied heads", false, [](GgufImage& i) {
            i.tensors.push_back(i.tensor("token_embd.weight"));
            i.tensors.back().name = "output.weight";
        });
        llama("a tensor that nothing uses", true, [](GgufImage& i) {
            i.tensors.push_back(i.tensors[1]);
            i.tensors.back().name = "blk.0.attn_gate.weight";
        });
    }

    void vocabulary() {
        const std::string tokens = "tokenizer.ggml.tokens", scores = "tokenizer.ggml.scores";
        const std::string kinds = "tokenizer.ggml.token_type", merges = "tokenizer.ggml.merges";
        std::vector<std::string> few = {"<unk>", "<s>", "</s>"}, all = few;
        for (int i = 0; i < 261; ++i) all.push_back("t" + std::to_string(i));
        const auto with = [&](const std::string& name, bool must_fail,
                              const std::vector<std::string>& list) {
            llama(name, must_fail, [&](GgufImage& i) { i.set(tokens, encoded_strings(list)); });
        };
        with("no tokens", true, {});
        with("one token", true, {"<unk>"});
        with("three tokens", true, few);
        llama("tokens missing", true, [&](GgufImage& i) { i.set(tokens, ""); });
        llama("tokens are numbers", true, [&](GgufImage& i) {
            i.set(tokens, Bytes()
                              .type(ValueType::array)
                              .type(ValueType::u8)
                              .put<uint64_t>(264)
                              .zeros(264)
                              .text());
        });
        for (const auto& key : {scores, kinds}) {
            llama(key + " short", true, [&](GgufImage& i) {
                i.set(key, Bytes()
                               .type(ValueType::array)
                               .type(key == scores ? ValueType::f32 : ValueType::i32)
                               .put<uint64_t>(3)
                               .zeros(12)
                               .text());
            });
            llama(key + " is text", true, [&](GgufImage& i) { i.set(key, encoded_strings(all)); });
        }
        llama("scores of NaN", false, [&](GgufImage& i) {
            Bytes b;
            b.type(ValueType::array).type(ValueType::f32).put<uint64_t>(264);
            for (int n = 0; n < 264; ++n) b.put(std::numeric_limits<float>::quiet_NaN());
            i.set(scores, b.text());
        });
        for (const char* odd : {"<0x-1>", "<0xGG>", "<0x100>", "<0x1>", "<0x>", ""}) {
            GgufImage image = llama_;
            auto it = image.values.begin();
            while (it->first != tokens) ++it;
            const size_t at = it->second.find("<0x41>");
            // the length before the token, and the token: its type says that it is a byte
            it->second.replace(at - 8, 14, Bytes().string(odd).text());
            add("byte token " + std::string(odd), image.bytes());
        }
        std::vector<std::string> list = all;
        list[5] = std::string(1 << 20, 'x');
        with("a token of 1 MiB", false, list);
        list[5] = std::string("a\0b", 3);
        list[6] = "";
        list[7] = "\xff\xfe";
        list[8] = list[9];
        with("tokens with NUL, empty, not UTF-8, twice", false, list);
        for (const char* id : {"bos", "eos", "unknown", "eot"})
            for (const auto& value :
                 {encoded(ValueType::u32, 264u), encoded(ValueType::u32, 0x7fffffffu),
                  encoded(ValueType::i64, int64_t{-2}), encoded(ValueType::u64, 1ull << 63),
                  encoded_string("x")})
                llama(std::string(id) + " id", false, [&](GgufImage& i) {
                    i.set("tokenizer.ggml." + std::string(id) + "_token_id", value);
                });
        for (const char* model : {"", "bert", "gpt2", "llama\n"})
            llama("tokenizer model " + std::string(model), false,
                  [&](GgufImage& i) { i.set("tokenizer.ggml.model", encoded_string(model)); });
        llama("unknown pre-tokenizer", true, [&](GgufImage& i) {
            i.set("tokenizer.ggml.model", encoded_string("gpt2"));
            i.set("tokenizer.ggml.pre", encoded_string("no-such"));
        });
        for (const auto& bad :
             std::vector<std::vector<std::string>>{{"ab"},
                                                   {""},
                                                   {" "},
                                                   {"a b c"},
                                                   {"nosuch parts"},
                                                   {"t0 t1", "t1 t0"},
                                                   std::vector<std::string>(10000, "t0 t1")})
            llama("merges", false, [&](GgufImage& i) {
                i.set("tokenizer.ggml.model", encoded_string("gpt2"));
                i.set("tokenizer.ggml.pre", encoded_string("default"));
                i.set(tokens, encoded_strings(all));
                i.set(kinds, "");
                i.set(merges, encoded_strings(bad));
            });
    }

    // Loading must not run a template; what running one does is the template engine's tests'.
    void templates() {
        std::string deep;
        for (int i = 0; i < 100000; ++i) deep += "{% if true %}";
        for (const std::string& text :
             {std::string(1 << 20, '{'), std::string(1 << 20, 'x'), deep,
              std::string("{% for i in range(10**9) %}x{% endfor %}"), std::string("{{ "),
              std::string("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
              std::string("{{ raise_exception('no') }}"), std::string("\xff\xfe\0", 3)})
            llama("template " + text.substr(0, 20), false,
                  [&](GgufImage& i) { i.set("tokenizer.chat_template", encoded_string(text)); });
        llama("template is a number", false,
              [&](GgufImage& i) { i.set("tokenizer.chat_template", encoded(ValueType::u32, 1u)); });
    }

    void truncations() {
        const std::string whole = llama_.bytes();
        const size_t data = whole.size() - llama_.data.size();
        std::vector<size_t> borders = {24, data, whole.size()};
        Bytes b;
        b.header(0, 0);
        size_t at = b.size();
        for (const auto& [key, value] : llama_.values)
            borders.push_back(at += 8 + key.size() + value.size());
        for (const auto& t : llama_.tensors) {
            borders.push_back(at += 8 + t.name.size() + 4 + 8 * t.dims.size() + 12);
            borders.push_back(data + t.offset);
        }
        for (const size_t border : borders)
            for (const size_t n : {border - 1, border, border + 1})
                if (n < whole.size() && n > 0)
                    // the padding after the last tensor may be missing
                    add("cut at " + std::to_string(n), whole.substr(0, n), n + 32 < whole.size());
        for (size_t n = 4096; n < whole.size(); n += 4096)
            add("cut at " + std::to_string(n), whole.substr(0, n), n + 32 < whole.size());
    }

    const GgufImage &llama_, &gemma_;
    std::vector<HostileFile> out_;
};

}  // namespace

std::vector<HostileFile> hostile_files(const GgufImage& llama, const GgufImage& gemma) {
    return Maker(llama, gemma).run();
}

}  // namespace ridge::test
