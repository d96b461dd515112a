// JSON schema to GBNF: the grammar of the JSON texts that a schema allows.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"

namespace ridge {

// The grammar as text. Every text it allows is valid JSON that the schema (draft 2020-12; what
// earlier drafts write differently is read too) accepts. Not every valid instance is a text of the
// grammar: docs/sampling.md says which are (properties in the schema's order, no properties that
// the schema does not name unless it says additionalProperties, ...).
//
// Errors (invalid_argument): no JSON, too large or too deep, a schema that nothing fits; each with
// its JSON pointer. (unsupported): a keyword or value outside the subset, by name, with its JSON
// pointer; never ignored.
Result<std::string> json_schema_to_gbnf(std::string_view schema);

}  // namespace ridge
