// Strings, literals and formats as GBNF, and the rules that everything refers to.
#include <fmt/format.h>

#include "sample/schema_parts.hpp"

namespace ridge::schema {

// White space as llama.cpp allows it: none, a blank, or a line end and an indentation. Escapes of
// surrogates come in pairs, so that a length in code points is one in repetitions of char.
const char* const kCommonRules =
    R"gbnf(ws ::= (" " | "\n" [ \t]{0,20})?
hex ::= [0-9a-fA-F]
plain ::= [^"\\\x00-\x1F\x7F]
char ::= plain | "\\" (["\\/bfnrt] | "u" ([0-9a-cA-CefEF] hex hex hex | [dD] [0-7] hex hex | [dD] [89abAB] hex hex "\\u" [dD] [c-fC-F] hex hex))
string ::= "\"" char* "\""
number ::= "-"? ("0" | [1-9] [0-9]{0,17}) ("." [0-9]{1,16})? ([eE] [-+]? [0-9]{1,2})?
member ::= string ":" ws value
object ::= "{" ws (member ("," ws member)* ws)? "}"
array ::= "[" ws (value ("," ws value)* ws)? "]"
value ::= object | array | string | number | "true" | "false" | "null"
)gbnf";

std::string gbnf_text(std::string_view bytes) {
    std::string out = "\"";
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\')
            (out += '\\') += c;
        else if (byte < 0x20 || byte == 0x7F)
            out += fmt::format("\\x{:02X}", byte);
        else
            out += c;
    }
    return out + "\"";
}

std::string literal_gbnf(const Json& value) {
    if (!value.is_structured()) return gbnf_text(value.dump());
    const bool object = value.is_object();
    std::string out = object ? "\"{\" ws" : "\"[\" ws";
    bool first = true;
    for (const auto& [key, item] : value.items()) {
        if (!first) out += " \",\" ws";
        first = false;
        if (object) out += " " + gbnf_text(Json(key).dump() + ":") + " ws";
        out += " " + literal_gbnf(item);
    }
    if (!first) out += " ws";
    return out + (object ? " \"}\"" : " \"]\"");
}

std::optional<std::string> format_gbnf(std::string_view format) {
    // Years 0001 to 9999 and the days their months have.
    static const std::string year =
        "([1-9] [0-9]{3} | \"0\" [1-9] [0-9]{2} | \"00\" [1-9] [0-9] | \"000\" [1-9])";
    static const std::string leap =
        "([0-9]{2} (\"0\" [48] | [2468] [048] | [13579] [26]) | "
        "(\"0\" [48] | [2468] [048] | [13579] [26]) \"00\")";
    static const std::string date =
        "(" + year +
        " \"-\" ((\"01\" | \"03\" | \"05\" | \"07\" | \"08\" | \"10\" | \"12\") \"-\" (\"0\" [1-9] "
        "| [12] "
        "[0-9] | \"3\" [01]) | (\"04\" | \"06\" | \"09\" | \"11\") \"-\" (\"0\" [1-9] | [12] [0-9] "
        "| "
        "\"30\") | \"02-\" (\"0\" [1-9] | \"1\" [0-9] | \"2\" [0-8])) | " +
        leap + " \"-02-29\")";
    static const std::string hour = "([01] [0-9] | \"2\" [0-3])";
    static const std::string time =
        "(" + hour +
        " \":\" [0-5] [0-9] \":\" [0-5] [0-9] (\".\" [0-9]{1,6})? (\"Z\" | "
        "[+-] " +
        hour + " \":\" [0-5] [0-9]))";
    static const std::string octet =
        "(\"25\" [0-5] | \"2\" [0-4] [0-9] | \"1\" [0-9]{2} | [1-9] [0-9] | [0-9])";
    static const std::string label = "([a-z0-9] ([a-z0-9-]{0,61} [a-z0-9])?)";
    static const std::string host = "(" + label + " (\".\" " + label + "){0,3} \".\" [a-z]{2,10})";
    const auto in_quotes = [](const std::string& inside) {
        return "\"\\\"\" " + inside + " \"\\\"\"";
    };
    if (format == "date") return in_quotes(date);
    if (format == "time") return in_quotes(time);
    if (format == "date-time") return in_quotes(date + " \"T\" " + time);
    if (format == "uuid") return in_quotes("hex{8} (\"-\" hex{4}){3} \"-\" hex{12}");
    if (format == "ipv4") return in_quotes(octet + " (\".\" " + octet + "){3}");
    if (format == "ipv6") return in_quotes("hex{1,4} (\":\" hex{1,4}){7}");
    if (format == "hostname") return in_quotes(host);
    if (format == "email")
        return in_quotes("[a-zA-Z0-9_+-]{1,30} (\".\" [a-zA-Z0-9_+-]{1,30}){0,2} \"@\" " + host);
    if (format == "uri" || format == "url")
        return in_quotes(
            "\"http\" \"s\"? \"://\" " + host +
            " (\"/\" [a-zA-Z0-9._~-]*)* (\"?\" [a-zA-Z0-9._~=&-]+)? (\"#\" [a-zA-Z0-9._~-]+)?");
    return std::nullopt;
}

bool is_annotation(std::string_view keyword) {
    for (const std::string_view known :
         {"title", "description", "default", "examples", "example", "$schema", "$id", "id",
          "$comment", "$anchor", "deprecated", "readOnly", "writeOnly", "$defs", "definitions",
          "discriminator", "contentMediaType", "contentEncoding"})
        if (keyword == known) return true;
    return false;
}

std::string pointer_step(std::string_view key) {
    std::string out = "/";
    for (const char c : key) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    return out;
}

}  // namespace ridge::schema
