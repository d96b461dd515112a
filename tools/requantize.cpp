// Writes a copy of a GGUF whose matrices are of another type, by plain rounding: test material for
// every tensor type, not a production quantizer. Matrices whose rows the type's block does not
// divide keep their type; vectors are copied.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "format/dequantize.hpp"
#include "format/gguf.hpp"
#include "format/gguf_writer.hpp"
#include "format/quantize.hpp"

namespace {

using namespace ridge;

Status requantize(const std::string& in, const std::string& out, DType type, unsigned threads) {
    RIDGE_ASSIGN(const auto file, GgufFile::open(in));
    GgufWriter writer;
    for (const std::string& key : file.keys()) {
        // the alignment is the writer's, and the copy is one file
        if (key == "general.alignment" || key.starts_with("split.")) continue;
        const auto encoded = file.encoded_value(key);
        writer.set_encoded(key, {reinterpret_cast<const char*>(encoded.data()), encoded.size()});
    }
    for (const TensorInfo& tensor : file.tensors()) {
        const uint64_t k = tensor.dims[0];
        std::vector<uint64_t> dims(tensor.dims.begin(), tensor.dims.begin() + tensor.n_dims);
        if (tensor.n_dims < 2 || tensor.type == type || k % info(type).block != 0) {
            RIDGE_TRY(writer.add_tensor(tensor.name, tensor.type, std::move(dims), tensor.data));
            continue;
        }
        const auto convert = [&tensor, k, type](uint64_t first, uint64_t count,
                                                uint8_t* to) -> Status {
            std::vector<float> row(k);
            const size_t from_bytes = row_bytes(tensor.type, k);
            for (uint64_t r = first; r < first + count; ++r, to += row_bytes(type, k)) {
                dequantize(tensor.type, tensor.data + r * from_bytes, k, row.data());
                quantize_plain(type, row.data(), k, to);
            }
            return {};
        };
        RIDGE_TRY(writer.add_tensor(tensor.name, type, std::move(dims), convert));
    }
    return writer.write(out, threads);
}

}  // namespace

int main(int argc, char** argv) {
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
