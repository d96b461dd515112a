#include "base/aligned.hpp"

#include <sys/mman.h>

#include <string>

namespace ridge {

Result<AlignedBuffer> AlignedBuffer::allocate(size_t bytes, bool huge_pages) {
    AlignedBuffer buffer;
    if (bytes == 0) return buffer;
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        return fail(ErrorCode::out_of_memory, "the system refused " + std::to_string(bytes) +
                                                  " bytes of memory; free some or use less");
    }
#if defined(MADV_HUGEPAGE)
    if (huge_pages) (void)madvise(p, bytes, MADV_HUGEPAGE);  // a wish: refusal changes nothing
#endif
    buffer.data_ = static_cast<uint8_t*>(p);
    buffer.size_ = bytes;
    return buffer;
}

void AlignedBuffer::reset() {
    if (data_ != nullptr) munmap(data_, size_);
    data_ = nullptr;
    size_ = 0;
}

}  // namespace ridge
