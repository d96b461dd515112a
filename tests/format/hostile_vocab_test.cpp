// Hostile vocabularies (class 5 of reliability-anchors.md section 2), chat templates (6) and
// weights (9).
#include <fmt/format.h>

#include <limits>

#include "hostile_files.hpp"

namespace ridge::test {

using gguf::ValueType;

namespace {

constexpr const char* tokens = "tokenizer.ggml.tokens";
constexpr const char* scores = "tokenizer.ggml.scores";
constexpr const char* kinds = "tokenizer.ggml.token_type";
constexpr size_t count = 264;  // tokens of the smallest llama

std::vector<std::string> any_tokens() {
    std::vector<std::string> all = {"<unk>", "<s>", "</s>"};
    while (all.size() < count) all.push_back(fmt::format("t{}", all.size()));
    return all;
}

// The llama with a byte-level vocabulary: GPT-2's 256 letters for the bytes, and some more.
GgufImage byte_level(const GgufImage& llama) {
    std::vector<std::string> all;
    uint32_t other = 256;
    for (uint32_t b = 0; b < 256; ++b) {
        const bool itself = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
        const uint32_t c = itself ? b : other++;
        all.push_back(c < 128 ? std::string(1, static_cast<char>(c))
                              : std::string{static_cast<char>(0xC0 | (c >> 6)),
                                            static_cast<char>(0x80 | (c & 63))});
    }
    for (const char* more : {"nc", "ce", "nce", "cec", "aa", "aaaa", "<|end|>", "Once"})
        all.emplace_back(more);
    GgufImage image = llama;
    image.set("tokenizer.ggml.model", encoded_string("gpt2"));
    image.set("tokenizer.ggml.pre", encoded_string("default"));
    image.set(tokens, encoded_strings(all));
    image.set(scores, "");
    image.set(kinds, "");
    for (const char* id : {"bos", "eos", "unknown"})
        image.set(fmt::format("tokenizer.ggml.{}_token_id", id), encoded(ValueType::u32, 262u));
    image.set("tokenizer.ggml.merges", encoded_strings({"n c", "nc e"}));
    return image;
}

void add_lengths(HostileMaker& make) {
    std::vector<std::string> list = any_tokens();
    const auto with = [&](const std::string& what, Outcome outcome,
                          const std::vector<std::string>& all) {
        make.with(make.base(), tokens, what, encoded_strings(all), outcome);
    };
    with("none", Outcome::refused, {});
    with("one", Outcome::refused, {"<unk>"});
    with("three", Outcome::refused, {"<unk>", "<s>", "</s>"});
    with("one more than scores", Outcome::refused, [&] {
        auto more = list;
        more.emplace_back("more");
        return more;
    }());
    for (const char* key : {scores, kinds})
        for (const uint64_t n : {uint64_t{0}, uint64_t{3}, count - 1, count + 1})
            make.with(make.base(), key, fmt::format("of {}", n),
                      Bytes()
                          .type(ValueType::array)
                          .type(key == scores ? ValueType::f32 : ValueType::i32)
                          .put(n)
                          .zeros(n * 4)
                          .text(),
                      n == 0 ? Outcome::either : Outcome::refused);
    Bytes odd;
    odd.type(ValueType::array).type(ValueType::f32).put<uint64_t>(count);
    for (size_t n = 0; n < count; ++n) odd.put(std::numeric_limits<float>::quiet_NaN());
    make.with(make.base(), scores, "of NaN", odd.text(), Outcome::refused);
    list[5] = std::string(1 << 20, 'x');
    with("one of 1 MiB", Outcome::either, list);
    list[5] = std::string("a\0b", 3);
    list[6] = "";
    list[7] = "\xff\xfe";
    list[8] = list[9];
    with("with NUL, empty, not UTF-8, twice", Outcome::either, list);
}

void add_ids(HostileMaker& make) {
    for (const char* odd : {"<0x-1>", "<0xGG>", "<0x100>", "<0x1>", "<0x>", ""}) {
        GgufImage image = make.base();
        for (auto& [key, value] : image.values)
            if (key == tokens)  // the length before the token, and the token
                value.replace(value.find("<0x41>") - 8, 14, Bytes().string(odd).text());
        make.add(fmt::format("byte token '{}'", odd), image.bytes());
    }
    for (const char* id : {"bos", "eos", "unknown", "eot", "eom", "fim_sep"}) {
        const std::string key = fmt::format("tokenizer.ggml.{}_token_id", id);
        for (const uint64_t beyond : {uint64_t{count}, uint64_t{0x7fffffff}, uint64_t{1} << 62})
            make.with(make.base(), key, std::to_string(beyond), encoded(ValueType::u64, beyond),
                      Outcome::refused);
        make.with(make.base(), key, "-2", encoded(ValueType::i64, int64_t{-2}), Outcome::either);
    }
    for (const char* model : {"", "bert", "gpt2", "llama\n"})
        make.with(make.base(), "tokenizer.ggml.model", fmt::format("'{}'", model),
                  encoded_string(model), Outcome::either);
    GgufImage image = byte_level(make.base());
    make.with(image, "tokenizer.ggml.pre", "unknown", encoded_string("no-such"), Outcome::refused);
}

void add_merges(HostileMaker& make) {
    const GgufImage image = byte_level(make.base());
    make.add("byte-level", image.bytes(), Outcome::works);
    const std::pair<const char*, std::vector<std::string>> lists[] = {
        {"without a space", {"nc"}},
        {"empty", {""}},
        {"a space alone", {" "}},
        {"three parts", {"n c e"}},
        {"unknown parts", {"nosuch parts"}},
        {"an unknown result", {"n e"}},
        {"cyclic", {"nc e", "n ce", "n c", "c e", "ce c", "nc e"}},
        {"the same 10000 times", std::vector<std::string>(10000, "n c")},
        {"one of 1 MiB", {"n " + std::string(1 << 20, 'c')}},
        {"not UTF-8", {"\xff \xfe"}}};
    for (const auto& [what, list] : lists)
        make.with(image, "tokenizer.ggml.merges", what, encoded_strings(list), Outcome::either);
    make.with(image, "tokenizer.ggml.merges", "missing", "", Outcome::either);
    make.with(image, "tokenizer.ggml.merges", "numbers",
              Bytes().type(ValueType::array).type(ValueType::u8).put<uint64_t>(3).zeros(3).text(),
              Outcome::refused);
}

}  // namespace

void add_vocabulary_files(HostileMaker& make) {
    add_lengths(make);
    add_ids(make);
    add_merges(make);
}

// Loading runs no template; a conversation does.
void add_template_files(HostileMaker& make) {
    const auto repeated = [](const std::string& text, size_t n) {
        std::string out;
        while (n-- > 0) out += text;
        return out;
    };
    const auto set = [&](const std::string& what, Outcome outcome, const std::string& text) {
        make.with(make.base(), "tokenizer.chat_template", what, encoded_string(text), outcome);
    };
    set("as it should be", Outcome::works, "{{ bos_token }}{{ messages[0]['content'] }}");
    set("1 MiB of text", Outcome::either, std::string(1 << 20, 'x'));
    set("1 MiB of braces", Outcome::refused, std::string(1 << 20, '{'));
    set("blocks 10^5 deep", Outcome::refused, repeated("{% if true %}", 100000));
    set("brackets 10^5 deep", Outcome::refused,
        "{{ " + repeated("[", 100000) + repeated("]", 100000) + " }}");
    set("range", Outcome::refused, "{% for i in range(10**9) %}x{% endfor %}");
    set("a loop without an end", Outcome::refused,
        repeated("{% for x in range(99999) %}", 5) + "{{ x }}" + repeated("{% endfor %}", 5));
    set("a loop that runs itself", Outcome::refused,
        "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}");
    set("a macro that runs itself", Outcome::refused,
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}");
    set("a string that doubles", Outcome::refused,
        "{% set n = namespace(s='ab') %}{% for x in range(99) %}{% set n.s = n.s + n.s %}"
        "{% endfor %}{{ n.s }}");
    set("a string times 10^12", Outcome::refused, "{{ 'x' * 10**12 }}");
    set("invalid", Outcome::refused, "{{ ");
    set("invalid block", Outcome::refused, "{% endfor %}");
    set("raises", Outcome::refused, "{{ raise_exception('no \x1b[31m') }}");
    set("not UTF-8", Outcome::either, std::string("\xff\xfe\0", 3));
    make.with(make.base(), "tokenizer.chat_template", "a number again", encoded(ValueType::u32, 1u),
              Outcome::either);
}

// All data the same 16 bits: what the blocks' scales then are. AnyWeightsRun has all types.
void add_payload_files(HostileMaker& make) {
    const std::pair<const char*, uint16_t> halves[] = {
        {"NaN", 0x7e00}, {"infinite", 0x7c00}, {"-infinite", 0xfc00}, {"denormal", 0x0001},
        {"-0", 0x8000},  {"largest", 0x7bff},  {"ones", 0xffff},      {"zero", 0}};
    for (const char* architecture : {"llama", "gemma3"})
        for (const auto& [what, half] : halves) {
            GgufImage image = make.base(architecture);
            for (size_t i = 0; i < image.data.size(); ++i)
                image.data[i] = static_cast<char>(i % 2 == 0 ? half & 0xff : half >> 8);
            make.add(fmt::format("{} with {} everywhere", architecture, what), image.bytes(),
                     Outcome::works);
        }
}

}  // namespace ridge::test
