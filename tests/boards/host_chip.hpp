// The host build of the AI Max 395's firmware as an object: an image, prompts, logits.
#pragma once

#include <cstring>
#include <vector>

#include "boards/ai-max-395/firmware/port_host.h"
#include "boards/ai-max-395/firmware/prefill.h"
#include "boards/ai-max-395/soc.h"

namespace ridge::test {

// One at a time: the library's state is static, as on the chip.
class HostChip {
  public:
    explicit HostChip(const std::vector<uint8_t>& image)
        : flash_(SOC_FLASH_BYTES / 16), vocab_(vocab_of(image)) {
        std::memcpy(flash_.data(), image.data(), image.size());
        fw::host_set_flash(bytes(), image.size());
        prefill_init(bytes(), SOC_SRAM_BASE);
        status_ = prefill_status();
    }
    ~HostChip() { prefill_cleanup(); }
    HostChip(const HostChip&) = delete;
    HostChip& operator=(const HostChip&) = delete;

    int32_t status() const { return status_; }
    // Logits after a new sequence of ids, after one more id.
    const std::vector<float>& prefill(std::vector<int32_t> ids) {
        logits_.assign(vocab_, 0);
        prefill_run(ids.data(), static_cast<int32_t>(ids.size()), logits_.data());
        status_ = prefill_status();
        return logits_;
    }
    const std::vector<float>& step(int32_t id) {
        decode_step(id, logits_.data());
        status_ = prefill_status();
        return logits_;
    }

  private:
    struct alignas(16) Line {
        uint8_t bytes[16];
    };
    uint8_t* bytes() { return flash_.data()->bytes; }
    static size_t vocab_of(const std::vector<uint8_t>& image) {
        ImageHeader header;
        std::memcpy(&header, image.data(), sizeof header);
        return header.vocab_used;
    }

    std::vector<Line> flash_;
    size_t vocab_;
    std::vector<float> logits_;
    int32_t status_ = 0;
};

}  // namespace ridge::test
