#include "runtime/profile.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <string>

namespace ridge {
namespace {

constexpr uint64_t small = 100u << 20, large = 8ull << 30;

class Profile : public testing::Test {
  protected:
    void SetUp() override {
        folder_ = testing::TempDir() + "ridge_profile_" + std::to_string(getpid());
        std::filesystem::remove_all(folder_);
        path_ = folder_ + "/ridge/profile.json";
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    ThreadProfile load(unsigned cores, const std::string& cpu = "Test CPU") {
        return ThreadProfile::load(path_, cpu, cores);
    }
    void write(const std::string& text) {
        std::filesystem::create_directories(folder_ + "/ridge");
        std::ofstream(path_, std::ios::binary) << text;
    }
    std::string read() {
        std::ostringstream text;
        text << std::ifstream(path_, std::ios::binary).rdbuf();
        return text.str();
    }

    std::string folder_, path_;
};

TEST_F(Profile, StartsWithAllCores) {
    ThreadProfile profile = load(6);
    EXPECT_EQ(profile.cores(), 6u);
    EXPECT_EQ(profile.prefill_threads(small), 6u);
    EXPECT_EQ(profile.decode_threads(small), 6u);
    EXPECT_TRUE(profile.save());
    EXPECT_FALSE(std::filesystem::exists(path_)) << "nothing was recorded";
}

TEST_F(Profile, RemembersTheFastestPerPhaseAndSize) {
    ThreadProfile profile = load(8);
    profile.record_decode(8, 50, large);
    profile.record_decode(4, 60, large);
    profile.record_decode(4, 20, large);  // a bad moment does not hide a good one
    profile.record_prefill(8, 500, large);
    profile.record_prefill(4, 300, large);
    profile.record_decode(8, 400, small);
    ASSERT_TRUE(profile.save());
    ThreadProfile again = load(8);
    EXPECT_EQ(again.decode_threads(large), 4u);
    EXPECT_EQ(again.prefill_threads(large), 8u);
    EXPECT_EQ(again.decode_threads(small), 8u);
    EXPECT_EQ(load(16).decode_threads(large), 16u) << "another affinity mask is another machine";
    EXPECT_EQ(load(8, "Other CPU").decode_threads(large), 8u);
}

TEST_F(Profile, FewerThreadsWinATie) {
    ThreadProfile profile = load(8);
    profile.record_decode(8, 100, large);
    profile.record_decode(5, 99, large);
    profile.record_decode(3, 90, large);
    EXPECT_EQ(profile.decode_threads(large), 5u);
}

TEST_F(Profile, ExploresOnlyWithMoreThanTwoCores) {
    ThreadProfile two = load(2);
    two.record_decode(2, 100, small);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(two.decode_threads(small), 2u);

    ThreadProfile eight = load(8);
    eight.record_decode(8, 100, small);
    std::multiset<unsigned> answers;
    for (int i = 0; i < 96; ++i) {
        const unsigned threads = eight.decode_threads(small);
        ASSERT_GE(threads, 1u);
        ASSERT_LE(threads, 8u);
        answers.insert(threads);
        eight.record_decode(threads, threads == 6 ? 120 : 90, small);
    }
    EXPECT_GE(answers.count(8), 30u);
    EXPECT_GE(answers.count(6), 40u) << "the better count was found and is used";
}

TEST_F(Profile, IgnoresNonsense) {
    ThreadProfile profile = load(4);
    profile.record_decode(0, 1e9, small);
    profile.record_decode(5, 1e9, small);
    profile.record_decode(2, std::numeric_limits<double>::quiet_NaN(), small);
    profile.record_decode(2, std::numeric_limits<double>::infinity(), small);
    profile.record_decode(2, -1, small);
    profile.record_decode(2, 0, small);
    EXPECT_EQ(profile.decode_threads(small), 4u);
    ASSERT_TRUE(profile.save());
    EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Profile, ReplacesADamagedFile) {
    const std::string machine = R"({"version":1,"machines":{"Test CPU, 4 cores":)";
    const std::string damaged[] = {
        "",
        "no json",
        "[1,2]",
        "{\"version\":1,\"machines\":",
        R"({"version":2,"machines":{"Test CPU, 4 cores":{"decode":{"27":{"1":50}}}}})",
        R"({"version":1,"machines":7})",
        machine + "3}}",
        machine + R"({"decode":5}}})",
        machine + R"({"decode":{"27":[1]}}}})",
        machine + R"({"decode":{"27":{"1":"x","0":9,"5":9,"2":-4,"3":null}}}}})",
        machine + R"({"other":{"27":{"1":50}}}}})",
        machine + R"({"decode":{"99999999999999999999":{"1":50}}}}})",
        std::string(100000, '['),
        std::string(3u << 20, ' '),
    };
    for (const std::string& text : damaged) {
        SCOPED_TRACE(text.substr(0, 60));
        write(text);
        ThreadProfile profile = load(4);
        EXPECT_EQ(profile.decode_threads(small), 4u);
        profile.record_decode(3, 10, small);
        ASSERT_TRUE(profile.save());
        EXPECT_EQ(load(4).decode_threads(small), 3u);
    }
}

TEST_F(Profile, ReadsWhatItShould) {
    write(R"({"version":1,"machines":{"Test CPU, 4 cores":{"decode":{"27":{"1":50,"4":40}}}}})");
    EXPECT_EQ(load(4).decode_threads(small), 1u);
}

TEST_F(Profile, SavingKeepsWhatOthersWrote) {
    ThreadProfile a = load(4), b = load(4), c = load(2, "Other CPU");
    a.record_decode(2, 70, small);
    b.record_decode(4, 60, small);
    c.record_prefill(1, 9, small);
    ASSERT_TRUE(a.save());
    ASSERT_TRUE(b.save());
    ASSERT_TRUE(c.save());
    EXPECT_EQ(load(4).decode_threads(small), 2u);
    EXPECT_EQ(load(2, "Other CPU").prefill_threads(small), 1u);
    EXPECT_NE(read().find("60"), std::string::npos);
    size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/ridge")) {
        (void)entry;
        ++files;
    }
    EXPECT_EQ(files, 1u) << "a temporary file was left behind";
}

TEST_F(Profile, SaysWhyItCannotBeWritten) {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ + "/ridge") << "a file where the folder should be";
    ThreadProfile profile = load(4);
    profile.record_decode(2, 70, small);
    const Status status = profile.save();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::io);
    EXPECT_NE(status.error().message.find(path_), std::string::npos);
    EXPECT_TRUE(ThreadProfile::load("", "Test CPU", 4).save());
}

TEST_F(Profile, PathFollowsTheEnvironment) {
    const auto restore = [](const char* name, const char* value) {
        if (value != nullptr)
            setenv(name, value, 1);
        else
            unsetenv(name);
    };
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    const std::string old_cache = cache ? cache : "", old_home = home ? home : "";
    setenv("XDG_CACHE_HOME", "/x/cache", 1);
    EXPECT_EQ(ThreadProfile::default_path(), "/x/cache/ridge/profile.json");
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", "/x/home", 1);
    EXPECT_EQ(ThreadProfile::default_path(), "/x/home/.cache/ridge/profile.json");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    EXPECT_EQ(ThreadProfile::default_path(), "");
    restore("XDG_CACHE_HOME", cache ? old_cache.c_str() : nullptr);
    restore("HOME", home ? old_home.c_str() : nullptr);
}

}  // namespace
}  // namespace ridge
