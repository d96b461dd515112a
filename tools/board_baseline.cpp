// Writes the flash image of the AI Max 395's float baseline (boards/ai-max-395/baseline).
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/support/float_image.hpp"

namespace {

using namespace ridge;

Status write(const std::string& model, const std::vector<int32_t>& ids, const std::string& out) {
    RIDGE_ASSIGN(const GgufFile file, GgufFile::open(model));
    RIDGE_ASSIGN(const std::vector<uint8_t> bytes, baseline::make_image(file, ids));
    std::FILE* const f = std::fopen(out.c_str(), "wb");
    const bool written = f && std::fwrite(bytes.data(), 1, bytes.size(), f) == bytes.size();
    if ((f && std::fclose(f) != 0) || !written)
        return fail(ErrorCode::io, "'" + out + "' could not be written");
    return {};
}

}  // namespace

int main(int argc, char** argv) {
    std::string model, out;
    std::vector<int32_t> ids;
    CLI::App app{"Writes the flash image of the AI Max 395's float baseline."};
    app.add_option("MODEL", model, "a GGUF of architecture llama, f32")->required();
    app.add_option("-o,--out", out, "the image to write")->required();
    app.add_option("--ids", ids, "1 to 64 token ids")->required()->delimiter(',');
    CLI11_PARSE(app, argc, argv);
    if (const Status done = write(model, ids, out); !done) {
        std::fprintf(stderr, "board_baseline: %s\n", done.error().message.c_str());
        return 1;
    }
    return 0;
}
