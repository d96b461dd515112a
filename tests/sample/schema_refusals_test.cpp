// JSON schemas that ridge refuses: each kind by its sentence, so that none comes through as a
// grammar that allows more than the schema. Its neighbour that is fine stands beside each limit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sample/grammar_matcher.hpp"
#include "sample/json_schema.hpp"

namespace ridge {
namespace {

std::string refusal(const std::string& schema) {
    const auto text = json_schema_to_gbnf(schema);
    return text ? "accepted" : text.error().message;
}
void expect_refused(const std::string& schema, const std::vector<std::string>& parts) {
    const std::string message = refusal(schema);
    EXPECT_NE(message, "accepted") << schema;
    for (const std::string& part : parts)
        EXPECT_NE(message.find(part), std::string::npos) << schema << "\n" << message;
}

// Does the schema's grammar take this text as a whole?
bool takes(const std::string& schema, std::string_view text) {
    const auto gbnf = json_schema_to_gbnf(schema);
    EXPECT_TRUE(gbnf.has_value()) << schema << "\n" << (gbnf ? "" : gbnf.error().message);
    if (!gbnf) return false;
    const auto grammar = Grammar::parse(*gbnf);
    EXPECT_TRUE(grammar.has_value()) << *gbnf << (grammar ? "" : grammar.error().message);
    if (!grammar) return false;
    GrammarMatcher m(*grammar, TokenTrie::of(std::span<const std::string_view>{}));
    return m.accept_text(text).has_value() && m.complete();
}

TEST(SchemaRefusals, KeywordsOfTheWrongKind) {
    const std::pair<const char*, std::vector<std::string>> cases[] = {
        {R"({"$ref":7})", {"$ref at #", "no text"}},
        {R"({"$ref":7,"type":"string"})", {"$ref at #", "no text"}},
        {R"({"allOf":{}})", {"allOf at #", "no list"}},
        {R"({"allOf":[[1]]})", {"no schema at #"}},
        {R"({"allOf":[3,{"type":"string"}]})", {"no schema at #"}},
        {R"({"properties":{"a":3}})", {"no schema at #/properties/a"}},
        {R"({"anyOf":{}})", {"anyOf at #", "no list of schemas"}},
        {R"({"anyOf":[]})", {"anyOf at #", "no list of schemas"}},
        {R"({"type":[]})", {"no value fits", "#"}},
        {R"({"type":3})", {"type 3 at #"}},
        {R"({"type":["string",null]})", {"type null at #"}},
        {R"({"enum":"a"})", {"enum at #", "no list"}},
        {R"({"enum":[]})", {"no value fits"}},
        {R"({"enum":["a"],"type":"text"})", {"\"text\"", "does not exist"}},
        {R"({"const":1,"enum":[2,3]})", {"no value fits"}},
        {R"({"type":"number","minimum":"1"})", {"minimum at #", "no number"}},
        {R"({"type":"integer","exclusiveMaximum":[1]})", {"exclusiveMaximum at #", "no number"}},
        {R"({"type":"string","pattern":3})", {"pattern at #", "no text"}},
        {R"({"type":"string","format":3})", {"format at #", "no text"}},
        {R"({"type":"string","minLength":"1"})", {"minLength at #", "whole number"}},
        {R"({"type":"string","minLength":1.5})", {"minLength at #", "whole number"}},
        {R"({"type":"string","maxLength":1000001})", {"maxLength at #", "a million"}},
        {R"({"type":"string","minLength":3,"maxLength":2})", {"no value fits"}},
        {R"({"type":"string","format":"date","minLength":3})", {"format", "length"}},
        {R"({"type":"array","minItems":-1})", {"minItems at #"}},
        {R"({"type":"array","maxItems":"2"})", {"maxItems at #"}},
        {R"({"type":"array","minItems":3,"maxItems":2})", {"no value fits"}},
        {R"({"type":"array","items":false,"minItems":1})", {"no value fits"}},
        {R"({"type":"array","prefixItems":{}})", {"prefixItems at #", "no list"}},
        {R"({"type":"array","prefixItems":[false],"minItems":1})", {"no value fits"}},
        {R"({"type":"array","items":{"type":"x"}})", {"#/items"}},
        {R"({"type":"array","items":[{"not":{}}]})", {"'not'", "#/items/0"}},
        {R"({"type":"array","items":[true],"additionalItems":{"not":{}}})",
         {"'not'", "#/additionalItems"}},
        {R"({"type":"object","required":"a"})", {"required at #", "no list"}},
        {R"({"type":"object","required":[1]})", {"required at #", "names no text"}},
        {R"({"type":"object","minProperties":-1})", {"minProperties at #"}},
        {R"({"type":"object","maxProperties":1.5})", {"maxProperties at #"}},
        {R"({"type":"object","properties":{"a":{}},"additionalProperties":{"not":{}}})",
         {"'not'", "#/additionalProperties"}},
        {R"({"type":["string","object"],"required":"a"})", {"required at #"}},
        {R"({"type":"integer","multipleOf":2})", {"'multipleOf'"}},
        {R"({"type":"integer","minimum":2,"exclusiveMaximum":2})", {"no value fits"}},
        {R"({"type":"number","maximum":-1,"exclusiveMinimum":-1})", {"no value fits"}},
    };
    for (const auto& [schema, parts] : cases) expect_refused(schema, parts);
}

TEST(SchemaRefusals, ReferencesThatLeadNowhere) {
    const std::string defs = R"("$defs":{"a~b":{"type":"null"},"c%d":[{"type":"null"}]})";
    const auto to = [&](const std::string& ref) {
        return "{" + defs +
               ",\"type\":\"object\",\"required\":[\"x\"],\"properties\":{\"x\":{"
               "\"$ref\":\"" +
               ref + "\"}}}";
    };
    for (const char* ref : {"#/$defs/a~0b", "#/$defs/c%25d/0", "#/%24defs/a~0b"}) {
        EXPECT_TRUE(takes(to(ref), R"({"x":null})")) << ref;
        EXPECT_FALSE(takes(to(ref), R"({"x":1})")) << ref;
    }
    for (const char* ref :
         {"#anchor", "#/$defs/c%25d/1", "#/$defs/c%25d/", "#/$defs/c%25d/x",
          "#/$defs/c%25d/0000000", "#/$defs/a~1b", "#/$defs/none", "#/type/0", "#/$defs/c%2"})
        expect_refused(to(ref), {ref, "names nothing", "#/properties/x"});
    for (const char* ref : {"", "a.json", "a.json#/$defs/x"})
        expect_refused(to(ref), {"leads out of the schema"});
}

TEST(SchemaRefusals, ChainsOfReferencesEnd) {
    const auto chain = [](int n) {
        std::string defs;
        for (int i = 0; i < n; ++i)
            defs += fmt::format(R"("d{}":{{"$ref":"#/$defs/d{}"}},)", i, i + 1);
        return fmt::format(
            R"({{"$defs":{{{}"d{}":{{"type":"null"}}}},"items":{{"$ref":"#/$defs/d0"}}}})", defs,
            n);
    };
    EXPECT_TRUE(takes(chain(60), "[null, null]"));
    expect_refused(chain(70), {"64 times"});
    // References beside other words are merged; they fan out, and the steps are counted.
    std::string defs;
    for (int i = 0; i < 20; ++i)
        defs += fmt::format(
            R"("d{0}":{{"allOf":[{{"$ref":"#/$defs/d{1}"}},{{"$ref":"#/$defs/d{1}"}}]}},)", i,
            i + 1);
    expect_refused(
        "{\"$defs\":{" + defs + R"("d20":{"type":"null"}},"allOf":[{"$ref":"#/$defs/d0"}]})",
        {"more than 200 times"});
}

TEST(SchemaRefusals, WhatCannotBeMerged) {
    const auto both = [](const char* a, const char* b) {
        return fmt::format(R"({{"allOf":[{},{}]}})", a, b);
    };
    expect_refused(both(R"({"const":1})", R"({"const":2})"), {"no value fits"});
    expect_refused(both(R"({"enum":[1,2]})", R"({"enum":[3]})"), {"no value fits"});
    expect_refused(both(R"({"type":"integer"})", R"({"type":"string"})"), {"no value fits"});
    expect_refused(both(R"({"format":"date"})", R"({"format":"time"})"), {"'format'", "merge"});
    expect_refused(
        both(R"({"prefixItems":[{}],"items":{"type":"null"}})", R"({"items":{"type":"string"}})"),
        {"'items'", "merge"});
    expect_refused(both(R"({"required":["a"]})", R"({"required":"b"})"), {"'required'", "merge"});
    expect_refused(both(R"({"minimum":1})", R"({"minimum":"b"})"), {"'minimum'", "merge"});
    expect_refused(both(R"({"maximum":1})", R"({"maximum":"b"})"), {"'maximum'", "merge"});
    expect_refused(both(R"({"$ref":"#/none"})", R"({"minimum":1})"), {"#/none"});
}

TEST(SchemaRefusals, WhatIsMergedHoldsBothParts) {
    const auto both = [](const char* a, const char* b) {
        return fmt::format(R"({{"allOf":[{},{}]}})", a, b);
    };
    struct Case {
        std::string schema;
        std::vector<const char*> good, bad;
    };
    const Case cases[] = {
        {both(R"({"type":"integer","minimum":3,"maximum":20})",
              R"({"type":"number","minimum":5,"maximum":9})"),
         {"5", "9"},
         {"4", "10", "5.5"}},
        {both(R"({"type":"number","minimum":5})", R"({"type":"integer","minimum":3})"),
         {"5", "6"},
         {"4", "5.5"}},
        {both(R"({"type":["string","null"]})", R"({"type":["null","boolean","string"]})"),
         {"null", "\"a\""},
         {"true"}},
        {both(R"({"type":"string","minLength":2,"maxLength":9})",
              R"({"minLength":1,"maxLength":3})"),
         {"\"ab\"", "\"abc\""},
         {"\"a\"", "\"abcd\""}},
        {both(R"({"enum":["a","b","c"]})", R"({"enum":["c","b","d"]})"),
         {"\"b\"", "\"c\""},
         {"\"a\"", "\"d\""}},
        {both(R"({"type":"array","items":{"type":"number"},"maxItems":3})",
              R"({"items":{"type":"integer"},"maxItems":2,"minItems":1})"),
         {"[1]", "[1, 2]"},
         {"[]", "[1.5]", "[1, 2, 3]"}},
        {both("true", R"({"type":"null"})"), {"null"}, {"1"}},
        {both(R"({"type":"null"})", "true"), {"null"}, {"1"}},
        // A property of one, and what the other says about those that it does not name.
        {both(R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]})",
              R"({"type":"object","additionalProperties":{"type":"number"}})"),
         {R"({"a":1})"},
         {R"({"a":1.5})", R"({"a":"x"})"}},
        {both(R"({"type":"object","properties":{"a":{"type":"integer"}}})",
              R"({"type":"object","additionalProperties":false})"),
         {"{}"},
         {R"({"a":1})"}},
        {both(R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]})",
              R"({"type":"object","properties":{"b":{"type":"null"}},"required":["b"],)"
              R"("additionalProperties":true})"),
         {R"({"a":1,"b":null})"},
         {R"({"b":null})", R"({"a":1})"}},
        {both(R"({"title":"one","type":"null"})", R"({"title":"two"})"), {"null"}, {"1"}},
        {R"({"anyOf":[{"minimum":5},{"maximum":-5}],"type":"integer"})", {"5", "-5"}, {"0"}},
        {R"({"anyOf":[false,{"type":"null"}]})", {"null"}, {"1"}},
        {R"({"const":2,"enum":[1,2]})", {"2"}, {"1"}},
        {R"({"enum":[1,"1",1.0,null,[],{"a":[1,{}]}],"type":["array","object"]})",
         {"[]", R"({"a":[1, {}]})"},
         {"1", "\"1\"", "null"}},
        {R"({"enum":[1,1.5,2.0,"x"],"type":"integer"})", {"1", "2.0"}, {"1.5", "\"x\""}},
        {R"({"enum":[true,1,"x"],"type":"boolean"})", {"true"}, {"1"}},
        {R"({"enum":[true,1,"x"],"type":["number","string"]})", {"1", "\"x\""}, {"true"}},
        {R"({"type":"number","exclusiveMinimum":true,"minimum":2,"maximum":3})",
         {"2.5", "3"},
         {"2", "2.0", "3.5"}},
        {R"({"type":"integer","minimum":2.5,"maximum":4.5})", {"3", "4"}, {"2", "5"}},
        {R"({"type":"integer","minimum":3.0,"maximum":4.0})", {"3", "4"}, {"2", "5"}},
        {R"({"type":"number","minimum":3.0,"maximum":4.0})", {"3.5", "4"}, {"2.5", "4.5"}},
        {R"({"type":"integer","minimum":2,"exclusiveMinimum":2})", {"3"}, {"2"}},
        {R"({"type":"integer","minimum":3,"exclusiveMinimum":1})", {"3"}, {"2"}},
        {R"({"type":"integer","maximum":3,"exclusiveMaximum":9})", {"3"}, {"4"}},
    };
    for (const Case& c : cases) {
        for (const char* text : c.good) EXPECT_TRUE(takes(c.schema, text)) << c.schema << text;
        for (const char* text : c.bad) EXPECT_FALSE(takes(c.schema, text)) << c.schema << text;
    }
}

