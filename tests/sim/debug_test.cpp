// gdb attached to a board, and what `ridge sim` says and returns.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <nlohmann/json.hpp>
#include <thread>

#include "sim/debug/gdb_server.hpp"
#include "sim/soc_fixture.hpp"

namespace ridge {
namespace {

using test::Workspace;

TEST(Gdb, BreaksStepsReadsWritesWatchesAndContinues) {
    for (const char* needed : {test::cross_compiler, "gdb-multiarch"})
        if (!test::have_program(needed))
            GTEST_SKIP() << "no " << needed
                         << " (Debian package of that name or gcc-riscv64-unknown-elf)";
    const Workspace files;
    const auto elf = test::program(files, "cycles");
    ASSERT_TRUE(elf) << elf.error().message;
    auto soc = test::board();
    ASSERT_TRUE(soc->load(*elf));
    sim::GdbServer server(*soc);
    std::thread gdb;
    int code = -1;
    const Status served = server.serve(0, [&](uint16_t port) {
        const std::string command = fmt::format(
            "timeout 300 gdb-multiarch -nx -batch -ex 'set architecture riscv:rv32' -ex 'target "
            "remote :{}' -x {} {} >{} 2>&1",
            port, RIDGE_SOURCE_DIR "/tests/sim/programs/debug.gdb", files.file("cycles.elf"),
            files.file("gdb.txt"));
        gdb = std::thread([command, &code] { code = std::system(command.c_str()); });
    });
    gdb.join();
    ASSERT_TRUE(served) << served.error().message;
    const std::string text = files.read("gdb.txt");
    uint32_t function = 0, constant = 0;
    ASSERT_TRUE(elf->find("function", function) && elf->find("constant", constant));
    const auto line = [&](const std::string& want) {
        EXPECT_NE(text.find(want + "\n"), std::string::npos) << want << "\n" << text;
    };
    line(fmt::format("B function={:#x}", function));
    EXPECT_NE(text.find(fmt::format("A pc={:#x} ", function)), std::string::npos) << text;
    EXPECT_EQ(text.find(fmt::format("C pc={:#x}", function)), std::string::npos) << text;
    line("E f1=2.5 a3=99");
    line("F memory=1234 rom=0x1");
    line("G changed=1");
    line("H hart 1 pc in park=1");
    EXPECT_NE(text.find("exited normally"), std::string::npos) << text;
    EXPECT_EQ(code, 0);
    EXPECT_EQ(soc->stop, rv32::Stop::exit);
    EXPECT_TRUE(soc->accounts_match());
}

class SimVerb : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!test::have_program(test::cross_compiler))
            GTEST_SKIP() << "no " << test::cross_compiler
                         << ": apt-get install gcc-riscv64-unknown-elf";
    }
    // Exit code of `ridge sim`; out and err keep what it wrote.
    int sim(const std::string& arguments) {
        const int code = std::system(fmt::format("{} sim {} >{} 2>{}", RIDGE_CLI, arguments,
                                                 files_.file("out"), files_.file("err"))
                                         .c_str());
        out = files_.read("out");
        err = files_.read("err");
        return WIFEXITED(code) ? WEXITSTATUS(code) : -1;
    }
    std::string build(const std::string& name, const std::string& defines = "") {
        EXPECT_TRUE(test::program(files_, name, defines));
        return files_.file(name + ".elf");
    }
    Workspace files_;
    std::string out, err;
};

TEST_F(SimVerb, PrintsTheUartAndTheCounters) {
    const std::string elf = build("copy");
    files_.write("flash", std::string(4096, '\1'));
    EXPECT_EQ(sim(elf + " --flash " + files_.file("flash") + " --trace " + files_.file("t.json") +
                  " --json " + files_.file("r.json")),
              0)
        << err;
    EXPECT_EQ(out, "ok\n");
    EXPECT_NE(err.find("(simulated)"), std::string::npos);
    EXPECT_NE(err.find("as counted"), std::string::npos);
    EXPECT_EQ(err.find("DIFFERS"), std::string::npos);
    const auto result = nlohmann::json::parse(files_.read("r.json"));
    EXPECT_TRUE(result.at("accounts_match").get<bool>());
    for (const auto& hart : result.at("harts")) {
        uint64_t sum = 0;
        for (const auto& [name, count] : hart.at("events").items())
            sum += count.get<uint64_t>() * result.at("costs").at(name).get<uint64_t>();
        EXPECT_EQ(sum, hart.at("cycles").get<uint64_t>());
    }
    const auto trace = nlohmann::json::parse(files_.read("t.json"));
    uint64_t mau = 0, rows = 0, row = 0;
    for (const auto& e : trace.at("traceEvents"))
        if (e.at("name") == "thread_name" && ++rows && e.at("args").at("name") == "MAU")
            row = e.at("tid").get<uint64_t>();
    for (const auto& e : trace.at("traceEvents"))
        if (e.at("ph") == "X" && e.at("tid").get<uint64_t>() == row)
            mau += e.at("args").at("cycles").get<uint64_t>();
    EXPECT_EQ(rows, 7u);
    EXPECT_EQ(mau, result.at("mau").at("busy_cycles").get<uint64_t>());
}

TEST_F(SimVerb, RacesAndErrorsHaveTheirCodes) {
    EXPECT_EQ(sim(build("copy", "-DNO_MAU_WAIT")), 3);
    EXPECT_NE(err.find("reads a result of MAU"), std::string::npos) << err;
    const std::string elf = build("copy");
    EXPECT_EQ(sim(elf + " --at 20000"), 0);
    EXPECT_NE(out.find("MAU: multiplies"), std::string::npos) << out;
    EXPECT_EQ(sim(elf + " --at 99999999"), 1);
    EXPECT_EQ(sim(elf + " --profile nonsense"), 1);
    EXPECT_NE(err.find("report"), std::string::npos) << err;
    EXPECT_EQ(sim(elf + " --set cost.mul=0"), 1);
    EXPECT_EQ(sim(elf + " --board nowhere"), 1);
    EXPECT_EQ(sim(elf + " --flash /nowhere"), 1);
    EXPECT_EQ(sim("/dev/null"), 1);
    EXPECT_EQ(sim("--list"), 0);
    EXPECT_NE(out.find("assumption"), std::string::npos);
}

}  // namespace
}  // namespace ridge
