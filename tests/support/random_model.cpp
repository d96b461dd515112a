#include "support/random_model.hpp"

#include <gtest/gtest.h>

namespace ridge::test {

ShapeConfig golden_config(const std::string& name) {
    auto config = read_shape_config(std::string(RIDGE_TEST_DATA) + "/goldens/" + name + ".json");
    if (config) return std::move(*config);
    ADD_FAILURE() << config.error().message;
    return {};
}

ShapeConfig smallest_llama(const std::string& name) {
    ShapeConfig c;
    c.name = name;
    c.vocab_size = 264;
    c.embedding_length = 32;
    c.feed_forward_length = 32;
    c.head_count = 2;
    c.head_count_kv = 1;
    c.key_length = 16;
    c.block_count = 1;
    c.context_length = 64;
    c.type = DType::q8_0;
    return c;
}

std::string write_model(const TempDir& dir, const ShapeConfig& config) {
    std::string path = dir.file(config.name + ".gguf");
    const auto written = write_random_model(config, path, 2);
    EXPECT_TRUE(written) << written.error().message;
    return path;
}

}  // namespace ridge::test
