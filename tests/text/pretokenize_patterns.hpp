// The pre-tokenizers' published patterns, applied by PCRE2: what the scanners are compared with, by
// the tests and by fuzz/pretokenize.cpp.
#pragma once

#include <string>
#include <vector>

#include "tests/text/pcre.hpp"
#include "text/pretokenize.hpp"

namespace ridge::test {

// White_Space is spelt out: PCRE2's \s also takes U+180E.
inline const std::string kSpaces =
    "\\x{9}-\\x{D}\\x{20}\\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}"
    "\\x{205F}\\x{3000}";
inline const std::string kGpt2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" + kSpaces +
                                 "\\p{L}\\p{N}]+|[" + kSpaces + "]+(?![^" + kSpaces + "])|[" +
                                 kSpaces + "]+";

// (?i: ...) as it is published; without regard to case, PCRE2 as Oniguruma takes U+017F for an s.
inline const std::string kContraction = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
inline const std::string kTail =
    "[" + kSpaces + "]*[\\r\\n]+|[" + kSpaces + "]+(?![^" + kSpaces + "])|[" + kSpaces + "]+";

// The patterns after GPT-2's: words of `word`, numbers of at most `digits`, `not_marks` besides
// space.
inline std::string words_pattern(const std::string& word, const std::string& digits,
                                 const std::string& not_marks) {
    return kContraction + "|[^\\r\\n\\p{L}\\p{N}]?" + word + "+|\\p{N}" + digits + "| ?[^" +
           kSpaces + not_marks + "]+[\\r\\n]*|" + kTail;
}

inline std::string cased_pattern(const std::string& suffix, const std::string& digits) {
    const std::string upper = "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]";
    const std::string lower = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]";
    const std::string prefix = "[^\\r\\n\\p{L}\\p{N}]?";
    return prefix + upper + "*" + lower + "+" + suffix + "|" + prefix + upper + "+" + lower + "*" +
           suffix + "|\\p{N}" + digits + "| ?[^" + kSpaces + "\\p{L}\\p{N}]+[\\r\\n/]*|" + kTail;
}

inline const std::string kCjk = "[\\x{4E00}-\\x{9FA5}\\x{800}-\\x{4E00}\\x{AC00}-\\x{D7FF}]+";
inline const std::string kLatin =
    "A-Za-z\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}\\x{1C4}-"
    "\\x{293}\\x{295}-\\x{2AF}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37B}-\\x{37D}\\x{37F}"
    "\\x{386}\\x{388}-\\x{38A}\\x{38C}\\x{38E}-\\x{3A1}\\x{3A3}-\\x{3F5}\\x{3F7}-\\x{481}"
    "\\x{48A}-\\x{52F}\\x{531}-\\x{556}\\x{10A0}-\\x{10C5}\\x{13A0}-\\x{13F5}\\x{13F8}-"
    "\\x{13FD}\\x{1C90}-\\x{1CBA}\\x{1CBD}-\\x{1CBF}\\x{1D00}-\\x{1D2B}\\x{1D6B}-\\x{1D77}"
    "\\x{1D79}-\\x{1D9A}\\x{1E00}-\\x{1F15}\\x{1F18}-\\x{1F1D}\\x{1F20}-\\x{1F45}\\x{1F48}-"
    "\\x{1F4D}\\x{1F50}-\\x{1F57}\\x{1F59}\\x{1F5B}\\x{1F5D}\\x{1F5F}-\\x{1F7D}\\x{1F80}-"
    "\\x{1FB4}\\x{1FB6}-\\x{1FBC}\\x{1FBE}\\x{1FC2}-\\x{1FC4}\\x{1FC6}-\\x{1FCC}\\x{1FD0}-"
    "\\x{1FD3}\\x{1FD6}-\\x{1FDB}\\x{1FE0}-\\x{1FEC}\\x{1FF2}-\\x{1FF4}\\x{1FF6}-\\x{1FFC}"
    "\\x{2102}\\x{2107}\\x{210A}-\\x{2113}\\x{2115}\\x{2119}-\\x{211D}\\x{2124}\\x{2126}"
    "\\x{2128}\\x{212A}-\\x{212D}\\x{212F}-\\x{2134}\\x{2139}\\x{213C}-\\x{213F}\\x{2145}-"
    "\\x{2149}\\x{214E}\\x{2183}\\x{2184}\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}\\x{2CEB}-"
    "\\x{2CEE}\\x{2CF2}\\x{2CF3}\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}\\x{A722}-\\x{A76F}"
    "\\x{A771}-\\x{A787}\\x{A78B}-\\x{A78E}\\x{AB70}-\\x{ABBF}\\x{FB00}-\\x{FB06}\\x{FB13}-"
    "\\x{FB17}\\x{FF21}-\\x{FF3A}\\x{FF41}-\\x{FF5A}\\x{10400}-\\x{1044F}\\x{104B0}-"
    "\\x{104D3}\\x{104D8}-\\x{104FB}\\x{10C80}-\\x{10CB2}\\x{10CC0}-\\x{10CF2}\\x{118A0}-"
    "\\x{118DF}\\x{1E900}-\\x{1E943}";

inline std::vector<std::string> patterns(PreTokenizer kind) {
    const std::string space = "[" + kSpaces + "]";
    switch (kind) {
        case PreTokenizer::gpt2:
            return {kGpt2};
        case PreTokenizer::smollm:
            return {"\\p{N}", kGpt2};
        case PreTokenizer::fallback:
            return {"[\\p{P}\\$\\+<=>\\^~\\|]+", kGpt2, "\\p{N}+", "[0-9][0-9][0-9]"};
        case PreTokenizer::llama3:
            return {words_pattern("\\p{L}", "{1,3}", "\\p{L}\\p{N}")};
        case PreTokenizer::qwen2:
            return {words_pattern("\\p{L}", "", "\\p{L}\\p{N}")};
        case PreTokenizer::qwen35:
            return {words_pattern("[\\p{L}\\p{M}]", "", "\\p{L}\\p{M}\\p{N}")};
        case PreTokenizer::gpt4o:
            return {cased_pattern(kContraction + "?", "{1,3}")};
        case PreTokenizer::tekken:
            return {cased_pattern("", "")};
        case PreTokenizer::deepseek_llm:
            return {"[\\r\\n]",
                    space + "?[" + kLatin + "]+",
                    space +
                        "?[!-/:-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}\\x{2018}-\\x{201F}"
                        "\\x{3000}-\\x{3002}]+",
                    space + "+$",
                    kCjk,
                    "\\p{N}+"};
        case PreTokenizer::deepseek_coder:
            return {"[\\r\\n]", space + "?\\p{L}+", space + "?\\p{P}+", kCjk, "\\p{N}"};
        case PreTokenizer::deepseek3:
            return {
                "\\p{N}{1,3}", "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+",
                "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?"
                "[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|" +
                    kTail};
        case PreTokenizer::gemma4:
            return {"[^\\n]+|[\\n]+"};
    }
    return {};
}

class Oracle {
  public:
    explicit Oracle(PreTokenizer kind) {
        for (const std::string& pattern : patterns(kind)) steps_.emplace_back(pattern);
    }
    std::vector<std::string> split(const std::string& text) {
        std::vector<std::string> pieces = {text};
        if (text.empty()) return {};
        for (Regex& step : steps_) {
            std::vector<std::string> next;
            for (const std::string& piece : pieces) {
                for (std::string& part : step.split(piece)) next.push_back(std::move(part));
            }
            pieces = std::move(next);
        }
        return pieces;
    }

  private:
    std::vector<Regex> steps_;
};

}  // namespace ridge::test
