#include "image/export.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <numbers>

#include "image/assemble.hpp"
#include "image/fit.hpp"
#include "text/tokenizer.hpp"

namespace ridge::image {
namespace {

tl::unexpected<Error> does_not_fit(const GgufFile& file, const std::vector<std::string>& why) {
    return fail(ErrorCode::unsupported,
                fmt::format("{} does not fit ai-max-395: {}", file.path(), fmt::join(why, "; ")));
}

// What the image's format leaves no room for, beyond shapes.
std::vector<std::string> missing_parts(const Decoder& d) {
    std::vector<std::string> why;
    for (const DecoderLayer& l : d.layer) {
        if (!l.output_bias.empty()) why.push_back("biases at the attention's output");
        if (l.attention_epsilon != d.final_epsilon || l.ffn_epsilon != d.final_epsilon)
            why.push_back("norms with different epsilons");
        if (!why.empty()) break;
    }
    return why;
}

// 128 bits that tell models apart: two FNV-1a sums over names and bytes. No cryptography.
void identify(const GgufFile& file, uint32_t id[4]) {
    uint64_t sums[2] = {0xcbf29ce484222325, 0x6c62272e07bb0142};
    const auto add = [&](const uint8_t* data, size_t bytes) {
        for (size_t i = 0; i < bytes; ++i)
            for (uint64_t k = 0; k < 2; ++k) sums[k] = (sums[k] ^ data[i]) * 0x100000001b3 + k;
    };
    for (const TensorInfo& t : file.tensors()) {
        add(reinterpret_cast<const uint8_t*>(t.name.data()), t.name.size());
        add(t.data, t.bytes);
    }
    std::memcpy(id, sums, 16);
}

}  // namespace

Result<Image> export_image(const GgufFile& file, std::string_view prompts, bool q12_4) {
    const ModelShape shape = read_shape(file);
    if (auto why = misfits(shape, file.find("output.weight") != nullptr); !why.empty())
        return does_not_fit(file, why);
    RIDGE_ASSIGN(Decoder decoder, read_decoder(file));
    if (auto why = missing_parts(decoder); !why.empty()) return does_not_fit(file, why);
    RIDGE_ASSIGN(const VocabData vocab, read_vocab(file));
    RIDGE_ASSIGN(const Tokenizer tokenizer, Tokenizer::create(vocab));
    RIDGE_ASSIGN(const Ranges ranges, calibrate(decoder, tokenizer, prompts));

    ImageHeader header = plan_image(shape);
    identify(file, header.model_id);
    Image image;
    RIDGE_ASSIGN(image.bytes, assemble(decoder, ranges, header, q12_4));
    image.rope_positions = header.rope_positions;
    image.chunk_rows = header.chunk_rows;
    image.layers = header.layers;
    image.summary = fmt::format(
        "{} of {} flash, {} of {} B of cache a token, prompts in chunks of {}; calibrated with {} "
        "tokens of {} prompts",
        byte_text(image.bytes.size()), byte_text(SOC_FLASH_BYTES),
        4 * shape.layers * shape.kv_width(), SOC_KV_SLOT, header.chunk_rows, ranges.tokens,
        ranges.prompts);
    return image;
}

void seal_image(std::vector<uint8_t>& image) {
    uint32_t sum = 0, sums = 0;
    constexpr size_t first = offsetof(ImageHeader, sum), second = offsetof(ImageHeader, sums);
    for (size_t at = 0; at + 4 <= image.size(); at += 4) {
        if (at == first || at == second) continue;
        uint32_t word = 0;
        std::memcpy(&word, &image[at], 4);
        sum += word;
        sums += sum;
    }
    std::memcpy(&image[first], &sum, 4);
    std::memcpy(&image[second], &sums, 4);
}

}  // namespace ridge::image
