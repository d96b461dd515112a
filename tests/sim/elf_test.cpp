// Executables are hostile input.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "sim/plain/plain.hpp"

namespace ridge {
namespace {

// A program of one segment at the beginning of RAM: header, one program header, 16 bytes.
std::vector<uint8_t> small_elf() {
    std::vector<uint8_t> file(52 + 32 + 16);
    const auto put = [&](size_t at, uint32_t value, size_t bytes) {
        std::memcpy(file.data() + at, &value, bytes);
    };
    std::memcpy(file.data(),
                "\x7f"
                "ELF\x01\x01\x01",
                7);
    put(16, 2, 2), put(18, 243, 2), put(20, 1, 4), put(24, 0x80000000u, 4), put(28, 52, 4);
    put(36, 0x3, 4), put(40, 52, 2), put(42, 32, 2), put(44, 1, 2);
    const uint32_t segment[8] = {1, 84, 0x80000000u, 0x80000000u, 16, 64, 7, 4};
    std::memcpy(file.data() + 52, segment, sizeof segment);
    return file;
}

Result<rv32::ElfFile> parse(const std::vector<uint8_t>& file) {
    return rv32::parse_elf(file.data(), file.size(), "test.elf");
}

TEST(Elf, ASmallProgramLoads) {
    const auto elf = parse(small_elf());
    ASSERT_TRUE(elf) << elf.error().message;
    EXPECT_EQ(elf->entry, 0x80000000u);
    ASSERT_EQ(elf->segments.size(), 1u);
    EXPECT_EQ(elf->segments[0].bytes.size(), 16u);
    sim::PlainMachine machine;
    EXPECT_TRUE(machine.load(*elf));
}

TEST(Elf, BrokenFilesAreRefusedWithASentence) {
    const auto with = [](size_t at, uint32_t value, size_t bytes) {
        auto file = small_elf();
        std::memcpy(file.data() + at, &value, bytes);
        return parse(file);
    };
    EXPECT_FALSE(with(0, 0, 4));            // magic
    EXPECT_FALSE(with(4, 2, 1));            // 64 bit
    EXPECT_FALSE(with(18, 62, 2));          // x86-64
    EXPECT_FALSE(with(16, 3, 2));           // shared object
    EXPECT_FALSE(with(36, 4, 4));           // double float ABI
    EXPECT_FALSE(with(36, 8, 4));           // RV32E
    EXPECT_FALSE(with(28, 0xffffffff, 4));  // program headers outside
    EXPECT_FALSE(with(42, 31, 2));          // of another size
    EXPECT_FALSE(with(44, 0, 2));           // none
    EXPECT_FALSE(with(44, 0xffff, 2));      // too many
    EXPECT_FALSE(with(52 + 4, 100, 4));     // segment outside of the file
    EXPECT_FALSE(with(52 + 16, 0xfffffff0, 4));
    EXPECT_FALSE(with(52 + 20, 8, 4));           // memory smaller than file
    EXPECT_FALSE(with(52 + 20, 0x80000000, 4));  // wraps
    const auto elsewhere = with(52 + 12, 0x40000000, 4);
    ASSERT_TRUE(elsewhere);
    sim::PlainMachine machine;
    const Status loaded = machine.load(*elsewhere);
    ASSERT_FALSE(loaded);
    EXPECT_NE(loaded.error().message.find("0x40000000"), std::string::npos);
}

TEST(Elf, DamageNeverDoesWorseThanAnError) {
    std::mt19937 random(5);
    const auto good = small_elf();
    int accepted = 0;
    for (int i = 0; i < 20000; ++i) {
        auto file = good;
        for (int n = 0; n < 4; ++n) file[random() % file.size()] = static_cast<uint8_t>(random());
        file.resize(file.size() - (i % 3 ? 0 : random() % file.size()));
        const auto elf = rv32::parse_elf(file.data(), file.size(), "x");
        if (!elf) continue;
        ++accepted;
        for (const auto& s : elf->segments) ASSERT_LE(s.bytes.size(), file.size());
    }
    EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace ridge
