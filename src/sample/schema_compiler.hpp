// The JSON schema compiler: schemas become rules of GBNF, one each. Internal to src/sample.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "sample/schema_parts.hpp"

namespace ridge::schema {

inline constexpr size_t kMaxRules = 50000;
inline constexpr uint64_t kEndless = UINT64_MAX;  // a count without an upper bound

// Its functions take a schema and its place (`at`, a JSON pointer for errors) and return the right
// side of a rule unless they say otherwise.
class SchemaCompiler {
  public:
    explicit SchemaCompiler(Json root) : root_(std::move(root)) {}

    // The grammar of the root schema. Errors: those of json_schema_to_gbnf.
    Result<std::string> run();

  private:
    // Rules and branches (json_schema.cpp).

    // The name of a schema's rule; equal ones share it, and that is where recursion ends.
    Result<std::string> rule_for(const Json& given, const std::string& place);
    // `depth`: how often $ref and allOf were taken apart already.
    Result<std::string> body(const Json& s, const std::string& at, int depth);
    // `key`: anyOf or oneOf, whose branches each hold beside the rest of the schema.
    Result<std::string> one_of(const Json& s, const std::string& key, const std::string& at);
    // The types that are named or, without any, those that the conditions are about.
    Result<std::string> by_type(const Json& s, const std::string& at);
    Result<std::string> of_type(const std::string& type, const Json& s, const std::string& at);

    // Values (schema_values.cpp).

    static Result<std::string> number(bool integer, const Json& s, const std::string& at);
    static Result<std::string> text(const Json& s, const std::string& at);
    Result<std::string> array(const Json& s, const std::string& at);
    // A count such as maxItems; `otherwise` where it is absent.
    static Result<uint64_t> count(const Json& s, const char* key, uint64_t otherwise,
                                  const std::string& at);

    // Objects (schema_object.cpp).

    Result<std::string> object(const Json& s, const std::string& at);
    // The keys that are none of those named. They are written without escapes, so that none of them
    // is spelled differently: then they differ from each name at some character.
    Result<std::string> other_key(const Json& properties, const std::string& at);
    // The name of a new rule with this right side.
    std::string helper(const std::string& text);

    struct Work {
        Json schema;
        std::string at, rule;
    };

    Json root_;
    std::map<std::string, std::string> known_;  // schema as text: its rule
    std::deque<Work> queue_;
    std::string extra_;  // helper rules of the schema at hand
    size_t helpers_ = 0, rules_ = 0;
};

}  // namespace ridge::schema
