#include "sample/json_schema.hpp"

#include <fmt/format.h>

#include <cmath>
#include <deque>
#include <map>
#include <set>

#include "base/json_outline.hpp"
#include "sample/schema_parts.hpp"
#include "text/unicode.hpp"

namespace ridge {
namespace {

using schema::Json;

constexpr size_t kMaxSchema = size_t{1} << 20;  // bytes
constexpr size_t kMaxNesting = 64;
constexpr size_t kMaxMembers = 10000;
constexpr size_t kMaxRules = 50000;
constexpr size_t kMaxGrammar = size_t{8} << 20;  // bytes of the result

tl::unexpected<Error> invalid(std::string what) {
    return fail(ErrorCode::invalid_argument, std::move(what));
}
tl::unexpected<Error> unsupported(std::string what) {
    return fail(ErrorCode::unsupported, std::move(what));
}
tl::unexpected<Error> nothing_fits(const std::string& at) {
    return invalid(fmt::format("no value fits the schema at {}", at));
}

// Size, nesting and members of a text, before anything is built from it.
Status check_text(std::string_view text) {
    if (text.size() > kMaxSchema)
        return invalid(fmt::format("the JSON schema has {} bytes; ridge takes at most {}",
                                   text.size(), kMaxSchema));
    const JsonOutline outline = json_outline(text);
    if (outline.depth > kMaxNesting)
        return invalid(fmt::format("the JSON schema is nested more than {} deep", kMaxNesting));
    if (outline.separators > 2 * kMaxMembers)
        return invalid(fmt::format("the JSON schema has more than {} members", kMaxMembers));
    return {};
}

class SchemaCompiler {
  public:
    explicit SchemaCompiler(Json root) : root_(std::move(root)) {}

    Result<std::string> run() {
        RIDGE_ASSIGN(const std::string first, rule_for(root_, "#"));
        std::string out = "root ::= " + first + "\n";
        // Each schema is a rule; making one may ask for more.
        while (!queue_.empty()) {
            const Work work = std::move(queue_.front());
            queue_.pop_front();
            RIDGE_ASSIGN(const std::string text, body(work.schema, work.at, 0));
            out += work.rule + " ::= " + text + "\n" + std::exchange(extra_, {});
            if (out.size() > kMaxGrammar || rules_ > kMaxRules)
                return unsupported("the JSON schema makes too large a grammar");
        }
        return out + schema::kCommonRules;
    }

  private:
    struct Work {
        Json schema;
        std::string at, rule;
    };

    // The rule of a schema; equal ones share it, and that is where recursion ends.
    Result<std::string> rule_for(const Json& given, const std::string& place) {
        const Json* target = &given;
        std::string at = place;
        for (int hops = 0;
             target->is_object() && target->contains("$ref") && only(*target, {"$ref"}); ++hops) {
            if (hops == 64)
                return unsupported("the $ref at " + place +
                                   " leads on 64 times, or around in a circle");
            const Json& ref = target->at("$ref");
            if (!ref.is_string()) return invalid("the $ref at " + at + " is no text");
            RIDGE_ASSIGN(target, schema::resolve(root_, ref.get<std::string>(), at));
            at = ref.get<std::string>();
        }
        const Json& s = *target;
        if (s.is_boolean() && s.get<bool>()) return std::string("value");
        if (s.is_boolean()) return nothing_fits(at);
        if (++rules_ > kMaxRules) return unsupported("the JSON schema makes too large a grammar");
        const auto [it, is_new] = known_.emplace(s.dump(), fmt::format("s{}", known_.size()));
        if (is_new) queue_.push_back({s, at, it->second});
        return it->second;
    }

    // Does the schema say nothing but these (and annotations)?
    static bool only(const Json& s, std::initializer_list<std::string_view> keys) {
        for (const auto& [key, value] : s.items())
            if (!schema::is_annotation(key) &&
                std::find(keys.begin(), keys.end(), key) == keys.end())
                return false;
        return true;
    }

