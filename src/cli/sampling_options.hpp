// The options of the verbs that generate text: the sampler chain in llama.cpp's spellings, and
// what the text must follow.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "runtime/model.hpp"
#include "sample/chooser.hpp"

namespace ridge::cli {

struct SamplingArgs {
    SamplerOptions options;
    int64_t seed = 0;       // -1: another one each time
    uint32_t logprobs = 0;  // report the chosen token's and those of so many best
    std::string samplers{}, sampler_letters{};
    std::vector<std::string> logit_bias{}, breakers{};
    bool ordered = false, lettered = false;  // were the two given?
    // What the answer must follow: at most one of these.
    std::string grammar{}, grammar_file{}, json_schema{}, json_schema_file{};
};

// llama.cpp's -jf becomes --json-schema-file, which CLI11 can read.
void rename_sampling_options(int argc, char** argv);

// Adds them to a verb, with the defaults that `args` has; --logprobs where the verb reports them.
void add_sampling_options(CLI::App& verb, SamplingArgs& args, bool logprobs = true);

// Errors: what an option says is no number, no stage, out of range, no grammar; each named.
Result<TokenChooser> make_chooser(const SamplingArgs& args, const Model& model, bool ends = true);

}  // namespace ridge::cli
