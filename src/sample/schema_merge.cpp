// References, merging and mutual exclusion of schemas.
#include <fmt/format.h>

#include <algorithm>

#include "sample/schema_parts.hpp"

namespace ridge::schema {
namespace {

// References and allOf that lead on to others, while one schema is put together: bounds both the
// depth of the recursion and, where they fan out, its time.
constexpr int kMaxSteps = 200;

bool is_one_of(std::string_view key, std::initializer_list<std::string_view> keys) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
}

Json types_of(const Json& schema) {
    if (!schema.contains("type")) return Json();
    const Json& t = schema.at("type");
    return t.is_array() ? t : Json::array({t});
}

// The types that both lists have; "integer" is a "number".
Json common_types(const Json& a, const Json& b) {
    Json out = Json::array();
    const auto has = [](const Json& list, const char* name) {
        return std::find(list.begin(), list.end(), Json(name)) != list.end();
    };
    for (const Json& t : a) {
        if (std::find(b.begin(), b.end(), t) != b.end() || (t == "integer" && has(b, "number")))
            out.push_back(t);
        else if (t == "number" && has(b, "integer"))
            out.push_back("integer");
    }
    return out;
}

// `key` in one of two object schemas, seen from the other: what that one says about properties that
// it does not name.
Json seen_from(const Json& schema, const Json& other, const std::string& key) {
    if (other.contains("properties") && other.at("properties").contains(key))
        return Json{{"allOf", Json::array({schema, other.at("properties").at(key)})}};
    if (!other.contains("additionalProperties")) return schema;
    const Json& rest = other.at("additionalProperties");
    if (rest.is_boolean()) return rest.get<bool>() ? schema : Json(false);
    return Json{{"allOf", Json::array({schema, rest})}};
}

Result<Json> merge(const Json& root, const Json& first, const Json& second, const std::string& at,
                   int& steps);

// The schema with its $ref and allOf taken apart.
Result<Json> flat(const Json& root, const Json& schema, const std::string& at, int& steps) {
    if (++steps > kMaxSteps)
        return unsupported(
            fmt::format("references and allOf at {} lead on more than {} times", at, kMaxSteps));
    if (!schema.is_object() || (!schema.contains("$ref") && !schema.contains("allOf")))
        return schema;
    Json rest = schema;
    rest.erase("$ref");
    rest.erase("allOf");
    Json all(true);  // what is referred to comes first, as a base class does
    if (schema.contains("$ref")) {
        if (!schema.at("$ref").is_string())
            return unsupported(fmt::format("the $ref at {} is no text", at));
        RIDGE_ASSIGN(const Json* const target, resolve(root, schema.at("$ref"), at));
        RIDGE_ASSIGN(all, merge(root, all, *target, at, steps));
    }
    if (schema.contains("allOf")) {
        if (!schema.at("allOf").is_array())
            return unsupported(fmt::format("the allOf at {} is no list", at));
        for (const Json& part : schema.at("allOf")) {
            RIDGE_ASSIGN(all, merge(root, all, part, at, steps));
        }
    }
    return merge(root, all, rest, at, steps);
}

Result<Json> merge(const Json& root, const Json& first, const Json& second, const std::string& at,
                   int& steps) {
    RIDGE_ASSIGN(const Json a, flat(root, first, at, steps));
    RIDGE_ASSIGN(const Json b, flat(root, second, at, steps));
    if (a.is_boolean()) return a.get<bool>() ? b : a;
    if (b.is_boolean()) return b.get<bool>() ? a : b;
    if (!a.is_object() || !b.is_object()) return invalid("there is no schema at " + at);
    Json out = a;
    for (const auto& [key, value] : b.items()) {
        if (key == "properties") continue;
        if (!out.contains(key)) {
            out[key] = value;
            continue;
        }
        Json& mine = out[key];
        if (mine == value || is_annotation(key)) continue;
        if (key == "type") {
            const Json types = common_types(types_of(a), types_of(b));
            if (types.empty()) return Json(false);
            mine = types.size() == 1 ? types[0] : types;
        } else if (key == "required" && mine.is_array() && value.is_array()) {
            for (const Json& name : value)
                if (std::find(mine.begin(), mine.end(), name) == mine.end()) mine.push_back(name);
        } else if (is_one_of(key, {"minimum", "exclusiveMinimum", "minLength", "minItems",
                                   "minProperties"}) &&
                   mine.is_number() && value.is_number()) {
            if (mine < value) mine = value;
        } else if (is_one_of(key, {"maximum", "exclusiveMaximum", "maxLength", "maxItems",
                                   "maxProperties"}) &&
                   mine.is_number() && value.is_number()) {
            if (value < mine) mine = value;
        } else if (key == "enum" && mine.is_array() && value.is_array()) {
            Json common = Json::array();
            for (const Json& x : mine)
                if (std::find(value.begin(), value.end(), x) != value.end()) common.push_back(x);
            if (common.empty()) return Json(false);
            mine = common;
        } else if (key == "const") {
            return Json(false);
        } else if (is_one_of(key, {"items", "additionalProperties"}) &&
                   (!a.contains("prefixItems") && !b.contains("prefixItems"))) {
            mine = Json{{"allOf", Json::array({mine, value})}};
        } else {
            return unsupported(
                fmt::format("'{}' is said twice, differently, at {}; ridge cannot "
                            "merge that",
                            key, at));
        }
    }
    if (b.contains("properties") ||
        (a.contains("properties") && b.contains("additionalProperties"))) {
        Json all = Json::object();
        const auto add = [&](const Json& from, const Json& other) {
            if (!from.contains("properties") || !from.at("properties").is_object()) return;
            for (const auto& [key, value] : from.at("properties").items())
                if (!all.contains(key)) all[key] = seen_from(value, other, key);
        };
        add(a, b);
        add(b, a);
        out["properties"] = all;
    }
    return out;
}

bool exclusive(const Json& root, const Json& first, const Json& second, int& steps) {
    const auto a = flat(root, first, "", steps), b = flat(root, second, "", steps);
    if (!a || !b) return false;
    if (*a == Json(false) || *b == Json(false)) return true;
    if (!a->is_object() || !b->is_object()) return false;
    const auto values = [](const Json& s) {
        if (s.contains("const")) return Json::array({s.at("const")});
        return s.contains("enum") && s.at("enum").is_array() ? s.at("enum") : Json();
    };
    const Json x = values(*a), y = values(*b);
    if (x.is_array() && y.is_array())
        return std::none_of(x.begin(), x.end(), [&](const Json& v) {
            return std::find(y.begin(), y.end(), v) != y.end();
        });
    const auto fits = [](const Json& types, const Json& v) {
        if (types.is_null()) return true;
        for (const Json& t : types)
            if ((t == "null" && v.is_null()) || (t == "boolean" && v.is_boolean()) ||
                (t == "string" && v.is_string()) || (t == "object" && v.is_object()) ||
                (t == "array" && v.is_array()) || (t == "number" && v.is_number()) ||
                (t == "integer" && v.is_number()))
                return true;
        return false;
    };
    const Json s = types_of(*a), t = types_of(*b);
    if (x.is_array())
        return std::none_of(x.begin(), x.end(), [&](const Json& v) { return fits(t, v); });
    if (y.is_array())
        return std::none_of(y.begin(), y.end(), [&](const Json& v) { return fits(s, v); });
    if (s.is_array() && t.is_array() && common_types(s, t).empty()) return true;
    // Two kinds of object that a required property tells apart.
    if (s != Json::array({"object"}) && t != Json::array({"object"})) return false;
    for (const Json* one : {&*a, &*b})
        if (!one->contains("properties") || !one->contains("required") ||
            !one->at("properties").is_object() || !one->at("required").is_array())
            return false;
    for (const Json& name : a->at("required")) {
        if (!name.is_string()) continue;
        const Json& theirs = b->at("required");
        if (std::find(theirs.begin(), theirs.end(), name) == theirs.end()) continue;
        const std::string key = name.get<std::string>();
        if (a->at("properties").contains(key) && b->at("properties").contains(key) &&
            exclusive(root, a->at("properties").at(key), b->at("properties").at(key), steps))
            return true;
    }
    return false;
}

}  // namespace