TEST(SchemaRefusals, BranchesOfOneOfMustExcludeEachOther) {
    const auto one_of = [](const char* a, const char* b) {
        return fmt::format(R"({{"oneOf":[{},{}]}})", a, b);
    };
    const std::pair<const char*, const char*> apart[] = {
        {R"({"const":1})", R"({"const":2})"},
        {R"({"enum":["a","b"]})", R"({"enum":["c"]})"},
        {R"({"const":"a"})", R"({"type":"integer"})"},
        {R"({"type":["array","object"]})", R"({"enum":[null,true,1]})"},
        {R"({"type":"null"})", R"({"type":["string","boolean"]})"},
        {"false", R"({"type":"string"})"},
        {R"({"type":"object","properties":{"k":{"const":"a"}},"required":["k"]})",
         R"({"type":"object","properties":{"k":{"const":"b"},"l":{}},"required":["l","k"]})"},
    };
    for (const auto& [a, b] : apart) {
        EXPECT_NE(refusal(one_of(a, b)).find("accepted"), std::string::npos)
            << a << b << refusal(one_of(a, b));
        EXPECT_NE(refusal(one_of(b, a)).find("accepted"), std::string::npos) << b << a;
    }
    const std::pair<const char*, const char*> together[] = {
        {R"({"const":1})", R"({"enum":[1,2]})"},
        {R"({"const":1})", R"({"type":"integer"})"},
        {R"({"enum":[[],2]})", R"({"type":"array"})"},
        {R"({"enum":[{},2]})", R"({"type":"object"})"},
        {R"({"enum":[null]})", "{}"},
        {R"({"type":"string"})", "true"},
        {R"({"type":"number"})", R"({"type":["integer","null"]})"},
        {R"({"type":"object"})", R"({"type":"object"})"},
        // the property that differs may be absent
        {R"({"type":"object","properties":{"k":{"const":"a"}}})",
         R"({"type":"object","properties":{"k":{"const":"b"}},"required":["k"]})"},
        {R"({"type":"object","properties":{"k":{"const":"a"}},"required":["k"]})",
         R"({"type":"object","properties":{"l":{"const":"b"}},"required":["l"]})"},
        {R"({"type":"object","properties":{"k":{"const":"a"}},"required":[1,"k"]})",
         R"({"type":"object","properties":{"k":{"const":"a"}},"required":["k"]})"},
        {R"({"type":"object","properties":{"k":{"const":"a"}},"required":["k"]})",
         R"({"type":"array"})"},
    };
    for (const auto& [a, b] : together) {
        if (std::string_view(b) == R"({"type":"array"})" && std::string_view(a)[9] == 'o') {
            EXPECT_EQ(refusal(one_of(a, b)), "accepted") << "types apart";
            continue;
        }
        expect_refused(one_of(a, b), {"oneOf at #", "anyOf"});
    }
    std::string many;
    for (int i = 0; i < 201; ++i) many += (i > 0 ? "," : "") + fmt::format(R"({{"const":{}}})", i);
    expect_refused("{\"oneOf\":[" + many + "]}", {"200 branches"});
    expect_refused(one_of(R"({"$ref":"#/none"})", R"({"type":"null"})"), {});
}

TEST(SchemaRefusals, GrammarsThatGrowTooLarge) {
    // The rules for "any other name" follow every letter of each name.
    std::string names;
    for (int i = 0; i < 4500; ++i) names += fmt::format("\"{:04}abcdefghijkl\":{{}},", i);
    expect_refused(
        R"({"type":"object","additionalProperties":true,"properties":{)" + names + "\"z\":{}}}",
        {"too large a grammar"});
    // A text that takes four bytes a character in the grammar, wanted in three ways.
    std::string ways;
    for (const char* type : {"\"null\"", "\"number\"", "\"array\""})
        ways += fmt::format(R"({}{{"allOf":[{{"$ref":"#/$defs/a"}},{{"type":["string",{}]}}]}})",
                            ways.empty() ? "" : ",", type);
    expect_refused(R"({"$defs":{"a":{"const":")" + std::string(900000, '\x7F') +
                       R"("}},"anyOf":[)" + ways + "]}",
                   {"too large a grammar"});
}

