#include "sample/json_schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "base/json_outline.hpp"
#include "sample/schema_compiler.hpp"

namespace ridge::schema {
namespace {

constexpr size_t kMaxSchema = size_t{1} << 20;  // bytes
constexpr size_t kMaxNesting = 64;
constexpr size_t kMaxMembers = 10000;
constexpr size_t kMaxGrammar = size_t{8} << 20;  // bytes of the result

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

// Does the schema say nothing but these (and annotations)?
bool only(const Json& s, std::initializer_list<std::string_view> keys) {
    for (const auto& [key, value] : s.items())
        if (!is_annotation(key) && std::find(keys.begin(), keys.end(), key) == keys.end())
            return false;
    return true;
}

Status check_keywords(const Json& s, const std::string& at) {
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
        if (known.count(key) == 0 && !is_annotation(key))
            return unsupported(fmt::format("the keyword '{}' at {} is not supported", key, at));
    return {};
}

bool has_type(const std::string& type, const Json& v) {
    if (type == "integer")
        return v.is_number_integer() ||
               (v.is_number_float() && std::floor(v.get<double>()) == v.get<double>());
    return (type == "null" && v.is_null()) || (type == "boolean" && v.is_boolean()) ||
           (type == "number" && v.is_number()) || (type == "string" && v.is_string()) ||
           (type == "array" && v.is_array()) || (type == "object" && v.is_object());
}

Result<std::vector<std::string>> types(const Json& s, const std::string& at) {
    std::vector<std::string> out;
    if (!s.contains("type")) return out;
    const Json list = s.at("type").is_array() ? s.at("type") : Json::array({s.at("type")});
    for (const Json& t : list) {
        static const std::set<std::string_view> names = {"null",   "boolean", "integer", "number",
                                                         "string", "array",   "object"};
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
        if (fits) out += (out.empty() ? "" : " | ") + literal_gbnf(v);
    }
    if (out.empty()) return nothing_fits(at);
    return out;
}

}  // namespace

Result<std::string> SchemaCompiler::run() {
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
    return out + kCommonRules;
}

Result<std::string> SchemaCompiler::rule_for(const Json& given, const std::string& place) {
    const Json* target = &given;
    std::string at = place;
    for (int hops = 0; target->is_object() && target->contains("$ref") && only(*target, {"$ref"});
         ++hops) {
        if (hops == 64)
            return unsupported("the $ref at " + place +
                               " leads on 64 times, or around in a circle");
        const Json& ref = target->at("$ref");
        if (!ref.is_string()) return invalid("the $ref at " + at + " is no text");
        RIDGE_ASSIGN(target, resolve(root_, ref.get<std::string>(), at));
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

Result<std::string> SchemaCompiler::body(const Json& s, const std::string& at, int depth) {
    if (s.is_boolean()) return rule_for(s, at);
    if (!s.is_object()) return invalid("there is no schema at " + at);
    RIDGE_TRY(check_keywords(s, at));
    if (s.contains("$ref") || s.contains("allOf")) {
        if (depth > 0) return unsupported("allOf and $ref at " + at + " lead around in a circle");
        RIDGE_ASSIGN(const Json all, merged(root_, s, Json(true), at));
        return body(all, at, depth + 1);
    }
    for (const char* key : {"anyOf", "oneOf"})
        if (s.contains(key)) return one_of(s, key, at);
    if (s.contains("const") || s.contains("enum")) return literals(s, at);
    return by_type(s, at);
}

Result<std::string> SchemaCompiler::one_of(const Json& s, const std::string& key,
                                           const std::string& at) {
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
            RIDGE_ASSIGN(branch, merged(root_, rest, branches[i], here));
        }
        fitting.push_back(std::move(branch));
    }
    if (key == "oneOf" && fitting.size() > 200)
        return unsupported(fmt::format("oneOf at {} has more than 200 branches", at));
    if (key == "oneOf")
        for (size_t i = 0; i < fitting.size(); ++i)
            for (size_t j = 0; j < i; ++j)
                if (!exclude_each_other(root_, fitting[i], fitting[j]))
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

Result<std::string> SchemaCompiler::by_type(const Json& s, const std::string& at) {
    RIDGE_ASSIGN(std::vector<std::string> list, types(s, at));
    if (list.empty()) {  // what the conditions are about; they let everything else pass
        const auto about = [&](const char* type, std::initializer_list<const char*> keys) {
            for (const char* key : keys)
                if (s.contains(key)) {
                    list.push_back(type);
                    return;
                }
        };
        about("object",
              {"properties", "required", "additionalProperties", "minProperties", "maxProperties"});
        about("array",
              {"items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems"});
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

Result<std::string> SchemaCompiler::of_type(const std::string& type, const Json& s,
                                            const std::string& at) {
    if (type == "null") return std::string("\"null\"");
    if (type == "boolean") return std::string("(\"true\" | \"false\")");
    if (type == "string") return text(s, at);
    if (type == "array") return array(s, at);
    if (type == "object") return object(s, at);
    return number(type == "integer", s, at);
}

}  // namespace ridge::schema

namespace ridge {

Result<std::string> json_schema_to_gbnf(std::string_view text) {
    RIDGE_TRY(schema::check_text(text));
    schema::Json root = schema::Json::parse(text.begin(), text.end(), nullptr, false);
    if (root.is_discarded()) return schema::invalid("the JSON schema is no JSON");
    return schema::SchemaCompiler(std::move(root)).run();
}

}  // namespace ridge
