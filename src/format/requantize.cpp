#include "format/requantize.hpp"

#include <vector>

#include "base/output_file.hpp"
#include "format/dequantize.hpp"
#include "format/gguf.hpp"
#include "format/gguf_writer.hpp"
#include "format/quantize.hpp"

namespace ridge {

namespace {

// Rows of `from` in another type, some at a time.
GgufWriter::RowSource converted(const TensorInfo& from, DType type) {
    return [&from, type](uint64_t first, uint64_t count, uint8_t* to) -> Status {
        const uint64_t k = from.dims[0];
        const size_t from_bytes = row_bytes(from.type, k), to_bytes = row_bytes(type, k);
        std::vector<float> row(k);
        for (uint64_t r = first; r < first + count; ++r, to += to_bytes) {
            dequantize(from.type, from.data + r * from_bytes, k, row.data());
            quantize_plain(type, row.data(), k, to);
        }
        return {};
    };
}

}  // namespace

Status requantize(const std::string& in, const std::string& out, DType type, unsigned threads) {
    RIDGE_ASSIGN(const auto file, GgufFile::open(in));
    RIDGE_TRY(no_input(out, file.paths()));
    GgufWriter writer;
    for (const std::string& key : file.keys()) {
        if (key == "general.alignment" || key.starts_with("split.")) continue;
        const auto encoded = file.encoded_value(key);
        writer.set_encoded(key, {reinterpret_cast<const char*>(encoded.data()), encoded.size()});
    }
    for (const TensorInfo& tensor : file.tensors()) {
        std::vector<uint64_t> dims(tensor.dims.begin(), tensor.dims.begin() + tensor.n_dims);
        const bool keep =
            tensor.n_dims < 2 || tensor.type == type || tensor.dims[0] % info(type).block != 0;
        RIDGE_TRY(
            keep ? writer.add_tensor(tensor.name, tensor.type, std::move(dims), tensor.data)
                 : writer.add_tensor(tensor.name, type, std::move(dims), converted(tensor, type)));
    }
    return writer.write(out, threads);
}

}  // namespace ridge
