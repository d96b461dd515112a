// Token ids come from the logits that the firmware computes: a firmware with one kernel wrong on
// purpose prints other ids, and so does an image with one wrong weight matrix.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "image/export.hpp"
#include "image_reader.hpp"
#include "sim/soc/soc.hpp"
#include "support/sanitized.hpp"
#include "support/temp_dir.hpp"

namespace ridge {
namespace {

#ifndef RIDGE_FIRMWARE_ELF

TEST(FirmwareFault, NeedsACrossCompiler) {
    GTEST_SKIP() << "no riscv64-unknown-elf-g++: apt-get install gcc-riscv64-unknown-elf";
}

#else

const std::vector<uint8_t>& tiny_image() {
    static const std::vector<uint8_t> bytes = [] {
        const auto file = GgufFile::open(RIDGE_SOURCE_DIR "/models/tiny-395-f32.gguf");
        const auto image = image::export_image(
            *file, test::read_file(RIDGE_SOURCE_DIR "/boards/ai-max-395/calibration/prompts.txt"));
        EXPECT_TRUE(image) << image.error().message;
        return image->bytes;
    }();
    return bytes;
}

std::vector<int> simulated_ids(const std::string& firmware, const std::vector<uint8_t>& image) {
    const auto elf = rv32::read_elf(firmware);
    EXPECT_TRUE(elf) << elf.error().message;
    auto board = sim::Board::load(RIDGE_SOURCE_DIR "/boards/ai-max-395/board.toml");
    auto soc = std::make_unique<sim::Soc>(std::move(*board));
    EXPECT_TRUE(soc->load(*elf));
    const auto golden =
        nlohmann::json::parse(std::ifstream(RIDGE_SOURCE_DIR "/models/tiny-395.golden.json"));
    const auto flash =
        image::with_run_request(image, {golden["ids"].get<std::vector<int32_t> >(), 24, -1, 1000});
    EXPECT_TRUE(soc->load_flash(flash.data(), flash.size()));
    soc->run(200'000'000);
    EXPECT_EQ(soc->stop, rv32::Stop::exit);
    std::vector<int> ids;
    for (size_t at = soc->uart.text.find("token "); at != std::string::npos;
         at = soc->uart.text.find("token ", at + 1))
        ids.push_back(std::atoi(&soc->uart.text[at + 6]));
    return ids;
}

TEST(FirmwareFault, OneWrongKernelChangesTheIds) {
    if (test::sanitized) GTEST_SKIP() << "the release build says whether ids change";
    const std::vector<int> good = simulated_ids(RIDGE_FIRMWARE_ELF, tiny_image());
    ASSERT_EQ(good.size(), 24u);
    const test::TempDir dir;
    for (int fault = 1; fault <= 6; ++fault) {
        const std::string elf = dir.file("fault.elf");
        const std::string command = RIDGE_SOURCE_DIR "/boards/ai-max-395/firmware/build.sh " + elf +
                                    " -DRIDGE_FW_FAULT=" + std::to_string(fault);
        ASSERT_EQ(std::system(("sh " + command).c_str()), 0) << command;
        EXPECT_NE(simulated_ids(elf, tiny_image()), good) << "fault " << fault;
    }
}

TEST(FirmwareFault, OneWrongMatrixChangesTheIds) {
    if (test::sanitized) GTEST_SKIP() << "the release build says whether ids change";
    const std::vector<int> good = simulated_ids(RIDGE_FIRMWARE_ELF, tiny_image());
    const test::ImageReader read(tiny_image());
    for (const uint32_t step : {2u, 4u, 6u}) {  // layer 0: QKV, Wo, FFN
        const ImageStep s = read.step(step);
        std::vector<uint8_t> image = tiny_image();
        ImageUnit unit;
        std::memcpy(&unit, &image[read.h.units_offset + s.first_unit * sizeof unit], sizeof unit);
        std::fill_n(image.begin() + unit.offset, unit.bytes, uint8_t{0});
        image::seal_image(image);
        EXPECT_NE(simulated_ids(RIDGE_FIRMWARE_ELF, image), good) << "step " << step;
    }
}

#endif

}  // namespace
}  // namespace ridge