    Status check_keywords(const Json& s, const std::string& at) const {
        static const std::set<std::string_view> known = {"$ref",
                                                         "allOf",
                                                         "anyOf",
                                                         "oneOf",
                                                         "type",
                                                         "enum",
                                                         "const",
                                                         "properties",
                                                         "required",
                                                         "additionalProperties",
                                                         "minProperties",
                                                         "maxProperties",
                                                         "items",
                                                         "prefixItems",
                                                         "additionalItems",
                                                         "minItems",
                                                         "maxItems",
                                                         "uniqueItems",
                                                         "minLength",
                                                         "maxLength",
                                                         "pattern",
                                                         "format",
                                                         "minimum",
                                                         "maximum",
                                                         "exclusiveMinimum",
                                                         "exclusiveMaximum",
                                                         "multipleOf"};
        for (const auto& [key, value] : s.items())
            if (known.count(key) == 0 && !schema::is_annotation(key))
                return unsupported(fmt::format("the keyword '{}' at {} is not supported", key, at));
        return {};
    }

    Result<std::string> body(const Json& s, const std::string& at, int depth) {
        if (s.is_boolean()) return rule_for(s, at);
        if (!s.is_object()) return invalid("there is no schema at " + at);
        RIDGE_TRY(check_keywords(s, at));
        if (s.contains("$ref") || s.contains("allOf")) {
            if (depth > 0)
                return unsupported("allOf and $ref at " + at + " lead around in a circle");
            RIDGE_ASSIGN(const Json all, schema::merged(root_, s, Json(true), at));
            return body(all, at, depth + 1);
        }
        for (const char* key : {"anyOf", "oneOf"})
            if (s.contains(key)) return one_of(s, key, at);
        if (s.contains("const") || s.contains("enum")) return literals(s, at);
        return by_type(s, at);
    }

    Result<std::string> one_of(const Json& s, const std::string& key, const std::string& at) {
        const Json& branches = s.at(key);
        if (!branches.is_array() || branches.empty())
            return invalid(fmt::format("{} at {} is no list of schemas", key, at));
        Json rest = s;
        rest.erase(key);
        std::vector<Json> fitting;
        for (size_t i = 0; i < branches.size(); ++i) {
            const std::string here = fmt::format("{}/{}/{}", at, key, i);
            Json branch = branches[i];
            if (!only(rest, {})) {
                RIDGE_ASSIGN(branch, schema::merged(root_, rest, branches[i], here));
            }
            fitting.push_back(std::move(branch));
        }
        if (key == "oneOf" && fitting.size() > 200)
            return unsupported(fmt::format("oneOf at {} has more than 200 branches", at));
        if (key == "oneOf")
            for (size_t i = 0; i < fitting.size(); ++i)
                for (size_t j = 0; j < i; ++j)
                    if (!schema::exclude_each_other(root_, fitting[i], fitting[j]))
                        return unsupported(fmt::format(
                            "the branches {} and {} of oneOf at {} may both fit, and a grammar "
                            "cannot forbid that; write anyOf where both may",
                            j, i, at));
        std::string out;
        for (size_t i = 0; i < fitting.size(); ++i) {
            if (fitting[i] == Json(false)) continue;
            RIDGE_ASSIGN(const std::string rule,
                         rule_for(fitting[i], fmt::format("{}/{}/{}", at, key, i)));
            out += (out.empty() ? "" : " | ") + rule;
        }
        if (out.empty()) return nothing_fits(at);
        return out;
    }

    static bool has_type(const std::string& type, const Json& v) {
        if (type == "integer")
            return v.is_number_integer() ||
                   (v.is_number_float() && std::floor(v.get<double>()) == v.get<double>());
        return (type == "null" && v.is_null()) || (type == "boolean" && v.is_boolean()) ||
               (type == "number" && v.is_number()) || (type == "string" && v.is_string()) ||
               (type == "array" && v.is_array()) || (type == "object" && v.is_object());
    }

