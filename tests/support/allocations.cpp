#include "support/allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<size_t> allocations{0};

void* counted(size_t n, size_t alignment) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    if (n == 0) n = 1;
    void* p = alignment <= alignof(std::max_align_t)
                  ? std::malloc(n)
                  : std::aligned_alloc(alignment, (n + alignment - 1) / alignment * alignment);
    if (p == nullptr) throw std::bad_alloc();
    return p;
}
}  // namespace

void* operator new(size_t n) {
    return counted(n, 1);
}
void* operator new[](size_t n) {
    return counted(n, 1);
}
void* operator new(size_t n, std::align_val_t a) {
    return counted(n, static_cast<size_t>(a));
}
void* operator new[](size_t n, std::align_val_t a) {
    return counted(n, static_cast<size_t>(a));
}
void operator delete(void* p) noexcept {
    std::free(p);
}
void operator delete[](void* p) noexcept {
    std::free(p);
}
void operator delete(void* p, size_t) noexcept {
    std::free(p);
}
void operator delete[](void* p, size_t) noexcept {
    std::free(p);
}
void operator delete(void* p, std::align_val_t) noexcept {
    std::free(p);
}
void operator delete[](void* p, std::align_val_t) noexcept {
    std::free(p);
}
void operator delete(void* p, size_t, std::align_val_t) noexcept {
    std::free(p);
}
void operator delete[](void* p, size_t, std::align_val_t) noexcept {
    std::free(p);
}

namespace ridge::test {

AllocationCount::AllocationCount() : start_(allocations.load()) {}
size_t AllocationCount::since() const {
    return allocations.load() - start_;
}

}  // namespace ridge::test