TEST(SchemaPatterns, OutsideTheSubset) {
    const std::pair<const char*, const char*> cases[] = {
        {"*a", "nothing before it"},
        {"+", "nothing before it"},
        {"?", "nothing before it"},
        {"{2}", "nothing before it"},
        {"a{", "no quantifier"},
        {"a{x}", "no quantifier"},
        {"a{1,x}", "no quantifier"},
        {"a{1;}", "no quantifier"},
        {"a{100000}", "up to 99999"},
        {"a{3,2}", "more than it allows"},
        {"a{2}{3}", "quantifier of a quantifier"},
        {"a+?+", "quantifier of a quantifier"},
        {"a^b", "not at the beginning"},
        {"(^a)", "not at the beginning"},
        {"(a$)", "not at the end"},
        {"(?<n>a)", "named group"},
        {"(?!a)", "look-around"},
        {"(a", "not closed"},
        {"(a|b", "not closed"},
        {"a)b", "closes nothing"},
        {"[a", "not closed"},
        {"[a-", "not closed"},
        {"[]", "without characters"},
        {"[^\\s\\S]", "without characters"},
        {"\\d\\x7F", "without characters"},
        {"[\\d-z]", "two ends"},
        {"[a-\\d]", "two ends"},
        {"[z-a]", "two ends"},
        {"[[:alpha:]]", "class inside a class"},
        {"[[[a]]", "class inside a class"},
        {"\\", "nothing behind it"},
        {"\\q", "escape \\q"},
        {"\\0", "escape \\0"},
        {"\\\xC3\xA9", "escape \\?"},
        {"\\x4", "2 hexadecimal"},
        {"\\u12G4", "4 hexadecimal"},
        {"\\uD800", "surrogate"},
    };
    for (const auto& [pattern, part] : cases) {
        std::string quoted;
        for (const char c : std::string_view(pattern))
            quoted += c == '\\' ? "\\\\" : std::string(1, c);
        expect_refused(R"({"type":"string","pattern":")" + quoted + "\"}", {part, "offset"});
    }
    const auto nested = [](size_t n) {
        return R"({"type":"string","pattern":"^)" + std::string(n, '(') + "a" +
               std::string(n, ')') + "$\"}";
    };
    EXPECT_TRUE(takes(nested(40), "\"a\""));
    expect_refused(nested(41), {"more than 40 deep"});
}

