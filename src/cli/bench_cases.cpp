#include "cli/bench_cases.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "cli/common.hpp"
#include "runtime/core/exec.hpp"

namespace ridge::cli {
namespace {

constexpr uint32_t most_values = 1000;
constexpr uint32_t most_tokens = 1u << 20;

std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> parts(1);
    for (const char c : text) {
        if (c == at)
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}

// The number `text` begins with; false where there is none or it does not fit.
bool take_number(std::string_view& text, uint32_t& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) return false;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return true;
}

// One element of a list appended to `out`; false where it is not a number or a range.
bool take_element(std::string_view text, std::vector<uint32_t>& out) {
    uint32_t first = 0, last = 0, step = 1;
    if (!take_number(text, first)) return false;
    last = first;
    bool multiply = false;
    if (!text.empty()) {
        if (text[0] != '-') return false;
        text.remove_prefix(1);
        if (!take_number(text, last) || last < first) return false;
        if (!text.empty()) {
            multiply = text[0] == '*';
            if (!multiply && text[0] != '+') return false;
            text.remove_prefix(1);
            if (!take_number(text, step) || !text.empty()) return false;
        }
        if (multiply ? step < 2 || first == 0 : step == 0) return false;
    }
    for (uint64_t v = first; v <= last; v = multiply ? v * step : v + step) {
        if (out.size() == most_values) return false;
        out.push_back(static_cast<uint32_t>(v));
    }
    return true;
}

}  // namespace

Result<std::vector<uint32_t>> parse_list(const std::string& what,
                                         const std::vector<std::string>& texts, uint32_t low,
                                         uint32_t high) {
    std::vector<uint32_t> out;
    for (const std::string& text : texts)
        for (const std::string& element : split(text, ',')) {
            const size_t before = out.size();
            if (!take_element(element, out))
                return fail(ErrorCode::invalid_argument,
                            fmt::format("{}: '{}' is not a number or a range first-last, "
                                        "first-last+step or first-last*factor",
                                        what, element));
            for (size_t i = before; i < out.size(); ++i)
                if (out[i] < low || out[i] > high)
                    return fail(ErrorCode::invalid_argument,
                                fmt::format("{}: {} is outside {} to {}", what, out[i], low, high));
        }
    return out;
}

namespace {

Result<std::vector<uint32_t>> list_or(const std::string& what,
                                      const std::vector<std::string>& texts, uint32_t fallback,
                                      uint32_t low, uint32_t high) {
    if (texts.empty()) return std::vector<uint32_t>{fallback};
    return parse_list(what, texts, low, high);
}

Result<std::vector<KvType>> kv_types(const std::vector<std::string>& texts) {
    std::vector<KvType> out;
    for (const std::string& text : texts)
        for (const std::string& name : split(text, ',')) {
            RIDGE_ASSIGN(const KvType type, parse_kv_type(name));
            out.push_back(type);
        }
    return out;
}

}  // namespace

Result<BenchPlan> plan_bench(const BenchArgs& a) {
    BenchPlan plan;
    RIDGE_ASSIGN(const auto prompts, list_or("-p", a.prompt, 512, 0, most_tokens));
    RIDGE_ASSIGN(const auto gens, list_or("-n", a.gen, 128, 0, most_tokens));
    RIDGE_ASSIGN(const auto depths, list_or("-d", a.depth, 0, 0, most_tokens));
    RIDGE_ASSIGN(const auto batches, list_or("-b", a.batch, 1, 1, partial_rows));
    RIDGE_ASSIGN(plan.threads, list_or("-t", a.threads, 0, 0, 256));
    RIDGE_ASSIGN(plan.kv, kv_types(a.type_k));
    RIDGE_ASSIGN(const auto values, kv_types(a.type_v));
    if (plan.kv.empty()) plan.kv = values;
    if (plan.kv.empty()) plan.kv = {KvType::bf16};
    if (!values.empty() && values != plan.kv)
        return fail(ErrorCode::invalid_argument,
                    "keys and values are kept in one type; give -ctk and -ctv the same");
    for (const uint32_t depth : depths) {
        for (const uint32_t p : prompts)
            if (p != 0) plan.cases.push_back({p, 0, depth, 1});
        for (const uint32_t n : gens)
            for (const uint32_t batch : batches)
                if (n != 0) plan.cases.push_back({0, n, depth, batch});
        for (const std::string& text : a.both) {
            RIDGE_ASSIGN(const auto pair, parse_list("-pg", {text}, 1, most_tokens));
            if (pair.size() != 2)
                return fail(ErrorCode::invalid_argument,
                            "-pg: '" + text + "' is not a pair PROMPT,GEN such as 512,128");
            for (const uint32_t batch : batches)
                plan.cases.push_back({pair[0], pair[1], depth, batch});
        }
    }
    if (plan.cases.empty())
        return fail(ErrorCode::invalid_argument,
                    "nothing to measure: give -p, -n or -pg a number above 0");
    return plan;
}

std::string case_name(const BenchCase& c) {
    std::string s;
    if (c.prompt != 0) s += fmt::format("pp{}", c.prompt);
    if (c.gen != 0) s += fmt::format("{}tg{}", s.empty() ? "" : "+", c.gen);
    if (c.batch != 1) s += fmt::format(" x{}", c.batch);
    if (c.depth != 0) s += fmt::format(" @ d{}", c.depth);
    return s;
}

const char* kv_type_name(KvType type) {
    switch (type) {
        case KvType::bf16:
            return "bf16";
        case KvType::f16:
            return "f16";
        case KvType::f32:
            return "f32";
        case KvType::int8:
            return "int8";
    }
    return "";
}

void rename_bench_options(int argc, char** argv) {
    if (argc < 2 || std::string_view(argv[1]) != "bench") return;
    static char pg[] = "--pg", ctk[] = "--cache-type-k", ctv[] = "--cache-type-v";
    for (int i = 2; i < argc; ++i) {
        const std::string_view option = argv[i];
        if (option == "-pg") argv[i] = pg;
        if (option == "-ctk") argv[i] = ctk;
        if (option == "-ctv") argv[i] = ctv;
    }
}

}  // namespace ridge::cli
