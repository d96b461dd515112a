// What does not fit is refused with numbers, from the header alone.
#include <gtest/gtest.h>

#include <filesystem>

#include "format/gguf_bytes.hpp"
#include "image/export.hpp"
#include "support/random_model.hpp"
#include "support/temp_dir.hpp"

namespace ridge {
namespace {

// The header of a model of Phi-3-mini's published shape (3.8 B weights in F16), with no data behind
// it: the file is as long as the data would be, and nothing of it is written.
std::string phi3_header(const test::TempDir& dir) {
    using gguf::ValueType;
    constexpr uint64_t hidden = 3072, ffn = 8192, layers = 32, vocab = 32064;
    constexpr uint32_t f32 = 0, f16 = 1;
    test::Bytes tensors;
    uint64_t count = 0, offset = 0;
    const auto tensor = [&](const std::string& name, uint64_t k, uint64_t n) {
        tensors.string(name).put<uint32_t>(n == 0 ? 1 : 2).put(k);
        if (n != 0) tensors.put(n);
        tensors.put(n == 0 ? f32 : f16).put(offset);
        offset += (n == 0 ? 4 * k : 2 * k * n) / 32 * 32;
        ++count;
    };
    tensor("token_embd.weight", hidden, vocab);
    for (uint64_t i = 0; i < layers; ++i) {
        const std::string p = "blk." + std::to_string(i) + ".";
        tensor(p + "attn_norm.weight", hidden, 0);
        tensor(p + "attn_qkv.weight", hidden, 3 * hidden);
        tensor(p + "attn_output.weight", hidden, hidden);
        tensor(p + "ffn_norm.weight", hidden, 0);
        tensor(p + "ffn_up.weight", hidden, 2 * ffn);
        tensor(p + "ffn_down.weight", ffn, hidden);
    }
    tensor("output_norm.weight", hidden, 0);
    tensor("output.weight", hidden, vocab);
    test::Bytes file;
    file.header(count, 7)
        .string("general.architecture")
        .type(ValueType::string)
        .string("phi3")
        .value<uint32_t>("phi3.block_count", ValueType::u32, layers)
        .value<uint32_t>("phi3.embedding_length", ValueType::u32, hidden)
        .value<uint32_t>("phi3.feed_forward_length", ValueType::u32, ffn)
        .value<uint32_t>("phi3.attention.head_count", ValueType::u32, 32)
        .value<uint32_t>("phi3.attention.head_count_kv", ValueType::u32, 32)
        .value<uint32_t>("phi3.context_length", ValueType::u32, 4096)
        .raw(tensors.text())
        .pad();
    const std::string path = dir.write("phi3.gguf", file.text());
    std::filesystem::resize_file(path, file.size() + offset);
    return path;
}

std::string refusal(const std::string& path) {
    const auto file = GgufFile::open(path);
    EXPECT_TRUE(file) << file.error().message;
    if (!file) return {};
    const auto image = image::export_image(*file, "A prompt.\n");
    EXPECT_FALSE(image);
    return image ? std::string() : image.error().message;
}

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
    for (const std::string& part : parts)
        EXPECT_NE(text.find(part), std::string::npos) << "lacks '" << part << "':\n" << text;
}

TEST(Fit, PhiThreeMiniIsRefusedWithNumbersFromItsHeader) {
    const test::TempDir dir;
    expect_parts(refusal(phi3_header(dir)),
                 {"7.6 GB of flash of 16.8 MB", "32 layers x KV width 3072 = 98304 of 256",
                  "hidden size 3072 of 128", "FFN width 8192 of ", "vocabulary 32064 of 512"});
}

}  // namespace
}  // namespace ridge
