// What a test of the host build needs beside prefill.h.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "boards/ai-max-395/firmware/port.h"

namespace ridge::fw {

// What stands for the flash: prefill_init() accepts an image inside it. It must stay while used; 16
// byte aligned.
void host_set_flash(const uint8_t* data, size_t bytes);

}  // namespace ridge::fw
