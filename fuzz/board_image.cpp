// Any change to an image of the AI Max 395, checksums made good: the firmware (as functions) gives
// a status, reads nothing outside of the image, and writes no logits unless all went well. The
// input is a list of changes: 8 bytes each, a section, a place in it, a value.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "boards/ai-max-395/firmware/image.h"
#include "boards/ai-max-395/firmware/port_host.h"
#include "boards/ai-max-395/firmware/prefill.h"
#include "format/random_model.hpp"
#include "image/export.hpp"

namespace {

using namespace ridge;

// A small model's image.
std::vector<uint8_t> make_image() {
    ShapeConfig c;
    c.vocab_size = 264;
    c.block_count = 2;
    c.context_length = 64;
    c.embedding_length = 32;
    c.feed_forward_length = 40;
    c.head_count = 4;
    c.head_count_kv = 2;
    c.key_length = 8;
    const char* const folder = std::getenv("TMPDIR");
    std::string path = std::string(folder ? folder : "/tmp") + "/ridge-fuzz-XXXXXX";
    const int fd = mkstemp(path.data());
    if (fd < 0 || !write_random_model(c, path)) std::abort();
    const auto file = GgufFile::open(path);
    auto image = image::export_image(*file, "a cat\n");
    std::remove(path.c_str());
    if (!image) std::abort();
    return std::move(image->bytes);
}

// One change: a word or sixteen of it, somewhere in a section of the image.
void change(std::vector<uint8_t>& image, const ImageHeader& h, const uint8_t* step) {
    const uint32_t begins[] = {0,
                               h.steps_offset,
                               h.units_offset,
                               h.embedding_offset,
                               h.rope_offset,
                               h.constants_offset,
                               h.weights_offset,
                               h.image_bytes};
    const uint32_t section = step[0] % 7;
    const uint32_t words = (begins[section + 1] - begins[section]) / 4;
    uint32_t place = 0, value = 0;
    std::memcpy(&place, step + 1, 3);
    std::memcpy(&value, step + 4, 4);
    const uint32_t count = step[0] & 0x80 ? 16 : 1;
    for (uint32_t i = 0; i < count && words != 0; ++i) {
        const size_t at = begins[section] + (place + i) % words * 4;
        uint32_t word = value;
        if (step[0] & 0x40) {  // a small difference
            std::memcpy(&word, &image[at], 4);
            word += value % 33 - 16;
        }
        std::memcpy(&image[at], &word, 4);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const std::vector<uint8_t> original = make_image();
    ImageHeader h;
    std::memcpy(&h, original.data(), sizeof h);
    std::vector<uint8_t> image = original;
    // Few changes, so that most images get past the checks that they do not concern.
    const size_t most = size == 0 ? 0 : 8 * (1 + data[0] / 8 % 3);
    for (size_t at = 0; at + 8 <= size && at < most; at += 8) change(image, h, data + at);
    // A shorter flash, now and then; in a block of its own, so that no byte behind it is readable.
    const size_t bytes = size % 8 == 7 ? size_t{data[size - 1]} * image.size() / 255 : image.size();
    if (bytes == image.size()) image::seal_image(image);
    auto* const flash = static_cast<uint8_t*>(std::aligned_alloc(16, (bytes + 15) / 16 * 16 + 16));
    std::memcpy(flash, image.data(), bytes);
    fw::host_set_flash(flash, bytes);
    constexpr float untouched = -77.25f;
    std::vector<float> logits(IMAGE_MAX_VOCAB, untouched);
    std::vector<int32_t> ids(11);
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(i * 23);
    prefill_init(flash, SOC_SRAM_BASE);
    const bool ready = prefill_status() == PREFILL_OK;
    prefill_run(ids.data(), static_cast<int32_t>(ids.size()), logits.data());
    if (prefill_status() != PREFILL_OK) {
        for (const float x : logits)
            if (x != untouched) std::abort();
    } else if (!ready) {
        std::abort();
    } else {
        decode_step(3, logits.data());
    }
    prefill_cleanup();
    std::free(flash);
    return 0;
}