    Result<std::vector<std::string>> types(const Json& s, const std::string& at) const {
        std::vector<std::string> out;
        if (!s.contains("type")) return out;
        const Json list = s.at("type").is_array() ? s.at("type") : Json::array({s.at("type")});
        for (const Json& t : list) {
            static const std::set<std::string_view> names = {
                "null", "boolean", "integer", "number", "string", "array", "object"};
            if (!t.is_string() || names.count(t.get_ref<const std::string&>()) == 0)
                return invalid(fmt::format("the type {} at {} does not exist", t.dump(), at));
            out.push_back(t);
        }
        if (out.empty()) return nothing_fits(at);
        return out;
    }

    Result<std::string> literals(const Json& s, const std::string& at) {
        if (!only(s, {"const", "enum", "type"}))
            return unsupported(
                fmt::format("const or enum at {} stands beside other conditions; "
                            "leave out the values that do not meet them",
                            at));
        Json values = s.contains("const") ? Json::array({s.at("const")}) : s.at("enum");
        if (!values.is_array()) return invalid(fmt::format("the enum at {} is no list", at));
        RIDGE_ASSIGN(const auto allowed, types(s, at));
        std::string out;
        for (const Json& v : values) {
            if (s.contains("const") && s.contains("enum")) {
                const Json& list = s.at("enum");
                if (std::find(list.begin(), list.end(), v) == list.end()) continue;
            }
            bool fits = allowed.empty();
            for (const std::string& t : allowed) fits = fits || has_type(t, v);
            if (fits) out += (out.empty() ? "" : " | ") + schema::literal_gbnf(v);
        }
        if (out.empty()) return nothing_fits(at);
        return out;
    }

