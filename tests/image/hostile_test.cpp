// Damaged images: the host build of the firmware and the firmware on the simulator say what is
// wrong, trap nowhere and write no logits.
#include <gtest/gtest.h>

#include <stdlib.h>

#include <cstring>
#include <random>

#include "boards/ai-max-395/firmware/port_host.h"
#include "boards/ai-max-395/firmware/prefill.h"
#include "image/export.hpp"
#include "image_reader.hpp"
#include "support/temp_dir.hpp"

#ifdef RIDGE_FIRMWARE_ELF
#include "sim/soc/soc.hpp"
#endif

namespace ridge {
namespace {

using Bytes = std::vector<uint8_t>;

const Bytes& good_image() {
    static const Bytes bytes = [] {
        const auto file = GgufFile::open(RIDGE_SOURCE_DIR "/models/tiny-395-f32.gguf");
        const auto image = image::export_image(*file, "A bird sang in the garden.\n");
        EXPECT_TRUE(image) << image.error().message;
        return image->bytes;
    }();
    return bytes;
}

template <typename T>
T get(const Bytes& bytes, size_t at) {
    T value;
    std::memcpy(&value, &bytes[at], sizeof value);
    return value;
}
template <typename T>
void set(Bytes& bytes, size_t at, T value) {
    std::memcpy(&bytes[at], &value, sizeof value);
}

// An image in memory of exactly its size, so that a sanitizer sees every byte beyond it.
class Flash {
  public:
    Flash(const Bytes& image, size_t bytes) {
        void* memory = nullptr;
        EXPECT_EQ(::posix_memalign(&memory, 64, bytes), 0);
        data_.reset(static_cast<uint8_t*>(memory));
        std::memcpy(data_.get(), image.data(), bytes);
        fw::host_set_flash(data_.get(), bytes);
    }
    uint8_t* data() { return data_.get(); }