Result<const Json*> resolve(const Json& root, const std::string& ref, const std::string& at) {
    if (ref.empty() || ref[0] != '#')
        return unsupported(
            fmt::format("the $ref '{}' at {} leads out of the schema; ridge follows "
                        "those that begin with # alone",
                        ref, at));
    const auto missing = [&] {
        return fail(ErrorCode::not_found,
                    fmt::format("the $ref '{}' at {} names nothing in the schema", ref, at));
    };
    if (ref.size() > 1 && ref[1] != '/') return missing();  // an anchor
    const Json* here = &root;
    for (size_t i = 1; i < ref.size();) {
        std::string step;
        for (++i; i < ref.size() && ref[i] != '/'; ++i) {
            if (ref[i] == '~' && i + 1 < ref.size()) {
                step += ref[++i] == '0' ? '~' : '/';
            } else if (ref[i] == '%' && i + 2 < ref.size() && isxdigit(ref[i + 1]) != 0 &&
                       isxdigit(ref[i + 2]) != 0) {
                step += static_cast<char>(std::stoi(ref.substr(i + 1, 2), nullptr, 16));
                i += 2;
            } else {
                step += ref[i];
            }
        }
        if (here->is_object() && here->contains(step)) {
            here = &here->at(step);
        } else if (here->is_array() && !step.empty() && step.size() < 7 &&
                   step.find_first_not_of("0123456789") == std::string::npos &&
                   std::stoul(step) < here->size()) {
            here = &here->at(std::stoul(step));
        } else {
            return missing();
        }
    }
    return here;
}

Result<Json> merged(const Json& root, const Json& a, const Json& b, const std::string& at) {
    int steps = 0;
    return merge(root, a, b, at, steps);
}

bool exclude_each_other(const Json& root, const Json& a, const Json& b) {
    int steps = 0;
    return exclusive(root, a, b, steps);
}

}  // namespace ridge::schema