    Result<std::string> by_type(const Json& s, const std::string& at) {
        RIDGE_ASSIGN(std::vector<std::string> list, types(s, at));
        if (list.empty()) {  // what the conditions are about; they let everything else pass
            const auto about = [&](const char* type, std::initializer_list<const char*> keys) {
                for (const char* key : keys)
                    if (s.contains(key)) {
                        list.push_back(type);
                        return;
                    }
            };
            about("object", {"properties", "required", "additionalProperties", "minProperties",
                             "maxProperties"});
            about("array", {"items", "prefixItems", "additionalItems", "minItems", "maxItems",
                            "uniqueItems"});
            about("string", {"minLength", "maxLength", "pattern", "format"});
            about("number",
                  {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"});
        }
        if (list.empty()) return std::string("value");
        std::string out;
        for (const std::string& type : list) {
            RIDGE_ASSIGN(const std::string one, of_type(type, s, at));
            out += (out.empty() ? "" : " | ") + one;
        }
        return out;
    }

    Result<std::string> of_type(const std::string& type, const Json& s, const std::string& at) {
        if (type == "null") return std::string("\"null\"");
        if (type == "boolean") return std::string("(\"true\" | \"false\")");
        if (type == "string") return text(s, at);
        if (type == "array") return array(s, at);
        if (type == "object") return object(s, at);
        return number(type == "integer", s, at);
    }

    Result<std::string> number(bool integer, const Json& s, const std::string& at) {
        if (s.contains("multipleOf") && !(integer && s.at("multipleOf") == 1))
            return unsupported(fmt::format("the keyword 'multipleOf' at {} is not supported", at));
        schema::Bounds b;
        const auto read = [&](const char* key, bool low, bool open) -> Status {
            if (!s.contains(key) || s.at(key).is_boolean()) return {};
            const Json& v = s.at(key);
            if (!v.is_number()) return invalid(fmt::format("{} at {} is no number", key, at));
            const double d = v.get<double>();
            if (std::abs(d) > static_cast<double>(schema::kMaxBound))
                return unsupported(fmt::format("{} at {} lies beyond 10^18", key, at));
            int64_t bound = 0;
            if (v.is_number_integer()) {
                bound = v.get<int64_t>();
            } else if (std::floor(d) == d) {
                bound = static_cast<int64_t>(d);
            } else if (integer) {
                bound = static_cast<int64_t>(low ? std::ceil(d) : std::floor(d));
                open = false;
            } else {
                return unsupported(fmt::format(
                    "{} at {} is no whole number, which ridge cannot bound numbers by", key, at));
            }
            auto& mine = low ? b.low : b.high;
            bool& mine_open = low ? b.low_open : b.high_open;
            if (mine && (low ? bound < *mine : bound > *mine)) return {};
            mine_open = (mine && bound == *mine) ? (mine_open || open) : open;
            mine = bound;
            return {};
        };
        const auto is_true = [&](const char* key) {
            return s.contains(key) && s.at(key).is_boolean() && s.at(key).get<bool>();
        };
        RIDGE_TRY(read("minimum", true, is_true("exclusiveMinimum")));  // a flag in draft 4
        RIDGE_TRY(read("maximum", false, is_true("exclusiveMaximum")));
        RIDGE_TRY(read("exclusiveMinimum", true, true));
        RIDGE_TRY(read("exclusiveMaximum", false, true));
        const auto out = integer ? schema::integer_gbnf(b) : schema::number_gbnf(b);
        if (!out) return nothing_fits(at);
        return *out;
    }

    // A count such as maxItems; `otherwise` where it is absent.
    Result<uint64_t> count(const Json& s, const char* key, uint64_t otherwise,
                           const std::string& at) const {
        if (!s.contains(key)) return otherwise;
        const Json& v = s.at(key);
        if (!v.is_number() || v.get<double>() < 0 || v.get<double>() > 1e6 ||
            std::floor(v.get<double>()) != v.get<double>())
            return unsupported(
                fmt::format("{} at {} is no whole number from 0 to a million", key, at));
        return static_cast<uint64_t>(v.get<double>());
    }
    static constexpr uint64_t kEndless = UINT64_MAX;
    static std::string times(uint64_t least, uint64_t most) {
        return most == kEndless ? fmt::format("{{{},}}", least)
                                : fmt::format("{{{},{}}}", least, most);
    }

    Result<std::string> text(const Json& s, const std::string& at) {
        RIDGE_ASSIGN(const uint64_t least, count(s, "minLength", 0, at));
        RIDGE_ASSIGN(const uint64_t most, count(s, "maxLength", kEndless, at));
        const bool bounded = least > 0 || most != kEndless;
        if ((s.contains("pattern") ? 1 : 0) + (s.contains("format") ? 1 : 0) + (bounded ? 1 : 0) >
            1)
            return unsupported(
                fmt::format("pattern, format and length at {} stand together; ridge "
                            "takes one of them",
                            at));
        if (s.contains("pattern")) {
            if (!s.at("pattern").is_string())
                return invalid("the pattern at " + at + " is no text");
            auto out = schema::pattern_gbnf(s.at("pattern").get<std::string>());
            if (!out)
                return fail(out.error().code, out.error().message + " (at " + at + "/pattern)");
            return out;
        }
        if (s.contains("format")) {
            if (!s.at("format").is_string()) return invalid("the format at " + at + " is no text");
            const auto out = schema::format_gbnf(s.at("format").get<std::string>());
            if (!out)
                return unsupported(fmt::format(
                    "the format {} at {} is not supported; there are date, time, date-time, uuid, "
                    "ipv4, ipv6, hostname, email and uri",
                    s.at("format").dump(), at));
            return *out;
        }
        if (!bounded) return std::string("string");
        if (least > most) return nothing_fits(at);
        return "\"\\\"\" char" + times(least, most) + " \"\\\"\"";
    }

    Result<std::string> array(const Json& s, const std::string& at) {
        RIDGE_ASSIGN(const uint64_t least, count(s, "minItems", 0, at));
        RIDGE_ASSIGN(uint64_t most, count(s, "maxItems", kEndless, at));
        if (s.contains("uniqueItems") && s.at("uniqueItems") != false && most > 1)
            return unsupported(fmt::format("the keyword 'uniqueItems' at {} is not supported", at));
        // Draft 7: a list of items is what later is prefixItems, additionalItems what is items.
        const bool old = s.contains("items") && s.at("items").is_array();
        const Json prefix = old ? s.at("items") : s.value("prefixItems", Json::array());
        const Json rest =
            old ? s.value("additionalItems", Json(true)) : s.value("items", Json(true));
        if (!prefix.is_array()) return invalid("prefixItems at " + at + " is no list");
        if (rest == Json(false)) most = std::min<uint64_t>(most, prefix.size());
        if (least > most) return nothing_fits(at);
        if (most == 0) return std::string("\"[\" ws \"]\"");
        // From the last item back: each is followed by those behind it, or by nothing.
        std::string tail;
        const uint64_t fixed = std::min<uint64_t>(prefix.size(), most);
        if (most > fixed) {
            RIDGE_ASSIGN(const std::string item,
                         rule_for(rest, at + (old ? "/additionalItems" : "/items")));
            const uint64_t more = most == kEndless ? kEndless : most - fixed;
            const uint64_t needed = least > fixed ? least - fixed : 0;
            if (fixed > 0) {
                tail = " (\",\" ws " + item + ")" + times(needed, more);
            } else {
                const std::string list =
                    item + " (\",\" ws " + item + ")" +
                    times(needed > 0 ? needed - 1 : 0, more == kEndless ? kEndless : more - 1);
                return "\"[\" ws " + (needed > 0 ? list + " ws" : "(" + list + " ws)?") + " \"]\"";
            }
        }
        for (uint64_t i = fixed; i-- > 0;) {
            RIDGE_ASSIGN(
                const std::string item,
                rule_for(prefix[i], fmt::format("{}/{}/{}", at, old ? "items" : "prefixItems", i)));
            const std::string name = helper((i > 0 ? "\",\" ws " : "") + item + tail);
            tail = " " + name + (i < least ? "" : "?");
        }
        return "\"[\" ws" + tail + " ws \"]\"";
    }

    std::string helper(const std::string& text) {
        const std::string name = fmt::format("h{}", helpers_++);
        extra_ += name + " ::= " + text + "\n";
        ++rules_;
        return name;
    }

    Result<std::string> object(const Json& s, const std::string& at) {
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
                         rule_for(value, at + "/properties" + schema::pointer_step(name)));
            members.push_back({schema::gbnf_text(Json(name).dump() + ":") + " ws " + rule, needed});
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
            first =
                m.required ? helper(here) : helper(here + " | " + (first.empty() ? "\"\"" : first));
            after = helper("(\",\" ws " + pair + ")" + (m.required ? "" : "?") +
                           (after.empty() ? "" : " " + after));
        }
        return "\"{\" ws " + (first.empty() ? "" : first + " ws ") + "\"}\"";
    }

    // The keys that are none of those named. They are written without escapes, so that none of them
    // is spelled differently: then they differ from each name at some character.
    struct KeyNode {
        std::map<uint32_t, size_t> next;
        bool end = false;
    };
    Result<std::string> other_key(const Json& properties, const std::string& at) {
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

    Json root_;
    std::map<std::string, std::string> known_;  // schema as text: its rule
    std::deque<Work> queue_;
    std::string extra_;  // helper rules of the schema at hand
    size_t helpers_ = 0, rules_ = 0;
};

}  // namespace

Result<std::string> json_schema_to_gbnf(std::string_view text) {
    RIDGE_TRY(check_text(text));
    Json root = Json::parse(text.begin(), text.end(), nullptr, false);
    if (root.is_discarded()) return invalid("the JSON schema is no JSON");
    return SchemaCompiler(std::move(root)).run();
}

}  // namespace ridge
