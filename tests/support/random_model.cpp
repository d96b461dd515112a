#include "support/random_model.hpp"

#include <gtest/gtest.h>

namespace ridge::test {

ShapeConfig golden_config(const std::string& name) {
    auto config = read_shape_config(std::string(RIDGE_TEST_DATA) + "/goldens/" + name + ".json");
    if (config) return std::move(*config);
    ADD_FAILURE() << config.error().message;
    return {};
}

std::string write_model(const TempDir& dir, const ShapeConfig& config) {
    std::string path = dir.file(config.name + ".gguf");
    const auto written = write_random_model(config, path, 2);
    EXPECT_TRUE(written) << written.error().message;
    return path;
}

}  // namespace ridge::test
