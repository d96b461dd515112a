// Turns a llama2.c checkpoint and its tokenizer.bin into a GGUF.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "format/llama2c.hpp"

int main(int argc, char** argv) {
    std::string checkpoint, tokenizer, out;
    CLI::App app{"Turns a llama2.c checkpoint (first export format) into a GGUF with F32 weights."};
    app.add_option("CHECKPOINT", checkpoint, "such as stories260K.bin")->required();
    app.add_option("TOKENIZER", tokenizer, "such as tok512.bin")->required();
    app.add_option("OUT", out, "the GGUF to write")->required();
    CLI11_PARSE(app, argc, argv);

    if (const auto done = ridge::convert_llama2c(checkpoint, tokenizer, out); !done) {
        std::fprintf(stderr, "llama2c_to_gguf: %s\n", done.error().message.c_str());
        return 1;
    }
    return 0;
}
