// Any bytes as a chat template, or as the choices that write one (an input that begins with byte 1:
// template_writer.hpp): parsed, and rendered for a conversation with tools. Whatever is wrong with
// it must end in a status; what came from the messages must never lie in a segment of the
// template's own; and Python's jinja2 has to say the same.
//
// The same is: the same text; or both fail; or ridge refuses what it does not support or what takes
// too much, and says so. Nothing is concluded where jinja2 gives no verdict, or where it says the
// same as ridge once constant folding and Markup are left out (both in template_peer.py).
//
// RIDGE_TEMPLATE_REPORT=FILE adds the differences to a file and goes on, instead of aborting.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "template_peer.hpp"
#include "template_writer.hpp"
#include "text/template.hpp"

namespace {

using ridge::fuzz::TemplatePeer;

// A character that no template of this harness may write itself: its bytes mark the messages' text.
constexpr std::string_view kMark = "\xEE\x80\x81";

ridge::TemplateInput conversation() {
    const std::string mark(kMark);
    ridge::TemplateInput input;
    input.messages = {{{"role", "system"}, {"content", mark + "Be brief." + mark}},
                      {{"role", "user"}, {"content", mark + " a,b \n c" + mark}},
                      {{"role", "assistant"},
                       {"content", mark},
                       {"tool_calls", {{{"name", mark}, {"arguments", {{mark, 1.5}}}}}}},
                      {{"role", "user"}, {"content", mark + "{{ x }}"}}};
    input.tools = {{{"type", mark}, {"function", {{"name", mark}, {"n", nullptr}, {"l", {1, 2}}}}}};
    using List = nlohmann::ordered_json::array_t;
    const nlohmann::ordered_json one = {{"a", 1}, {"b", "p"}};
    const nlohmann::ordered_json two = {{"a", 2}, {"b", "q"}};
    const nlohmann::ordered_json three = {{"a", 1}};
    input.variables = {{"x", 7},
                       {"y", -3},
                       {"z", 0},
                       {"f", 2.5},
                       {"g", -0.125},
                       {"big", 9007199254740993},
                       {"mark", mark + "text" + mark},
                       {"s", "Hello, World"},
                       {"t", "  a b\tc \n"},
                       {"e", ""},
                       {"w", "\xC3\xA9t\xC3\xA9 \xE4\xBA\xAC\xF0\x9F\x99\x82x"},
                       {"q", "it's \"q\"\\"},
                       {"yes", true},
                       {"no", false},
                       {"nothing", nullptr},
                       {"l", {3, 1, 2}},
                       {"m", {"b", "A", "c", "a"}},
                       {"k", List{one, two, three}},
                       {"d", {{"a", 1}, {"b", List{1, "z"}}, {"C", nullptr}}},
                       {"nested", {{"p", {{"q", List{{{"r", "deep"}}}}}}}},
                       {"h", List{}},
                       {"v", nlohmann::ordered_json::object()}};
    input.bos_token = "<s>";
    input.eos_token = "</s>";
    input.now = 1700000000;
    input.steps = 20000;
    return input;
}

// What template_peer.py gets to know of it.
std::string as_json(const ridge::TemplateInput& input) {
    const nlohmann::ordered_json out = {{"messages", input.messages},
                                        {"tools", input.tools},
                                        {"variables", input.variables},
                                        {"add_generation_prompt", input.add_generation_prompt},
                                        {"bos_token", input.bos_token},
                                        {"eos_token", input.eos_token},
                                        {"now", input.now}};
    return out.dump();
}

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

// Whether an error says that ridge lacks something, or that a limit of it is met.
bool is_refusal(std::string_view error) {
    constexpr std::array parts = {"not supported", " deep",   "too much work", "too large",
                                  "at most",       "64 bits", "not UTF-8",     "is no character"};
    for (const char* part : parts)
        if (has(error, part)) return true;
    return false;
}

void report(std::string_view source, std::string_view ours, std::string_view theirs) {
    std::string text = "--- jinja2 and ridge differ over this template:\n";
    text += source;
    text += "\n--- ridge:\n";
    text += ours;
    text += "\n--- jinja2:\n";
    text += theirs;
    text += "\n---\n";
    const char* const path = std::getenv("RIDGE_TEMPLATE_REPORT");
    std::FILE* const file = path == nullptr ? stderr : std::fopen(path, "a");
    if (file == nullptr) std::abort();
    std::fwrite(text.data(), 1, text.size(), file);
    if (path == nullptr) std::abort();
    std::fclose(file);
}

// What the comparisons came to; said at the end.
struct Counts {
    uint64_t text = 0, failure = 0, refused = 0, undecided = 0, named = 0;
    ~Counts() {
        if (text + failure + refused + undecided + named == 0) return;
        std::fprintf(
            stderr,
            "fuzz_template: with jinja2 the same text %llu times, the same failure %llu, "
            "refused by ridge %llu, no verdict %llu, folding or Markup %llu\n",
            static_cast<unsigned long long>(text), static_cast<unsigned long long>(failure),
            static_cast<unsigned long long>(refused), static_cast<unsigned long long>(undecided),
            static_cast<unsigned long long>(named));
    }
};

// Comparisons, some at a time. (What libFuzzer then says was the input is the last of them: the
// report has the template.)
class Comparer {
  public:
    explicit Comparer(const ridge::TemplateInput& input)
        : peer_(RIDGE_TEMPLATE_PEER, as_json(input)) {}
    ~Comparer() { flush(); }
    Comparer(const Comparer&) = delete;
    Comparer& operator=(const Comparer&) = delete;

