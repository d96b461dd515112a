// Any bytes as a chat template: parsed, and rendered for a conversation with tools. Whatever is
// wrong with it must end in a status; what came from the messages must never lie in a segment of
// the template's own.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "text/template.hpp"

namespace {

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
    input.variables = {{"x", 7}, {"s", mark + "text" + mark}, {"yes", true}};
    input.bos_token = "<s>";
    input.eos_token = "</s>";
    input.steps = 20000;
    return input;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const ridge::TemplateInput input = conversation();
    const std::string_view source(reinterpret_cast<const char*>(data), size);
    const auto parsed = ridge::ChatTemplate::parse(source);
    if (!parsed) {
        if (parsed.error().message.find("line ") == std::string::npos) std::abort();
        return 0;
    }
    const auto segments = parsed->render(input);
    if (!segments) {
        if (segments.error().message.find("line ") == std::string::npos) std::abort();
        return 0;
    }
    // Unless the template can spell the mark: as it is, or by an escape.
    if (source.find(kMark) != std::string_view::npos || source.find('\\') != std::string_view::npos)
        return 0;
    for (const auto& segment : *segments)
        if (!segment.user && segment.text.find(kMark) != std::string::npos) std::abort();
    return 0;
}
