// Writes a copy of a GGUF whose matrices are of another type, by plain rounding: test material for
// every tensor type, not a production quantizer.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>

#include "format/gguf_types.hpp"
#include "format/requantize.hpp"

int main(int argc, char** argv) {
    using namespace ridge;
    std::string in, out, type_name;
    unsigned threads = std::min(8u, std::max(1u, std::thread::hardware_concurrency()));
    CLI::App app{"Writes a copy of a GGUF with its matrices in another type, by plain rounding."};
    app.add_option("IN", in)->required();
    app.add_option("OUT", out)->required();
    app.add_option("TYPE", type_name, gguf::supported_types())->required();
    app.add_option("--threads", threads);
    CLI11_PARSE(app, argc, argv);

    const auto type = gguf::dtype_from_name(type_name);
    const Status done =
        type ? requantize(in, out, *type, threads)
             : Status(fail(ErrorCode::invalid_argument,
                           fmt::format("There is no type {}; choose one of {}.",
                                       gguf::quoted(type_name), gguf::supported_types())));
    if (!done) {
        std::fprintf(stderr, "requantize: %s\n", done.error().message.c_str());
        return 1;
    }
    return 0;
}
