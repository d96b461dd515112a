// Taking GGUF files apart and putting them together again (gguf_image.hpp).
#include "gguf_image.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "format/gguf.hpp"
#include "support/temp_dir.hpp"

namespace ridge::test {

using gguf::ValueType;

GgufImage GgufImage::read(const std::string& path) {
    const auto file = GgufFile::open(path);
    if (!file) throw std::runtime_error(file.error().message);
    GgufImage out;
    out.version = file->version();
    for (const std::string& key : file->keys()) {
        const auto value = file->encoded_value(key);
        out.values.emplace_back(
            key, std::string(reinterpret_cast<const char*>(value.data()), value.size()));
    }
    const uint8_t* first = nullptr;
    for (const TensorInfo& t : file->tensors())
        if (first == nullptr || t.data < first) first = t.data;
    for (const TensorInfo& t : file->tensors()) {
        const auto offset = static_cast<uint64_t>(t.data - first);
        out.tensors.push_back({t.name,
                               t.n_dims,
                               {t.dims.begin(), t.dims.begin() + t.n_dims},
                               info(t.type).ggml_type,
                               offset});
        const uint64_t end = (offset + t.bytes + 31) / 32 * 32;
        if (out.data.size() < end) out.data.resize(end);
        out.data.replace(offset, t.bytes, reinterpret_cast<const char*>(t.data), t.bytes);
    }
    return out;
}

std::string GgufImage::bytes() const {
    Bytes b;
    b.header(tensors.size(), values.size(), version);
    for (const auto& [key, value] : values) b.string(key).raw(value);
    for (const Tensor& t : tensors) {
        b.string(t.name).put(t.n_dims);
        for (const uint64_t d : t.dims) b.put(d);
        b.put(t.type).put(t.offset);
    }
    return b.pad(alignment).raw(data).text();
}

void GgufImage::set(const std::string& key, std::string value) {
    for (size_t i = 0; i < values.size(); ++i)
        if (values[i].first == key) {
            if (value.empty())
                values.erase(values.begin() + static_cast<std::ptrdiff_t>(i));
            else
                values[i].second = std::move(value);
            return;
        }
    if (!value.empty()) values.emplace_back(key, std::move(value));
}

GgufImage::Tensor& GgufImage::tensor(const std::string& name) {
    for (Tensor& t : tensors)
        if (t.name == name) return t;
    throw std::runtime_error("no tensor " + name);
}

std::string encoded_string(std::string_view text) {
    return Bytes().type(ValueType::string).string(text).text();
}

std::string encoded_strings(const std::vector<std::string>& strings) {
    Bytes b;
    b.type(ValueType::array).type(ValueType::string).put<uint64_t>(strings.size());
    for (const std::string& s : strings) b.string(s);
    return b.text();
}

namespace {

TEST(GgufImageTest, PutTogetherAgainTheFileIsTheSame) {
    const std::string path = std::string(RIDGE_SOURCE_DIR) + "/models/tiny-q8_0.gguf";
    EXPECT_EQ(GgufImage::read(path).bytes(), read_file(path));
}

TEST(GgufImageTest, SettingReplacesAddsAndRemoves) {
    GgufImage image;
    image.set("a", encoded_string("x"));
    image.set("b", encoded(ValueType::u32, 1u));
    image.set("a", encoded_string("y"));
    ASSERT_EQ(image.values.size(), 2u);
    EXPECT_EQ(image.values[0].second, encoded_string("y"));
    image.set("a", "");
    image.set("c", "");
    ASSERT_EQ(image.values.size(), 1u);
    EXPECT_EQ(image.values[0].first, "b");
    EXPECT_THROW(image.tensor("none"), std::runtime_error);
}

}  // namespace

}  // namespace ridge::test
