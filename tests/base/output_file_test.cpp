// Files that appear when they are complete: what had the name before survives every failure, and
// devices and pipes stay what they are.
#include "base/output_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>
#include <vector>

#include "support/temp_dir.hpp"

namespace ridge {
namespace {

namespace fs = std::filesystem;

class Output : public testing::Test {
  protected:
    void expect_failure(const Status& s, const std::string& part) const {
        ASSERT_FALSE(s);
        EXPECT_EQ(s.error().code, ErrorCode::io);
        EXPECT_NE(s.error().message.find(part), std::string::npos) << s.error().message;
        EXPECT_EQ(s.error().message.back(), '.') << s.error().message;
    }
    size_t files() const {
        return static_cast<size_t>(
            std::distance(fs::directory_iterator(dir_.path()), fs::directory_iterator()));
    }
    test::TempDir dir_;
};

// Files of this process get no longer than `bytes`, as on a disk that is full.
class FullDisk {
  public:
    explicit FullDisk(rlim_t bytes) {
        signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit small{bytes, before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &small);
    }
    FullDisk(const FullDisk&) = delete;
    FullDisk& operator=(const FullDisk&) = delete;
    ~FullDisk() {
        setrlimit(RLIMIT_FSIZE, &before_);
        signal(SIGXFSZ, SIG_DFL);
    }

