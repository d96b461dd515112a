// The run request behind an image, and what the firmware's statuses mean.
#include <fmt/format.h>

#include <cstring>

#include "boards/ai-max-395/firmware/image.h"
#include "image/export.hpp"

namespace ridge::image {

std::vector<uint8_t> with_run_request(std::span<const uint8_t> image, const RunSpec& spec) {
    std::vector<uint8_t> flash(image.begin(), image.end());
    flash.resize((flash.size() + RUN_ALIGN - 1) / RUN_ALIGN * RUN_ALIGN);
    const auto append = [&](const void* data, size_t bytes) {
        const auto* const from = static_cast<const uint8_t*>(data);
        flash.insert(flash.end(), from, from + bytes);
    };
    const auto count = static_cast<uint32_t>(spec.prompt.size());
    RunRequest request{};
    request.magic = RUN_MAGIC;
    request.version = RUN_VERSION;
    request.bytes = static_cast<uint32_t>(sizeof(RunRequest) + sizeof(RunSequence)) + 4 * count;
    request.sequences = 1;
    request.tick_us = spec.tick_us;
    append(&request, sizeof request);
    RunSequence sequence{};
    sequence.prompt = sequence.prefill = count;
    sequence.generate = spec.generate;
    sequence.stop = spec.stop;
    append(&sequence, sizeof sequence);
    append(spec.prompt.data(), 4 * spec.prompt.size());
    return flash;
}

std::string status_text(uint32_t status) {
    constexpr const char* texts[] = {
        "no error",
        "prefill_init has not been called, or failed",
        "the memory given to prefill_init is not the chip's",
        "flash does not hold an image (magic)",
        "the image is of another version than the firmware; export it again",
        "the image is damaged: a size or offset leaves it",
        "the image is damaged: its checksum is wrong",
        "the image's model has dimensions that the memory map has no room for",
        "the image's program does not belong to its dimensions",
        "a prompt must have 1 to 128 tokens",
        "a token id is outside the vocabulary",
        "a null pointer was passed",
        "there is no sequence to continue",
        "the position is beyond the RoPE table",
        "the matrix unit or a DMA channel reported an error",
        "there is no run request behind the image",
    };
    if (status < std::size(texts)) return texts[status];
    return fmt::format("status {}", status);
}

}  // namespace ridge::image
