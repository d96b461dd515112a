#include "sim/rv32/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace ridge::rv32 {

Memory::Memory() : pages_(size_t{1} << (32 - page_shift)) {
    reserved.fill(unreserved);
}

Memory::Area* Memory::find(uint32_t address) const {
    for (const auto& a : areas_)
        if (address - a->base < a->bytes) return a.get();
    return nullptr;
}
const Memory::Area* Memory::area(uint32_t address) const {
    return find(address);
}

Status Memory::add_memory(const std::string& name, uint32_t base, uint32_t bytes, Kind kind,
                          bool writable, uint32_t fill_word) {
    if (bytes == 0 || base % page_bytes || bytes % page_bytes ||
        uint64_t{base} + bytes > uint64_t{1} << 32)
        return fail(ErrorCode::invalid_argument,
                    fmt::format("memory '{}' at 0x{:08x} is not made of whole pages of {} bytes",
                                name, base, page_bytes));
    for (uint32_t at = 0; at < bytes; at += page_bytes)
        if (page(base + at).kind != Kind::none)
            return fail(ErrorCode::invalid_argument,
                        fmt::format("memory '{}' overlaps what is at 0x{:08x}", name, base + at));
    auto area = std::make_unique<Area>();
    area->name = name;
    area->base = base;
    area->bytes = bytes;
    area->kind = kind;
    area->writable = writable;
    area->data.reset(static_cast<uint8_t*>(std::calloc(bytes, 1)));
    if (!area->data)
        return fail(ErrorCode::out_of_memory,
                    fmt::format("there are no {} bytes for memory '{}'", bytes, name));
    areas_.push_back(std::move(area));
    refresh_pages();
    if (fill_word != 0) fill(base, bytes, fill_word);
    return {};
}

Status Memory::add_device(const std::string& name, uint32_t base, uint32_t bytes, Device* device) {
    if (bytes == 0 || uint64_t{base} + bytes > uint64_t{1} << 32)
        return fail(ErrorCode::invalid_argument, fmt::format("device '{}' has no size", name));
    for (const auto& a : areas_)
        if (base < uint64_t{a->base} + a->bytes && a->base < uint64_t{base} + bytes)
            return fail(ErrorCode::invalid_argument,
                        fmt::format("device '{}' at 0x{:08x} overlaps '{}'", name, base, a->name));
    auto area = std::make_unique<Area>();
    area->name = name;
    area->base = base;
    area->bytes = bytes;
    area->kind = Kind::device;
    area->writable = true;
    area->device = device;
    areas_.push_back(std::move(area));
    refresh_pages();
    return {};
}

void Memory::refresh_pages() {
    for (const auto& a : areas_) {
        const uint32_t first = a->base >> page_shift;
        const uint32_t last = (a->base + (a->bytes - 1)) >> page_shift;
        for (uint32_t p = first; p <= last; ++p) {
            Page& page = pages_[p];
            page.kind = a->kind;
            page.writable = a->writable;
            if (a->device) continue;
            const uint32_t base = p << page_shift;
            const bool watched = std::any_of(watches_.begin(), watches_.end(), [&](const Watch& w) {
                return w.address >> page_shift == p || (w.address + w.bytes - 1) >> page_shift == p;
            });
            page.data = watched ? nullptr : a->data.get() + (base - a->base);
        }
    }
}

Device* Memory::device(uint32_t address, uint32_t& offset) const {
    const Area* a = find(address);
    if (!a || !a->device) return nullptr;
    offset = address - a->base;
    return a->device;
}

const uint8_t* Memory::bytes(uint32_t address, uint64_t size) const {
    const Area* a = find(address);
    if (!a || a->device || size > a->bytes - (address - a->base)) return nullptr;
    return a->data.get() + (address - a->base);
}

bool Memory::write(uint32_t address, const void* data, uint64_t size) {
    uint8_t* to = const_cast<uint8_t*>(bytes(address, size));
    if (!to) return false;
    std::memcpy(to, data, size);
    forget_code(address, static_cast<uint32_t>(size));
    end_reservations(address, static_cast<uint32_t>(size));
    return true;
}

bool Memory::fill(uint32_t address, uint64_t size, uint32_t word) {
    uint8_t* to = const_cast<uint8_t*>(bytes(address, size));
    if (!to) return false;
    for (uint64_t i = 0; i < size; ++i)
        to[i] = static_cast<uint8_t>(word >> (8 * ((address + i) & 3)));
    forget_code(address, static_cast<uint32_t>(size));
    return true;
}

Insn* Memory::code_page(uint32_t address) {
    Page& p = page(address);
    if (p.code) return p.code;
    if (p.kind == Kind::none || p.kind == Kind::device) return nullptr;
    code_.push_back(std::make_unique<Insn[]>(page_bytes / 2));
    return p.code = code_.back().get();
}

void Memory::forget_code(uint32_t address, uint32_t size) {
    if (size == 0) return;
    // An instruction that begins two bytes earlier may reach in.
    const uint32_t first = address >= 2 ? (address - 2) >> 1 : 0;
    const uint32_t last = (address + (size - 1)) >> 1;
    for (uint32_t half = first; half <= last; ++half) {
        Insn* const code = page(half << 1).code;
        if (!code) {  // the rest of this page holds no records
            half |= (page_bytes / 2) - 1;
            continue;
        }
        code[half & (page_bytes / 2 - 1)].op = Op::undecoded;
    }
}

void Memory::watch(uint32_t address, uint32_t size, Touch touch) {
    watches_.push_back({address, std::max(size, 1u), touch});
    refresh_pages();
}

void Memory::unwatch(uint32_t address, uint32_t size, Touch touch) {
    const auto it = std::find_if(watches_.begin(), watches_.end(), [&](const Watch& w) {
        return w.address == address && w.bytes == std::max(size, 1u) && w.touch == touch;
    });
    if (it != watches_.end()) watches_.erase(it);
    refresh_pages();
}

void Memory::watched(uint32_t address, uint32_t size, Touch touch) {
    for (const Watch& w : watches_)
        if (address < w.address + w.bytes && w.address < address + size &&
            (static_cast<uint8_t>(w.touch) & static_cast<uint8_t>(touch)))
            last_hit = {true, w.address, w.touch};
}

void Memory::reserve(uint32_t hart, uint32_t address) {
    reserved[hart] = address;
    any_reserved = false;
    for (const uint32_t r : reserved) any_reserved |= r != unreserved;
}

void Memory::end_reservations(uint32_t address, uint32_t size) {
    if (!any_reserved) return;
    any_reserved = false;
    for (uint32_t& r : reserved) {
        if (r != unreserved && r < uint64_t{address} + size && address < uint64_t{r} + 4)
            r = unreserved;
        any_reserved |= r != unreserved;
    }
}

}  // namespace ridge::rv32
