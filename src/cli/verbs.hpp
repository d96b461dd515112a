// Each verb adds itself to the program; its callback leaves the exit code in `code`.
#pragma once

#include <CLI/CLI.hpp>

namespace ridge::cli {

void add_run(CLI::App& app, int& code);
void add_chat(CLI::App& app, int& code);
void add_tokenize(CLI::App& app, int& code);
void add_perplexity(CLI::App& app, int& code);
void add_quantize(CLI::App& app, int& code);
void add_convert(CLI::App& app, int& code);
void add_pull(CLI::App& app, int& code);
void add_embed(CLI::App& app, int& code);
void add_bench(CLI::App& app, int& code);
void add_inspect(CLI::App& app, int& code);
void add_sim(CLI::App& app, int& code);
void add_export(CLI::App& app, int& code);
void add_manual(CLI::App& app, int& code);
void add_help(CLI::App& app, int& code);  // usage.cpp

}  // namespace ridge::cli
