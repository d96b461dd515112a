// JSON schema to grammar against Python's jsonschema, both ways: texts made at random from the
// grammar are valid, valid instances are texts of the grammar and invalid ones are not.
#include "sample/json_schema.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "sample/grammar_matcher.hpp"
#include "support/temp_dir.hpp"

namespace ridge {
namespace {

using Json = nlohmann::ordered_json;

std::shared_ptr<const TokenTrie> bytes_trie() {
    static const std::shared_ptr<const TokenTrie> trie = [] {
        std::vector<std::string> bytes;
        for (int i = 0; i < 256; ++i) bytes.emplace_back(1, static_cast<char>(i));
        const std::vector<std::string_view> views(bytes.begin(), bytes.end());
        return TokenTrie::of(views);
    }();
    return trie;
}

std::shared_ptr<const Grammar> compiled(const std::string& schema) {
    const auto text = json_schema_to_gbnf(schema);
    EXPECT_TRUE(text.has_value()) << schema << "\n" << (text ? "" : text.error().message);
    if (!text) return nullptr;
    auto g = Grammar::parse(*text);
    EXPECT_TRUE(g.has_value()) << schema << "\n" << *text << (g ? "" : g.error().message);
    return g ? *g : nullptr;
}

bool accepts(GrammarMatcher& m, std::string_view text) {
    m.reset();
    return m.accept_text(text).has_value() && m.complete();
}

// A text of the grammar, byte by byte; what closes something is preferred, so that texts end.
std::string random_text(GrammarMatcher& m, std::mt19937& random) {
    m.reset();
    std::string out;
    while (out.size() < 4000) {
        if (m.complete() && random() % 2 == 0) return out;
        const auto mask = m.mask();
        EXPECT_TRUE(mask.has_value());
        if (!mask) return out;
        std::vector<double> weights(256);
        double total = 0;
        for (size_t b = 0; b < 256; ++b) {
            if (((*mask)[b / 64] >> (b % 64) & 1) == 0) continue;
            const bool closes = b == '"' || b == '}' || b == ']';
            const bool opens = b == '{' || b == '[' || b == ' ' || b == '\n' || b == '\t';
            weights[b] = closes ? (out.size() > 300 ? 500 : 12) : opens ? 0.3 : 1;
            total += weights[b];
        }
        if (total == 0) return out;
        std::discrete_distribution<int> pick(weights.begin(), weights.end());
        const int byte = pick(random);
        EXPECT_TRUE(m.accept(byte).has_value());
        out += static_cast<char>(byte);
    }
    return "";  // did not end: not used
}

TEST(JsonSchema, AgreesWithJsonschema) {
    std::ifstream in(RIDGE_TEST_DATA "/sample/schemas.json");
    Json cases = Json::parse(in);
    ASSERT_GT(cases.size(), 100u);
    std::mt19937 random(3);
    std::vector<std::shared_ptr<const Grammar>> grammars;
    size_t made = 0;
    for (Json& c : cases) {
        grammars.push_back(compiled(c.at("schema").dump()));
        ASSERT_NE(grammars.back(), nullptr);
        GrammarMatcher m(grammars.back(), bytes_trie());
        c["texts"] = Json::array();
        for (int i = 0; i < 12; ++i) {
            const std::string text = random_text(m, random);
            if (text.empty()) continue;
            ++made;
            c["texts"].push_back(text);
        }
    }
    EXPECT_GT(made, 11 * cases.size());
    const test::TempDir dir;
    const std::string file = dir.write("cases.json", Json{{"cases", cases}}.dump());
    const std::string command =
        "python3 " RIDGE_SOURCE_DIR "/tests/sample/jsonschema_oracle.py " + file;
    FILE* pipe = popen(command.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::string output;
    for (char buffer[4096]; const size_t n = fread(buffer, 1, sizeof buffer, pipe);)
        output.append(buffer, n);
    const int code = pclose(pipe);
    if (WEXITSTATUS(code) == 77)
        GTEST_SKIP() << "JsonSchema.AgreesWithJsonschema needs Python's jsonschema (Debian: "
                        "python3-jsonschema)";
    ASSERT_EQ(code, 0);
    const Json verdicts = Json::parse(output);
    ASSERT_EQ(verdicts.size(), cases.size());
    size_t valid = 0, invalid = 0;
    for (size_t i = 0; i < cases.size(); ++i) {
        const std::string schema = cases[i].at("schema").dump();
        for (size_t k = 0; k < cases[i].at("texts").size(); ++k)
            EXPECT_EQ(verdicts[i].at("texts")[k], "valid") << schema << "\n"
                                                           << cases[i].at("texts")[k];
        GrammarMatcher m(grammars[i], bytes_trie());
        for (const Json& one : verdicts[i].at("instances")) {
            const bool want = one[0].get<bool>();
            (want ? valid : invalid) += 1;
            for (const Json& text : one[1])
                EXPECT_EQ(accepts(m, text.get<std::string>()), want) << schema << "\n" << text;
        }
    }
    EXPECT_GT(valid, 300u);
    EXPECT_GT(invalid, 200u);
}

TEST(JsonSchema, RefusesByNameAndPlace) {
    const std::pair<const char*, std::vector<const char*>> cases[] = {
        {"", {"no JSON"}},
        {"{", {"no JSON"}},
        {"[]", {"no schema", "#"}},
        {"false", {"no value fits", "#"}},
        {R"({"type":"strin"})", {"strin", "#"}},
        {R"({"properties":{"a/b":{"not":{}}}})", {"'not'", "#/properties/a~1b"}},
        {R"({"patternProperties":{}})", {"'patternProperties'"}},
        {R"({"if":{}})", {"'if'"}},
        {R"({"type":"array","uniqueItems":true})", {"'uniqueItems'", "#"}},
        {R"({"type":"array","contains":{}})", {"'contains'"}},
        {R"({"type":"number","multipleOf":0.1})", {"'multipleOf'"}},
        {R"({"type":"number","minimum":0.5})", {"minimum", "whole number"}},
        {R"({"type":"integer","minimum":1e30})", {"minimum", "10^18"}},
        {R"({"type":"integer","minimum":5,"maximum":4})", {"no value fits"}},
        {R"({"type":"number","exclusiveMinimum":5,"maximum":5})", {"no value fits"}},
        {R"({"type":"string","format":"duration"})", {"duration", "#"}},
        {R"({"items":{"type":"string","pattern":"(?=a)b"}})", {"look-around", "#/items/pattern"}},
        {R"({"type":"string","pattern":"(a)\\1"})", {"escape \\1"}},
        {R"({"type":"string","pattern":"foo**"})", {"quantifier of a quantifier"}},
        {R"({"type":"string","pattern":"a$b"})", {"$"}},
        {R"({"type":"string","pattern":"(a"})", {"not closed"}},
        {"{\"type\":\"string\",\"pattern\":\"a)\"}", {")"}},
        {R"({"type":"string","pattern":"[b-a]"})", {"range"}},
        {R"({"type":"string","pattern":"\\p{L}"})", {"escape \\p"}},
        {R"({"type":"string","pattern":"^a","maxLength":3})", {"pattern", "length"}},
        {R"({"$ref":"other.json"})", {"other.json", "#"}},
        {R"({"$ref":"https://example.com/x"})", {"https://example.com/x"}},
        {R"({"$ref":"#/$defs/none"})", {"#/$defs/none", "nothing"}},
        {R"({"$ref":"#"})", {"circle"}},
        {R"({"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"})",
         {"circle"}},
        {R"({"allOf":[{"$ref":"#"}]})", {"allOf"}},
        {R"({"allOf":[{"$ref":"#"},{"$ref":"#"}]})", {"allOf"}},
        {R"({"oneOf":[{"type":"integer"},{"type":"number"}]})", {"oneOf", "anyOf"}},
        {R"({"oneOf":[]})", {"oneOf"}},
        {R"({"anyOf":[false]})", {"no value fits"}},
        {R"({"allOf":[{"type":"string"},{"type":"null"}]})", {"no value fits"}},
        {R"({"allOf":[{"pattern":"a"},{"pattern":"b"}],"type":"string"})", {"'pattern'", "merge"}},
        {R"({"enum":[1,2],"minimum":2})", {"enum"}},
        {R"({"enum":["a"],"type":"integer"})", {"no value fits"}},
        {R"({"type":"object","required":["a"],"additionalProperties":false})", {"no value fits"}},
        {R"({"type":"object","minProperties":1,"properties":{"a":{}}})", {"minProperties"}},
        {R"({"type":"object","maxProperties":1})", {"maxProperties"}},
        {R"({"type":"string","maxLength":-1})", {"maxLength"}},
        {R"({"type":"object","properties":[]})", {"properties"}},
        {R"({"anyOf":[{"$ref":"#"},{"$ref":"#"}]})", {}},
    };
    for (const auto& [schema, parts] : cases) {
        auto text = json_schema_to_gbnf(schema);
        Error error;
        if (text) {  // what the schema compiler lets through the grammar may still refuse
            const auto g = Grammar::parse(*text);
            ASSERT_FALSE(g.has_value()) << schema << "\n" << *text;
            error = g.error();
        } else {
            error = text.error();
        }
        for (const char* part : parts)
            EXPECT_NE(error.message.find(part), std::string::npos) << schema << "\n"
                                                                   << error.message;
    }
}

TEST(JsonSchema, SizeAndDepthAreBounded) {
    std::string nested(100000, '[');
    EXPECT_NE(json_schema_to_gbnf(nested).error().message.find("nested"), std::string::npos);
    std::string objects;
    for (int i = 0; i < 40000; ++i) objects += "{\"items\":";
    EXPECT_NE(json_schema_to_gbnf(objects).error().message.find("nested"), std::string::npos);
    EXPECT_NE(json_schema_to_gbnf(std::string((1 << 20) + 1, ' ')).error().message.find("bytes"),
              std::string::npos);
    std::string wide = "{\"properties\":{";
    for (int i = 0; i < 30000; ++i) wide += "\"a" + std::to_string(i) + "\":{},";
    EXPECT_NE(json_schema_to_gbnf(wide + "\"z\":{}}}").error().message.find("members"),
              std::string::npos);
    // Within the limits: large but no trouble.
    std::string fair = "{\"type\":\"object\",\"additionalProperties\":true,\"properties\":{";
    for (int i = 0; i < 2000; ++i)
        fair += "\"name" + std::to_string(i) + "\":{\"type\":\"integer\"},";
    const auto g = compiled(fair + "\"z\":{}}}");
    ASSERT_NE(g, nullptr);
    GrammarMatcher m(g, bytes_trie());
    EXPECT_TRUE(accepts(m, R"({"name7":1,"name1999":2,"name":3,"name20000":[4]})"));
    EXPECT_FALSE(accepts(m, R"({"name7":"x"})"));
    EXPECT_FALSE(accepts(m, R"({"name8":1,"name7":1})"));  // the schema's order
}

}  // namespace
}  // namespace ridge
