// A copy of one of tests/data/hf's folders that a test changes, and what becomes of it.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "format/convert.hpp"
#include "format/gguf.hpp"
#include "support/temp_dir.hpp"

namespace ridge::test {

class ChangedFolder : public testing::Test {
  protected:
    void copy(const std::string& name) {
        std::filesystem::remove_all(folder_);
        std::filesystem::copy(std::string(RIDGE_TEST_DATA) + "/hf/" + name, folder_);
    }
    void change(const char* file, const std::function<void(nlohmann::json&)>& edit) {
        nlohmann::json j = nlohmann::json::object();
        if (std::filesystem::exists(folder_ + "/" + file))
            j = nlohmann::json::parse(read_file(folder_ + "/" + file));
        edit(j);
        write(file, j.dump());
    }
    void write(const std::string& name, const std::string& text) {
        dir_.write("folder/" + name, text);
    }
    // The header of model.safetensors with `edit` made to it; the data stays.
    void change_tensors(const std::function<void(nlohmann::json&)>& edit) {
        const std::string bytes = read_file(folder_ + "/model.safetensors");
        uint64_t length = 0;
        std::memcpy(&length, bytes.data(), 8);
        nlohmann::json header = nlohmann::json::parse(bytes.substr(8, length));
        edit(header);
        const std::string text = header.dump(), data = bytes.substr(8 + length);
        length = text.size();
        std::string first(8, '\0');
        std::memcpy(first.data(), &length, 8);
        write("model.safetensors", first + text + data);
    }
    GgufFile converted(const ConvertOptions& options = {}) {
        const auto report = convert_folder(folder_, dir_.file("out.gguf"), options);
        EXPECT_TRUE(report) << (report ? "" : report.error().message);
        if (report) report_ = *report;
        auto file = GgufFile::open(dir_.file("out.gguf"));
        EXPECT_TRUE(file);
        return std::move(*file);
    }
    void refused(ErrorCode code, const std::string& words) {
        std::filesystem::remove(dir_.file("out.gguf"));
        const auto report = convert_folder(folder_, dir_.file("out.gguf"), {});
        ASSERT_FALSE(report) << words;
        EXPECT_EQ(report.error().code, code) << report.error().message;
        EXPECT_NE(report.error().message.find(words), std::string::npos) << report.error().message;
        EXPECT_EQ(report.error().message.back(), '.');
        EXPECT_FALSE(std::filesystem::exists(dir_.file("out.gguf")));
    }
    TempDir dir_;
    std::string folder_ = dir_.file("folder");
    ConvertReport report_;
};

}  // namespace ridge::test
