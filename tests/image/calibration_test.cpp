// The prompts that ranges are taken from share no run of six words with a text that is measured on.
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "support/temp_dir.hpp"

namespace ridge {
namespace {

constexpr size_t run = 6;

std::vector<std::string> words_of(const std::string& text) {
    std::vector<std::string> words(1);
    for (const char c : text) {
        const auto u = static_cast<unsigned char>(c);
        if (std::isalnum(u))
            words.back() += static_cast<char>(std::tolower(u));
        else if (!words.back().empty())
            words.emplace_back();
    }
    if (words.back().empty()) words.pop_back();
    return words;
}

std::set<std::string> runs_of(const std::string& text) {
    const auto words = words_of(text);
    std::set<std::string> runs;
    for (size_t i = 0; i + run <= words.size(); ++i) {
        std::string r;
        for (size_t j = 0; j < run; ++j) r += words[i + j] + " ";
        runs.insert(r);
    }
    return runs;
}

std::map<std::string, std::vector<std::string>> prompts_by_kind() {
    std::ifstream in(RIDGE_SOURCE_DIR "/boards/ai-max-395/calibration/prompts.txt");
    std::map<std::string, std::vector<std::string>> kinds;
    std::string kind;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("# kind: ")) kind = line.substr(8);
        if (!line.empty() && line[0] != '#') kinds[kind].push_back(line);
    }
    return kinds;
}

TEST(CalibrationPrompts, AreTwoHundredOverSixKindsAndNoneTwice) {
    const auto kinds = prompts_by_kind();
    std::set<std::string> all;
    for (const auto& [kind, prompts] : kinds) {
        EXPECT_FALSE(kind.empty());
        EXPECT_GE(prompts.size(), 20u) << kind;
        all.insert(prompts.begin(), prompts.end());
    }
    EXPECT_EQ(kinds.size(), 6u);
    EXPECT_EQ(all.size(), 200u);
}

TEST(CalibrationPrompts, AreDisjointFromTheTextsOfTests) {
    // Every text below tests/data and the texts of the models' goldens.
    std::map<std::string, std::set<std::string>> texts;
    namespace fs = std::filesystem;
    for (const auto& entry : fs::recursive_directory_iterator(RIDGE_TEST_DATA)) {
        const std::string path = entry.path().string();
        if (entry.is_regular_file() && (path.ends_with(".txt") || path.ends_with(".md")))
            texts[path] = runs_of(test::read_file(path));
    }
    for (const auto& entry : fs::directory_iterator(RIDGE_SOURCE_DIR "/models")) {
        const std::string path = entry.path().string();
        if (!path.ends_with(".golden.json")) continue;
        const auto golden = nlohmann::json::parse(std::ifstream(path));
        texts[path] = runs_of(golden["text"].get<std::string>());
    }
    texts["models/sample.txt"] = runs_of(test::read_file(RIDGE_SOURCE_DIR "/models/sample.txt"));
    ASSERT_GE(texts.size(), 4u);
    size_t runs = 0;
    for (const auto& [kind, prompts] : prompts_by_kind())
        for (const std::string& prompt : prompts)
            for (const std::string& r : runs_of(prompt)) {
                ++runs;
                for (const auto& [path, text] : texts)
                    EXPECT_EQ(text.count(r), 0u) << path << " holds \"" << r << "\"";
            }
    EXPECT_GT(runs, 1000u);
}

}  // namespace
}  // namespace ridge
