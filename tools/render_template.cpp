// Renders chat templates for tests: one JSON object a line in, one a line out.
//
//   in:  {"template": TEXT, "messages": [...], "tools": [...], "variables": {...}, "now": SECONDS,
//         "add_generation_prompt": true, "bos_token": TEXT, "eos_token": TEXT}
//   out: {"text": TEXT, "segments": [[TEXT, USER], ...]} or {"error": TEXT}
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "text/template.hpp"

namespace {

using nlohmann::ordered_json;

ordered_json answer(const ordered_json& request) {
    const auto parsed = ridge::ChatTemplate::parse(request.value("template", ""));
    if (!parsed) return {{"error", parsed.error().message}, {"parsed", false}};
    ridge::TemplateInput input;
    input.messages = request.value("messages", ordered_json::array());
    input.tools = request.value("tools", ordered_json());
    input.variables = request.value("variables", ordered_json());
    input.add_generation_prompt = request.value("add_generation_prompt", true);
    input.bos_token = request.value("bos_token", "");
    input.eos_token = request.value("eos_token", "");
    input.now = request.value("now", int64_t{0});
    const auto segments = parsed->render(input);
    if (!segments) return {{"error", segments.error().message}, {"parsed", true}};
    ordered_json list = ordered_json::array();
    for (const auto& segment : *segments) list.push_back({segment.text, segment.user});
    return {{"text", ridge::text_of(*segments)}, {"segments", list}};
}

}  // namespace

int main() {
    for (std::string line; std::getline(std::cin, line);) {
        const auto request = ordered_json::parse(line, nullptr, false);
        const ordered_json out = request.is_object()
                                     ? answer(request)
                                     : ordered_json{{"error", "this line is no JSON object"}};
        std::cout << out.dump() << '\n' << std::flush;
    }
    return 0;
}