    // `ours`: the text, or the error.
    void add(std::string_view source, bool rendered, const std::string& ours) {
        if (!peer_.there()) return;
        if (!rendered && is_refusal(ours)) {
            ++counts_.refused;
            return;
        }
        waiting_.push_back({std::string(source), rendered, ours});
        if (waiting_.size() == 16) flush();
    }

  private:
    struct Case {
        std::string source;
        bool rendered;
        std::string ours;
        bool agrees(const TemplatePeer::Answer& answer) const {
            return rendered ? answer.kind == 'T' && answer.text == ours : answer.kind == 'E';
        }
    };

    std::vector<TemplatePeer::Answer> ask(char how, const std::vector<Case>& cases) {
        std::vector<std::string_view> sources;
        for (const Case& one : cases) sources.push_back(one.source);
        return peer_.render(how, sources);
    }

    void flush() {
        const std::vector<Case> cases = std::exchange(waiting_, {});
        const auto usual = ask('r', cases);
        std::vector<Case> open;
        std::vector<std::string> theirs;
        for (size_t i = 0; i < cases.size(); ++i) {
            if (usual[i].kind == 'N') {
                ++counts_.undecided;
            } else if (cases[i].agrees(usual[i])) {
                ++(cases[i].rendered ? counts_.text : counts_.failure);
            } else {
                open.push_back(cases[i]);
                theirs.push_back((usual[i].kind == 'T' ? "text: " : "raises ") + usual[i].text);
            }
        }
        const auto plain = ask('p', open);
        for (size_t i = 0; i < open.size(); ++i) {
            if (plain[i].kind == 'N')
                ++counts_.undecided;
            else if (open[i].agrees(plain[i]))
                ++counts_.named;
            else
                report(open[i].source, (open[i].rendered ? "text: " : "") + open[i].ours,
                       theirs[i]);
        }
    }

    TemplatePeer peer_;
    Counts counts_;
    std::vector<Case> waiting_;
};

void check(std::string_view source) {
    static const ridge::TemplateInput input = conversation();
    static Comparer comparer(input);
    const auto parsed = ridge::ChatTemplate::parse(source);
    if (!parsed) {
        if (!has(parsed.error().message, "line ")) std::abort();
        comparer.add(source, false, parsed.error().message);
        return;
    }
    const auto segments = parsed->render(input);
    if (!segments) {
        if (!has(segments.error().message, "line ")) std::abort();
        comparer.add(source, false, segments.error().message);
        return;
    }
    comparer.add(source, true, ridge::text_of(*segments));
    // Unless the template can spell the mark: as it is, or by an escape.
    if (has(source, kMark) || has(source, "\\")) return;
    for (const auto& segment : *segments)
        if (!segment.user && has(segment.text, kMark)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const int utc = setenv("TZ", "UTC", 1);
    if (utc != 0) std::abort();
    if (size > 0 && data[0] == 1)
        check(ridge::fuzz::TemplateWriter(data + 1, size - 1).write());
    else
        check(std::string_view(reinterpret_cast<const char*>(data), size));
    return 0;
}
