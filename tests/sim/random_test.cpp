// The instruction set against QEMU: random programs print the same checkpoints on both.
#include <gtest/gtest.h>

#include <cstdlib>

#include "sim/decode_fault.hpp"
#include "sim/external.hpp"
#include "sim/plain/plain.hpp"
#include "sim/random_program.hpp"

namespace ridge {
namespace {

using test::RandomProgram;
using test::Workspace;

std::string on_ridge(const rv32::ElfFile& elf, rv32::InstructionPlugin* fault = nullptr,
                     uint64_t* instructions = nullptr, uint64_t most = uint64_t{1} << 30) {
    sim::PlainMachine machine;
    if (fault) machine.plugins.push_back(fault);
    if (!machine.load(elf)) return "not loaded";
    const rv32::Stop stop = machine.run_program(most);
    if (instructions) *instructions = machine.harts[0].instret;
    return machine.uart.text + (stop == rv32::Stop::exit ? "end" : "no end");
}

std::string on_qemu(const Workspace& files, const std::string& elf) {
    const std::string command = fmt::format(
        "timeout 300 {} -machine virt -cpu rv32,d=false -bios none -display none -monitor none "
        "-serial file:{} "
        "-kernel {} </dev/null >/dev/null 2>&1",
        test::reference_machine, files.file("qemu.txt"), elf);
    const int code = std::system(command.c_str());
    return files.read("qemu.txt") + (code == 0 ? "end" : "no end");
}

struct Built {
    rv32::ElfFile elf;
    std::string path;
};

Built build(const Workspace& files, uint32_t seed, int blocks, int block, int rounds) {
    const RandomProgram program(seed, blocks, block, rounds);
    const std::string source = files.write("random.S", program.text());
    const std::string path = files.file("random.elf");
    if (!test::cross_build(source, path, "-Wl,-N -Wl,-Ttext=0x80000000 -Wl,--no-warn-rwx-segments"))
        return {};
    auto elf = rv32::read_elf(path);
    return elf ? Built{std::move(*elf), path} : Built{};
}

int lines(const std::string& text) {
    return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

class Random : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!test::have_program(test::cross_compiler))
            GTEST_SKIP() << "no " << test::cross_compiler
                         << ": apt-get install gcc-riscv64-unknown-elf";
        if (!test::have_program(test::reference_machine))
            GTEST_SKIP() << "no " << test::reference_machine
                         << ": apt-get install qemu-system-misc";
    }
};

// One million random instructions; RIDGE_SIM_MILLIONS asks for more, each million another program.
TEST_F(Random, AMillionInstructionsAsQemu) {
    const char* const asked = std::getenv("RIDGE_SIM_MILLIONS");
    const int millions = asked ? std::max(1, std::atoi(asked)) : 1;
    constexpr int blocks = 100, block = 200, rounds = 50;
    for (int i = 0; i < millions; ++i) {
        const Workspace files;
        const Built program = build(files, static_cast<uint32_t>(1 + i), blocks, block, rounds);
        ASSERT_FALSE(program.path.empty()) << "the program does not assemble";
        uint64_t instructions = 0;
        const std::string got = on_ridge(program.elf, nullptr, &instructions);
        const std::string want = on_qemu(files, program.path);
        ASSERT_EQ(lines(want), blocks * rounds) << "qemu did not finish";
        EXPECT_GT(instructions, uint64_t{1000000});
        size_t at = 0;
        while (at < got.size() && at < want.size() && got[at] == want[at]) ++at;
        ASSERT_EQ(got, want) << "first difference in checkpoint " << lines(got.substr(0, at));
    }
}

// A fault in any instruction shows: each instruction that the programs use is replaced by another.
TEST_F(Random, AFaultInAnyInstructionShows) {
    const Workspace files;
    const Built program = build(files, 77, 60, 200, 2);
    ASSERT_FALSE(program.path.empty());
    const std::string want = on_qemu(files, program.path);
    uint64_t enough = 0;
    ASSERT_EQ(on_ridge(program.elf, nullptr, &enough), want);
    enough *= 2;  // a fault may also keep a program from ending
    for (const auto& [op, wrong] : test::all_faults()) {
        test::DecodeFault fault(op, wrong);
        EXPECT_NE(on_ridge(program.elf, &fault, nullptr, enough), want)
            << rv32::info(op).mnemonic << " executed as " << rv32::info(wrong).mnemonic;
        EXPECT_GT(fault.applied, 0) << rv32::info(op).mnemonic;
    }
    for (const rv32::Format format : {rv32::Format::f4, rv32::Format::f3, rv32::Format::f2,
                                      rv32::Format::fx, rv32::Format::xf}) {
        test::RoundingFault fault(format);
        EXPECT_NE(on_ridge(program.elf, &fault, nullptr, enough), want)
            << "rounding of format " << static_cast<int>(format);
    }
}

}  // namespace
}  // namespace ridge
