// The command line in ridge's words: usage lines, help, and what is wrong with what was typed.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

namespace ridge::cli {

// The verb of this name, or null.
const CLI::App* find_verb(const CLI::App& app, const std::string& name);

// A place's name as help and the manual print it: "OUT".
std::string place_name(const CLI::Option& option);

// "ridge convert FOLDER OUT [options]": what a verb needs and what it takes in its place.
std::string usage_line(const CLI::App& verb);

// Help that begins with this line and names places in capitals. Verbs that are added later take it.
std::shared_ptr<CLI::Formatter> help_formatter();

// One sentence that says what `error` found and what to type instead.
std::string explain(const CLI::App& app, const CLI::ParseError& error);
// The same for a first argument that names no verb.
std::string unknown_verb(const CLI::App& app, const std::string& name);

}  // namespace ridge::cli
