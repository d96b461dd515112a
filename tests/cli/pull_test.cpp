// ridge pull against a local server that cuts connections, changes its file, lies and refuses.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "format/sha256.hpp"
#include "support/cli.hpp"
#include "support/temp_dir.hpp"

namespace ridge {
namespace {

namespace fs = std::filesystem;

TEST(Sha256Test, PublishedVectors) {  // FIPS 180-4's examples
    const auto of = [](const std::string& text, size_t step) {
        Sha256 sum;
        for (size_t i = 0; i < text.size(); i += step) {
            const std::string piece = text.substr(i, step);
            sum.add(piece.data(), piece.size());
        }
        return sum.finish();
    };
    for (const size_t step : {1u, 7u, 64u, 1000u}) {
        EXPECT_EQ(of("", step), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        EXPECT_EQ(of("abc", step),
                  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        EXPECT_EQ(of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", step),
                  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        EXPECT_EQ(of(std::string(1000000, 'a'), step),
                  "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    }
}

class Pull : public testing::Test {
  protected:
    void SetUp() override {
        const std::string log = dir_.file("log"),
                          script = RIDGE_SOURCE_DIR "/tests/cli/pull_server.py";
        int in[2], out[2];
        ASSERT_EQ(pipe2(in, O_CLOEXEC) + pipe2(out, O_CLOEXEC), 0);
        server_ = fork();
        if (server_ == 0) {
            dup2(in[0], 0);
            dup2(out[1], 1);
            execlp("python3", "python3", script.c_str(), log.c_str(), nullptr);
            _exit(127);
        }
        close(in[0]);
        close(out[1]);
        server_in_ = in[1];
        std::string port;
        for (char c = 0; read(out[0], &c, 1) == 1 && c != '\n';) port += c;
        close(out[0]);
        ASSERT_FALSE(port.empty()) << "the server did not start";
        url_ = "http://127.0.0.1:" + port;
        fs::create_directory(dir_.file("models"));
        if (run({url_ + "/good/m.gguf", "-o", dir_.file("first.gguf")})
                .err.find("without libcurl") != std::string::npos)
            GTEST_SKIP() << "this ridge was built without libcurl";
        whole_ = test::read_file(dir_.file("first.gguf"));
        ASSERT_EQ(whole_.size(), 300000u);
    }
    void TearDown() override {
        close(server_in_);
        if (server_ > 0) waitpid(server_, nullptr, 0);
    }
    test::CliRun run(std::vector<std::string> args,
                     std::vector<std::pair<std::string, std::string>> environment = {}) {
        args.insert(args.begin(), "pull");
        test::CliOptions options;
        environment.emplace_back("RIDGE_MODELS", dir_.file("models"));
        environment.emplace_back("no_proxy", "127.0.0.1");
        options.environment = std::move(environment);
        return test::run_cli(RIDGE_CLI, args, options);
    }
    // What the server was asked after it started.
    std::string log() { return test::read_file(dir_.file("log")); }
    std::string model(const char* name = "m.gguf") { return dir_.file("models/") + name; }
    void nothing_left() {
        for (const auto& entry : fs::directory_iterator(dir_.file("models")))
            ADD_FAILURE() << entry.path() << " is left";
    }
    // Fails with one line that holds `words`.
    void refused(const std::vector<std::string>& args, const std::string& words,
                 const std::vector<std::pair<std::string, std::string>>& environment = {}) {
        const auto r = run(args, environment);
        EXPECT_EQ(r.code, 1) << r.out;
        EXPECT_TRUE(test::is_one_complaint(r.err)) << r.err;
        EXPECT_NE(r.err.find(words), std::string::npos) << r.err;
    }

    test::TempDir dir_;
    std::string url_, whole_;
    pid_t server_ = -1;
    int server_in_ = -1;
};

TEST_F(Pull, GoesIntoTheModelFolderAndSaysItsSum) {
    const auto r = run({url_ + "/good/m.gguf?download=true"});
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(test::read_file(model()), whole_);
    Sha256 sum;
    sum.add(whole_.data(), whole_.size());
    const std::string digest = sum.finish();
    EXPECT_NE(r.out.find(digest), std::string::npos) << r.out;
    EXPECT_NE(r.out.find("nothing to check"), std::string::npos) << r.out;
    EXPECT_EQ(run({url_ + "/good/m.gguf", "--sha256", digest}).out,
              model() + " is there already\n");
    refused({url_ + "/good/m.gguf", "--sha256", std::string(64, '0')}, "another SHA-256");
    fs::remove(model());
    EXPECT_NE(run({url_ + "/good/m.gguf", "--sha256", digest}).out.find("as expected"),
              std::string::npos);
    EXPECT_FALSE(fs::exists(model("m.gguf.part")));
    EXPECT_FALSE(fs::exists(model("m.gguf.part.tag")));
}

TEST_F(Pull, GoesOnWhereConnectionsAreCut) {
    const auto r = run({url_ + "/cut/m.gguf"});
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(test::read_file(model()), whole_);
    EXPECT_NE(log().find("/cut/m.gguf bytes=100000-"), std::string::npos) << log();
    EXPECT_NE(log().find("/cut/m.gguf bytes=200000-"), std::string::npos) << log();
}

TEST_F(Pull, ALaterRunGoesOnToo) {
    refused({url_ + "/absent/m.gguf"}, "HTTP 404");
    ASSERT_TRUE(run({url_ + "/cut/m.gguf"}).code == 0);
    // as if it had been stopped after 150000 bytes
    std::string tag = log().substr(log().find("bytes=100000- ") + 14);
    tag = tag.substr(0, tag.find(' '));
    fs::remove(model());
    dir_.write("models/m.gguf.part", whole_.substr(0, 150000));
    dir_.write("models/m.gguf.part.tag", tag);
    const auto r = run({url_ + "/good/m.gguf"});
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_NE(r.out.find("from byte 150000"), std::string::npos) << r.out;
    EXPECT_EQ(test::read_file(model()), whole_);
    // a part that is whole already, one that is too long, one whose server gave no tag
    for (const size_t size : {size_t{300000}, size_t{300001}, size_t{1000}}) {
        fs::remove(model());
        dir_.write("models/m.gguf.part", (whole_ + "x").substr(0, size));
        dir_.write("models/m.gguf.part.tag", size > 1000 ? tag : "");
        EXPECT_EQ(run({url_ + "/good/m.gguf"}).code, 0);
        EXPECT_EQ(test::read_file(model()), whole_) << size;
    }
    // one that ridge did not begin
    fs::remove(model());
    dir_.write("models/m.gguf.part", "mine");
    refused({url_ + "/good/m.gguf"}, "was not begun by ridge");
    EXPECT_EQ(test::read_file(model("m.gguf.part")), "mine");
}

TEST_F(Pull, WhatIsThereIsLookedAt) {
    const std::string nowhere = "http://127.0.0.1:1/x.gguf";
    for (const char* text : {"", "notes"}) {
        for (const char* name : {"notes.txt", "x.gguf"}) {
            refused({nowhere, "-o", dir_.write(name, text)}, "is no GGUF file");
            EXPECT_EQ(test::read_file(dir_.file(name)), text);
        }
    }
    refused({"http://127.0.0.1:1/x.bin", "-o", dir_.write("x.bin", "")}, "is empty");
    refused({nowhere, "-o", "/dev/null"}, "no regular file");
    // a folder is where the file goes
    const std::string folder = dir_.file("models");
    refused({nowhere, "-o", folder, "--retries", "0"}, "failed");
    for (const char* end : {"", "/"}) {
        const auto r = run({url_ + "/good/m.gguf", "-o", folder + end});
        EXPECT_EQ(r.code, 0) << r.err;
        EXPECT_EQ(test::read_file(model()), whole_);
    }
}

TEST_F(Pull, NeverJoinsTwoFiles) {
    for (const char* kind : {"changing", "norange", "wrongrange", "weak"}) {
        fs::remove(model());
        const auto r = run({url_ + "/" + kind + "/m.gguf"});
        EXPECT_EQ(r.code, 0) << kind << ": " << r.err;
        const std::string got = test::read_file(model());
        EXPECT_EQ(got.size(), whole_.size()) << kind;
        if (std::string(kind) == "changing")
            EXPECT_NE(got.substr(0, 1000), whole_.substr(0, 1000));
        else
            EXPECT_EQ(got, whole_) << kind;
    }
    // of the changing file, the sum that a second whole copy has
    const std::string again = test::read_file(model());
    EXPECT_EQ(again, whole_);
}

TEST_F(Pull, RedirectsAndBusyServers) {
    for (const char* kind : {"moved", "busy"}) {
        fs::remove(model());
        EXPECT_EQ(run({url_ + "/" + kind + "/m.gguf"}).code, 0) << kind;
        EXPECT_EQ(test::read_file(model()), whole_);
    }
    fs::remove(model());
    refused({url_ + "/loop/m.gguf", "--retries", "0"}, "redirect");
    refused({"http://127.0.0.1:1/m.gguf", "--retries", "0"}, "failed");
}

TEST_F(Pull, SumsThatTheServerNamesAreChecked) {
    EXPECT_NE(run({url_ + "/sum/m.gguf"}).out.find("as expected"), std::string::npos);
    fs::remove(model());
    refused({url_ + "/lies/m.gguf"}, "thrown away");
    refused({url_ + "/good/m.gguf", "--sha256", std::string(64, 'a')}, "thrown away");
    refused({url_ + "/page/m.gguf"}, "no GGUF");
    nothing_left();
}

TEST_F(Pull, TheHubIsASetting) {
    refused({"hf:o/r/m.gguf"}, "RIDGE_HUB");
    const std::vector<std::pair<std::string, std::string>> hub = {{"RIDGE_HUB", url_ + "/hub/"},
                                                                  {"RIDGE_HUB_TOKEN", "secret"}};
    EXPECT_EQ(run({"hf:o/r/m.gguf"}, hub).code, 0);
    EXPECT_NE(log().find("/hub/o/r/resolve/main/m.gguf None None Bearer secret"), std::string::npos)
        << log();
    fs::remove(model());
    EXPECT_EQ(run({"hf:o/r/sub/m.gguf@v1"}, hub).code, 0);
    EXPECT_NE(log().find("/hub/o/r/resolve/v1/sub/m.gguf"), std::string::npos);
    fs::remove(model());
    for (const char* bad : {"hf:", "hf:o/r", "hf:o/../m.gguf", "hf:o/r/../../m.gguf", "hf:o//m",
                            "hf:o/r/m.gguf@", "hf:o/r/m.gguf@a/b", "hf:o/r/%2e%2e/m", "hf:/o/r/m"})
        refused({bad}, "hf:owner/repo/file", hub);
    // the token is for the hub alone
    refused({url_ + "/denied/m.gguf", "--retries", "0"}, "HTTP 401", hub);
    nothing_left();
}

TEST_F(Pull, NamesComeFromTheCatalog) {
    refused({"some-model"}, "catalog.json");
    dir_.write("models/catalog.json", R"({"some-model": {"url": ")" + url_ +
                                          R"(/good/m.gguf", "sha256": ")" + std::string(64, '0') +
                                          R"("}, "odd": 3})");
    refused({"some-model"}, "thrown away");
    refused({"some-modle"}, "some-model");
    refused({"odd"}, "names no");
    dir_.write("models/catalog.json", "[");
    refused({"some-model"}, "catalog.json");
}

TEST_F(Pull, MistakesGetOneLine) {
    refused({"ftp://127.0.0.1/m.gguf"}, "neither an http");
    refused({"file:///etc/passwd"}, "neither an http");
    refused({url_ + "/good/"}, "-o");
    refused({url_ + "/good/.."}, "-o");
    refused({"http://127.0.0.1"}, "-o");
    refused({url_ + "/good/m.gguf", "--sha256", "12"}, "64");
    refused({url_ + "/good/m.gguf", "-o", dir_.file("no/folder/m.gguf")}, "cannot write");
    refused({url_ + "/denied/m.gguf"}, "RIDGE_HUB_TOKEN");
    const int held = open(model("m.gguf.part").c_str(), O_RDWR | O_CREAT, 0666);
    ASSERT_EQ(flock(held, LOCK_EX), 0);
    refused({url_ + "/good/m.gguf"}, "another program");
    close(held);
}

}  // namespace
}  // namespace ridge
