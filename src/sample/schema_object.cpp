// Objects of a JSON schema: their properties, in order, and the keys that are none of those.
#include <fmt/format.h>

#include <map>
#include <set>
#include <vector>

#include "sample/schema_compiler.hpp"
#include "text/unicode.hpp"

namespace ridge::schema {
namespace {

struct KeyNode {
    std::map<uint32_t, size_t> next;
    bool end = false;
};

}  // namespace

Result<std::string> SchemaCompiler::object(const Json& s, const std::string& at) {
    Json properties = s.value("properties", Json::object());
    if (!properties.is_object()) return invalid("properties at " + at + " is no object");
    const bool open = s.contains("additionalProperties");
    const Json rest = s.value("additionalProperties", Json(false));
    std::set<std::string> required;
    if (s.contains("required")) {
        if (!s.at("required").is_array()) return invalid("required at " + at + " is no list");
        for (const Json& name : s.at("required")) {
            if (!name.is_string()) return invalid("required at " + at + " names no text");
            required.insert(name.get<std::string>());
            // Required and not described: whatever additional properties may be.
            if (!properties.contains(name.get<std::string>()))
                properties[name.get<std::string>()] = open ? rest : Json(true);
        }
    }
    const bool any = !open && properties.empty() && !s.contains("properties");
    const bool more = any || (open && rest != Json(false));
    RIDGE_ASSIGN(const uint64_t least, count(s, "minProperties", 0, at));
    RIDGE_ASSIGN(const uint64_t most, count(s, "maxProperties", kEndless, at));
    if (least > required.size())
        return unsupported(
            fmt::format("minProperties at {} asks for more than 'required' names; "
                        "name them",
                        at));
    if (most != kEndless && (more || most < properties.size()))
        return unsupported(fmt::format("maxProperties at {} is below what may occur", at));

    struct Member {
        std::string text;
        bool required;
    };
    std::vector<Member> members;
    for (const auto& [name, value] : properties.items()) {
        const bool needed = required.count(name) != 0;
        if (value == Json(false)) {
            if (needed) return nothing_fits(at);
            continue;
        }
        RIDGE_ASSIGN(const std::string rule,
                     rule_for(value, at + "/properties" + pointer_step(name)));
        members.push_back({gbnf_text(Json(name).dump() + ":") + " ws " + rule, needed});
    }
    // From the last back. `after`: what may follow a member; `first`: what may come where there
    // was none so far.
    std::string after, first;
    if (more) {
        std::string item = "value";
        if (!any) {
            RIDGE_ASSIGN(item, rule_for(rest, at + "/additionalProperties"));
        }
        RIDGE_ASSIGN(const std::string key, other_key(properties, at));
        const std::string pair = helper(key + " \":\" ws " + item);
        after = helper("(\",\" ws " + pair + ")*");
        first = helper("(" + pair + " " + after + ")?");
    }
    for (size_t i = members.size(); i-- > 0;) {
        const Member& m = members[i];
        const std::string pair = helper(m.text);
        const std::string here = pair + (after.empty() ? "" : " " + after);
        first = m.required ? helper(here) : helper(here + " | " + (first.empty() ? "\"\"" : first));
        after = helper("(\",\" ws " + pair + ")" + (m.required ? "" : "?") +
                       (after.empty() ? "" : " " + after));
    }
    return "\"{\" ws " + (first.empty() ? "" : first + " ws ") + "\"}\"";
}

Result<std::string> SchemaCompiler::other_key(const Json& properties, const std::string& at) {
    if (properties.empty()) return std::string("string");
    std::vector<KeyNode> trie(1);
    for (const auto& [name, value] : properties.items()) {
        size_t node = 0;
        for (size_t i = 0; i < name.size();) {
            const text::CodePoint c = text::decode_utf8(name, i);
            i += c.length;
            const auto found = trie[node].next.find(c.value);
            if (found != trie[node].next.end()) {
                node = found->second;
            } else {
                trie[node].next[c.value] = trie.size();
                node = trie.size();
                trie.emplace_back();
            }
            if (trie.size() > kMaxRules)
                return unsupported("the properties at " + at + " make too large a grammar");
        }
        trie[node].end = true;
    }
    std::vector<std::string> rules(trie.size());
    for (size_t i = trie.size(); i-- > 0;) {  // those below have larger numbers
        std::string others = "[^\"\\\\\\x00-\\x1F\\x7F";
        std::string text;
        for (const auto& [c, next] : trie[i].next) {
            if (c < 0x20 || c == '"' || c == '\\' || c == 0x7F) continue;  // never written
            others += fmt::format("\\U{:08X}", c);
            text += fmt::format(" | [\\U{:08X}] {}", c, rules[next]);
        }
        text = others + "] plain*" + text;
        if (!trie[i].end) text += " | \"\"";
        rules[i] = helper(text);
    }
    return "\"\\\"\" " + rules[0] + " \"\\\"\"";
}

std::string SchemaCompiler::helper(const std::string& text) {
    const std::string name = fmt::format("h{}", helpers_++);
    extra_ += name + " ::= " + text + "\n";
    ++rules_;
    return name;
}

}  // namespace ridge::schema