TEST(SchemaPatterns, WhatTheyMeanInJson) {
    struct Case {
        const char* pattern;  // as it stands in JSON
        std::vector<const char*> good, bad;
    };
    const Case cases[] = {
        {"^a|b$", {"\"a\"", "\"axx\"", "\"xxb\""}, {"\"xa\"", "\"bx\""}},
        {"^(?:ab){2,3}?$", {"\"abab\"", "\"ababab\""}, {"\"ab\"", "\"abababab\""}},
        {"^a{2}b{1,}$", {"\"aab\"", "\"aabbb\""}, {"\"ab\"", "\"aa\""}},
        {"^\\\\D\\\\W\\\\S$", {"\"a-b\""}, {"\"1-b\"", "\"aab\"", "\"a- \""}},
        {"^\\\\t\\\\n\\\\r\\\\f\\\\v$", {R"("\t\n\r\f\u000b")"}, {"\"tnrfv\""}},
        {"^[\\\\b\\\\x41\\\\u00e9]$", {R"("\b")", "\"A\"", "\"\xC3\xA9\""}, {"\"b\"", "\"x\""}},
        {"^[^a-c]$", {"\"d\"", "\"\xC3\xA9\"", R"("\n")"}, {"\"b\"", "\"\""}},
        {"^[^\\\\d]$", {"\"a\""}, {"\"1\""}},
        {"^[a-]$", {"\"a\"", "\"-\""}, {"\"b\""}},
        {"^\\\\.\\\\\\\\\\\"$", {R"(".\\\"")"}, {"\"x\""}},
        {"^.$", {"\"x\"", "\"\xE6\x97\xA5\""}, {R"("\n")", "\"\""}},
        {"^$", {"\"\""}, {"\"a\""}},
        {"^(|a)$", {"\"\"", "\"a\""}, {"\"b\""}},
    };
    for (const Case& c : cases) {
        const std::string schema =
            std::string(R"({"type":"string","pattern":")") + c.pattern + "\"}";
        for (const char* text : c.good) EXPECT_TRUE(takes(schema, text)) << schema << text;
        for (const char* text : c.bad) EXPECT_FALSE(takes(schema, text)) << schema << text;
    }
}

}  // namespace
}  // namespace ridge