  private:
    std::unique_ptr<uint8_t, void (*)(void*)> data_{nullptr, std::free};
};

// Status of prefill_init; where it is not 0, logits stay as they were whatever is called.
int32_t status_of(const Bytes& image, size_t bytes) {
    Flash flash(image, bytes);
    prefill_init(flash.data(), SOC_SRAM_BASE);
    const int32_t status = prefill_status();
    std::vector<float> logits(IMAGE_MAX_VOCAB, -12345.0f);
    int32_t id = 1;
    prefill_run(&id, 1, logits.data());
    const bool written = logits != std::vector<float>(IMAGE_MAX_VOCAB, -12345.0f);
    EXPECT_EQ(written, status == PREFILL_OK);
    EXPECT_EQ(prefill_status() == PREFILL_OK, status == PREFILL_OK);
    decode_step(1, logits.data());
    prefill_cleanup();
    return status;
}
int32_t status_of(const Bytes& image) {
    return status_of(image, image.size());
}
int32_t sealed_status(Bytes image) {
    image::seal_image(image);
    return status_of(image);
}

TEST(HostileImage, TheUndamagedOneIsTaken) {
    EXPECT_EQ(status_of(good_image()), PREFILL_OK);
}

TEST(HostileImage, EveryWordOfTheHeaderIsCovered) {
    for (size_t at = 0; at < sizeof(ImageHeader); at += 4) {
        Bytes image = good_image();
        set(image, at, get<uint32_t>(image, at) ^ 0x00010000u);
        EXPECT_NE(status_of(image), PREFILL_OK) << "word " << at / 4;
    }
}

// Fields whose every other value is wrong, even where the checksum is right.
TEST(HostileImage, WrongFieldsAreRefusedBehindARightChecksum) {
    const auto expect = [](size_t at, std::initializer_list<int32_t> statuses) {
        const auto old = get<uint32_t>(good_image(), at);
        for (const uint32_t value : {0u, old + 1, old - 1, old * 2, old + 8, old | 0x80000000u,
                                     0x7fffffffu, 0xffffffffu}) {
            if (value == old) continue;
            Bytes image = good_image();
            set(image, at, value);
            const int32_t status = sealed_status(image);
            EXPECT_TRUE(std::find(statuses.begin(), statuses.end(), status) != statuses.end())
                << "byte " << at << ", value " << value << ": status " << status;
        }
    };
    const auto any = {PREFILL_BAD_SIZE + 0, PREFILL_BAD_CHECKSUM + 0, PREFILL_BAD_SHAPE + 0,
                      PREFILL_BAD_PROGRAM + 0};
    expect(offsetof(ImageHeader, magic), {PREFILL_BAD_MAGIC});
    expect(offsetof(ImageHeader, version), {PREFILL_BAD_VERSION});
    expect(offsetof(ImageHeader, header_bytes), {PREFILL_BAD_SIZE});
    expect(offsetof(ImageHeader, image_bytes), {PREFILL_BAD_SIZE, PREFILL_BAD_CHECKSUM});
    for (const size_t at : {offsetof(ImageHeader, dim), offsetof(ImageHeader, layers),
                            offsetof(ImageHeader, heads), offsetof(ImageHeader, kv_heads),
                            offsetof(ImageHeader, head_dim), offsetof(ImageHeader, hidden),
                            offsetof(ImageHeader, vocab), offsetof(ImageHeader, chunk_rows),
                            offsetof(ImageHeader, steps), offsetof(ImageHeader, units),
                            offsetof(ImageHeader, constants_a), offsetof(ImageHeader, constants_b),
                            offsetof(ImageHeader, head_b), offsetof(ImageHeader, weights_bytes)})
        expect(at, any);
}

// Any value anywhere in header, steps and units: a status, or a run that stays within its memory.
TEST(HostileImage, NoValueLeavesMemory) {
    std::mt19937 random(395);
    const Bytes& good = good_image();
    const size_t end = get<uint32_t>(good, offsetof(ImageHeader, embedding_offset));
    size_t refused = 0, runs = 0;
    for (size_t i = 0; i < 200; ++i) {
        Bytes image = good;
        const size_t at = i < 64 ? 4 * i : random() % (end / 4) * 4;
        const uint32_t values[] = {0,
                                   1,
                                   0x7fffffff,
                                   0xffffffff,
                                   0x80000000,
                                   static_cast<uint32_t>(random()),
                                   get<uint32_t>(good, at) + 16};
        set(image, at, values[random() % std::size(values)]);
        (sealed_status(image) == PREFILL_OK ? runs : refused) += 1;
    }
    EXPECT_GT(refused, 50u);
    EXPECT_GT(runs, 10u);  // scales and unused words
}

// Weights, scales and tables of any value: results are wrong, nothing else is.
TEST(HostileImage, NoContentLeavesMemory) {
    std::mt19937 random(396);
    const Bytes& good = good_image();
    const size_t begin = get<uint32_t>(good, offsetof(ImageHeader, embedding_offset));
    for (size_t i = 0; i < 8; ++i) {
        Bytes image = good;
        for (size_t at = begin; at < image.size(); at += 4)
            if (i == 0 || random() % 4 == 0)
                set(image, at, static_cast<uint32_t>(random()) | (i & 1 ? 0x7fff7fffu : 0u));
        EXPECT_EQ(sealed_status(image), PREFILL_OK);
    }
}

TEST(HostileImage, TruncatedAtEverySection) {
    const Bytes& good = good_image();
    ImageHeader h;
    std::memcpy(&h, good.data(), sizeof h);
    for (const uint32_t section :
         {0u, static_cast<uint32_t>(sizeof h), h.units_offset, h.embedding_offset, h.rope_offset,
          h.constants_offset, h.weights_offset, h.image_bytes})
        for (const uint32_t less : {16u, 4u, 1u}) {
            if (section < less) continue;
            const int32_t status = status_of(good, section - less);
            EXPECT_TRUE(status == PREFILL_BAD_SIZE || status == PREFILL_BAD_BASE)
                << section - less << ": status " << status;
        }
    // Every bit of content is covered by the checksum: one flipped in each section.
    for (const uint32_t section : {h.steps_offset, h.units_offset, h.embedding_offset,
                                   h.rope_offset, h.constants_offset, h.weights_offset}) {
        Bytes image = good;
        image[section + 5] ^= 4;
        EXPECT_EQ(status_of(image), PREFILL_BAD_CHECKSUM) << section;
    }
}

TEST(HostileImage, WrongCallsGetAStatusAndWriteNothing) {
    Flash flash(good_image(), good_image().size());
    std::vector<float> logits(IMAGE_MAX_VOCAB, -1.0f);
    const std::vector<float> before = logits;
    std::vector<int32_t> ids(129, 1);
    const auto expect = [&](int32_t status) {
        EXPECT_EQ(prefill_status(), status);
        EXPECT_TRUE(logits == before);
    };
    prefill_cleanup();
    prefill_run(ids.data(), 1, logits.data());
    expect(PREFILL_NOT_READY);
    prefill_init(flash.data(), SOC_SRAM_BASE + 4);
    expect(PREFILL_BAD_BASE);
    prefill_init(flash.data() + 4, SOC_SRAM_BASE);
    expect(PREFILL_BAD_BASE);
    prefill_init(nullptr, SOC_SRAM_BASE);
    expect(PREFILL_BAD_BASE);
    prefill_init(flash.data(), SOC_SRAM_BASE);
    expect(PREFILL_OK);
    decode_step(1, logits.data());
    expect(PREFILL_NO_SEQUENCE);
    for (const int32_t length : {0, -1, 129, INT32_MIN, INT32_MAX}) {
        prefill_run(ids.data(), length, logits.data());
        expect(PREFILL_BAD_LENGTH);
    }
    for (const int32_t id : {-1, 512, INT32_MIN, INT32_MAX}) {
        ids[2] = id;
        prefill_run(ids.data(), 3, logits.data());
        expect(PREFILL_BAD_TOKEN);
    }
    prefill_run(nullptr, 1, logits.data());
    expect(PREFILL_BAD_POINTER);
    prefill_run(ids.data(), 1, nullptr);
    expect(PREFILL_BAD_POINTER);
    prefill_run(ids.data(), 2, logits.data());
    EXPECT_EQ(prefill_status(), PREFILL_OK);
    EXPECT_FALSE(logits == before);
    prefill_cleanup();
}

#ifdef RIDGE_FIRMWARE_ELF
// What the main program on the simulated chip says of an image: the status it prints and ends with.
int simulated_status(const Bytes& image) {
    static const auto elf = rv32::read_elf(RIDGE_FIRMWARE_ELF);
    EXPECT_TRUE(elf) << elf.error().message;
    auto board = sim::Board::load(RIDGE_SOURCE_DIR "/boards/ai-max-395/board.toml");
    auto soc = std::make_unique<sim::Soc>(std::move(*board));
    EXPECT_TRUE(soc->load(*elf));
    const Bytes flash = image::with_run_request(image, {{1, 438, 439}, 1, -1, 0});
    EXPECT_TRUE(soc->load_flash(flash.data(), flash.size()));
    soc->run(400'000'000);
    EXPECT_EQ(soc->stop, rv32::Stop::exit) << describe_stop(*soc, &*elf);
    unsigned status = 999;
    std::sscanf(soc->uart.text.c_str(), "status %u", &status);
    EXPECT_EQ(static_cast<unsigned>(soc->exit_code), status) << soc->uart.text;
    EXPECT_EQ(soc->uart.text.find("token") != std::string::npos, status == 0) << soc->uart.text;
    return static_cast<int>(status);
}

TEST(HostileImage, TheSimulatedChipSaysTheSame) {
    EXPECT_EQ(simulated_status(good_image()), PREFILL_OK);
    std::mt19937 random(397);
    const Bytes& good = good_image();
    size_t refused = 0;
    for (size_t at = 0; at < 30 * 4; at += 4) {  // every field before model_id
        Bytes image = good;
        set(image, at, get<uint32_t>(image, at) + (random() % 2 ? 1 : 0x01000000));
        if (at != offsetof(ImageHeader, sum) && at != offsetof(ImageHeader, sums))
            image::seal_image(image);
        const int32_t host = status_of(image);
        EXPECT_EQ(simulated_status(image), host) << "word " << at / 4;
        refused += host != PREFILL_OK;
    }
    EXPECT_GT(refused, 20u);
    const ImageHeader h = test::ImageReader(good).h;
    for (const uint32_t section : {h.units_offset, h.rope_offset, h.weights_offset}) {
        const Bytes cut(good.begin(), good.begin() + section);  // empty flash behind it
        EXPECT_EQ(simulated_status(cut), PREFILL_BAD_CHECKSUM) << section;
    }
    EXPECT_EQ(simulated_status(Bytes(64)), PREFILL_BAD_MAGIC);
}
#endif

}  // namespace
}  // namespace ridge