  private:
    rlimit before_{};
};

TEST_F(Output, AppearsWhenItIsComplete) {
    const std::string path = dir_.file("new");
    {
        auto file = OutputFile::create(path);
        ASSERT_TRUE(file) << file.error().message;
        ASSERT_TRUE(file->write("one "));
        ASSERT_TRUE(file->write("two"));
        EXPECT_FALSE(fs::exists(path));
        EXPECT_TRUE(fs::exists(path + "." + std::to_string(getpid()) + ".part"));
        OutputFile moved = std::move(*file);
        ASSERT_TRUE(moved.commit());
    }
    EXPECT_EQ(test::read_file(path), "one two");
    EXPECT_EQ(files(), 1u);
    ASSERT_TRUE(write_file(path, "three"));
    EXPECT_EQ(test::read_file(path), "three");
    EXPECT_EQ(files(), 1u);
}

TEST_F(Output, WhatIsGivenUpLeavesTheOldFile) {
    const std::string path = dir_.write("old", "as it was");
    {
        auto file = OutputFile::create(path);
        ASSERT_TRUE(file);
        ASSERT_TRUE(file->write("something else"));
        EXPECT_EQ(files(), 2u);
        EXPECT_EQ(test::read_file(path), "as it was");
    }
    EXPECT_EQ(test::read_file(path), "as it was");
    EXPECT_EQ(files(), 1u);
}

TEST_F(Output, TwoWritersOfOneFileDoNotMix) {
    const std::string path = dir_.file("out");
    auto first = OutputFile::create(path);
    ASSERT_TRUE(first);
    ASSERT_TRUE(first->write("the first "));
    auto second = OutputFile::create(path);
    ASSERT_TRUE(second);
    ASSERT_TRUE(second->write("second"));
    ASSERT_TRUE(second->commit());
    ASSERT_TRUE(first->write("one"));
    EXPECT_EQ(test::read_file(path), "second");
    ASSERT_TRUE(first->commit());
    EXPECT_EQ(test::read_file(path), "the first one");
    EXPECT_EQ(files(), 1u);
}

TEST_F(Output, FilesOfTheUsersKeepTheirNames) {
    const std::string path = dir_.file("out");
    const std::string own = dir_.write("out.part", "mine"),
                      like = dir_.write("out." + std::to_string(getpid()) + ".part", "too");
    const std::string led = dir_.write("led", "as it was");
    fs::create_symlink(led, path + "." + std::to_string(getpid()) + "-1.part");
    ASSERT_TRUE(write_file(path, "new"));
    EXPECT_EQ(test::read_file(path), "new");
    EXPECT_EQ(test::read_file(own), "mine");
    EXPECT_EQ(test::read_file(like), "too");
    EXPECT_EQ(test::read_file(led), "as it was");
    EXPECT_EQ(files(), 5u);
}

TEST_F(Output, WhatIsReadIsNoOutput) {
    const std::string in = dir_.write("in", "x"), other = dir_.write("other", "y");
    fs::create_symlink(in, dir_.file("link"));
    fs::create_hard_link(in, dir_.file("hard"));
    for (const std::string& out :
         {in, dir_.file("link"), dir_.file("hard"), dir_.path() + "/./in"}) {
        const Status s = no_input(out, {dir_.file("none"), other, in});
        ASSERT_FALSE(s) << out;
        EXPECT_EQ(s.error().code, ErrorCode::invalid_argument);
        EXPECT_NE(s.error().message.find(out), std::string::npos) << s.error().message;
        EXPECT_TRUE(no_input(out, {dir_.file("none"), "", other}));
    }
    EXPECT_TRUE(no_input("", {""}));
    EXPECT_TRUE(no_input(dir_.file("none"), {dir_.file("none"), in}));
    EXPECT_TRUE(no_input("/dev/null", {"/dev/null"}));  // is written into, not replaced
}

TEST_F(Output, AFullDiskLeavesTheOldFile) {
    const std::string path = dir_.write("old", "as it was");
    const std::string text(10000, 'x');
    {
        const FullDisk full(1000);
        expect_failure(write_file(path, text), "Cannot write '" + path + "'");
        auto file = OutputFile::create(path);
        ASSERT_TRUE(file);
        expect_failure(file->write_at(text.data(), text.size(), 500), path);
        expect_failure(file->resize(10000), path);
    }
    EXPECT_EQ(test::read_file(path), "as it was");
    EXPECT_EQ(files(), 1u);
}

TEST_F(Output, ReplacedFilesKeepTheirPermissions) {
    const std::string path = dir_.write("secret", "old");
    ASSERT_EQ(chmod(path.c_str(), 0600), 0);
    ASSERT_TRUE(write_file(path, "new"));
    struct stat info = {};
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777u, 0600u);
    EXPECT_EQ(test::read_file(path), "new");
}

TEST_F(Output, FoldersThatTakeNoFile) {
    expect_failure(write_file(dir_.path(), "x"), "is a directory");
    expect_failure(write_file("/nowhere/at/all", "x"), "Cannot create '/nowhere/at/all'");
    expect_failure(write_file(dir_.file(std::string(250, 'n')), "x"), ".part': File name too long");
    expect_failure(write_file(dir_.write("plain", "") + "/below", "x"), "Cannot create");
    expect_failure(write_file("/proc/ridge", "x"), "Cannot create");  // not even root
    expect_failure(write_file("", "x"), "no name");
    if (geteuid() != 0) {
        ASSERT_EQ(chmod(dir_.path().c_str(), 0500), 0);
        expect_failure(write_file(dir_.file("plain"), "x"), "Cannot create");
        ASSERT_EQ(chmod(dir_.path().c_str(), 0700), 0);
    }
    expect_failure(may_replace(dir_.path()), "is a directory");
    EXPECT_TRUE(may_replace(dir_.file("plain")));
    EXPECT_TRUE(may_replace(dir_.file("none")));
}

// A folder that takes the name while the file is written: the rename fails, the part goes.
TEST_F(Output, ANameThatIsTakenMeanwhile) {
    const std::string path = dir_.file("out");
    auto file = OutputFile::create(path);
    ASSERT_TRUE(file);
    fs::create_directory(path);
    expect_failure(file->commit(), "Cannot write '" + path + "'");
    EXPECT_EQ(files(), 1u);
    EXPECT_TRUE(fs::is_directory(path));
}

TEST_F(Output, DevicesAreWrittenIntoOrRefused) {
    ASSERT_TRUE(write_file("/dev/null", "gone"));
    expect_failure(write_file("/dev/full", "x"), "Cannot write '/dev/full': No space left");
    for (const char* device : {"/dev/null", "/dev/full"}) {
        const auto file = OutputFile::create(device);
        ASSERT_FALSE(file);
        EXPECT_NE(file.error().message.find("no regular file"), std::string::npos);
        struct stat info = {};
        ASSERT_EQ(stat(device, &info), 0);
        EXPECT_TRUE(S_ISCHR(info.st_mode));
    }
}

TEST_F(Output, PipesAreWrittenIntoWhereSomebodyReads) {
    const std::string path = dir_.file("pipe");
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    expect_failure(write_file(path, "x"), "Cannot create");  // and does not wait for a reader
    expect_failure(may_replace(path), "no regular file");
    const std::string text(200000, 'y');  // more than a pipe holds
    std::string got;
    const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
    ASSERT_GE(reader, 0);
    ASSERT_EQ(fcntl(reader, F_SETFL, 0), 0);
    std::thread other([&] {
        char buffer[4096];
        while (got.size() < text.size()) {
            const ssize_t n = read(reader, buffer, sizeof buffer);
            if (n > 0)
                got.append(buffer, static_cast<size_t>(n));
            else
                usleep(1000);  // nobody writes yet
        }
    });
    const Status written = write_file(path, text);
    EXPECT_TRUE(written) << written.error().message;
    if (!written) std::abort();  // the reader would wait for ever
    other.join();
    close(reader);
    EXPECT_EQ(got, text);
    EXPECT_TRUE(fs::is_fifo(path));
    EXPECT_EQ(files(), 1u);
}

TEST_F(Output, LinksStayLinks) {
    const test::TempDir elsewhere;
    const std::string target = elsewhere.write("target", "old"), link = dir_.file("link");
    fs::create_symlink(target, link);
    ASSERT_TRUE(write_file(link, "new"));
    EXPECT_TRUE(fs::is_symlink(link));
    EXPECT_EQ(test::read_file(target), "new");
    ASSERT_TRUE(move_over(dir_.write("part", "newer"), link));
    EXPECT_TRUE(fs::is_symlink(link));
    EXPECT_EQ(test::read_file(target), "newer");
    fs::remove(target);  // where it leads nowhere, the file takes its place
    ASSERT_TRUE(write_file(link, "newest"));
    EXPECT_EQ(test::read_file(link), "newest");
    expect_failure(move_over(dir_.file("none"), link), "Cannot write");
}

TEST_F(Output, ThreadsWriteAtTheirPlaces) {
    const std::string path = dir_.file("out");
    auto file = OutputFile::create(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->resize(4 * 1000 + 5));
    {
        std::vector<std::jthread> threads;
        for (uint64_t i = 0; i < 4; ++i)
            threads.emplace_back([&, i] {
                const std::string part(1000, static_cast<char>('a' + i));
                EXPECT_TRUE(file->write_at(part.data(), part.size(), i * 1000));
            });
    }
    ASSERT_TRUE(file->commit());
    const std::string got = test::read_file(path);
    ASSERT_EQ(got.size(), 4005u);
    for (size_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(got[i], i < 4000 ? static_cast<char>('a' + i / 1000) : '\0') << i;
}

}  // namespace
}  // namespace ridge
