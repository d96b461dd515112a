#include "base/cpu.hpp"

#include <sched.h>
#include <stdint.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ridge {
namespace {

#if defined(__x86_64__)

struct Leaf {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// All zero where the processor has no such leaf.
Leaf leaf(unsigned number, unsigned sub = 0) {
    Leaf r;
    if (!__get_cpuid_count(number, sub, &r.eax, &r.ebx, &r.ecx, &r.edx)) r = Leaf{};
    return r;
}

bool bit(unsigned word, unsigned index) {
    return ((word >> index) & 1u) != 0;
}

// XCR0: which register files the operating system saves. Only valid where CPUID.1:ECX.OSXSAVE.
uint64_t xcr0() {
    unsigned low = 0, high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (static_cast<uint64_t>(high) << 32) | low;
}

void append(std::string& text, unsigned word) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
        const char c = static_cast<char>((word >> shift) & 0xffu);
        if (c != '\0') text.push_back(c);
    }
}

std::string brand() {
    std::string text;
    if (leaf(0x80000000u).eax >= 0x80000004u) {
        for (unsigned number = 0x80000002u; number <= 0x80000004u; ++number) {
            const Leaf r = leaf(number);
            for (const unsigned word : {r.eax, r.ebx, r.ecx, r.edx}) append(text, word);
        }
    } else {
        const Leaf r = leaf(0);
        for (const unsigned word : {r.ebx, r.edx, r.ecx}) append(text, word);
    }
    const size_t first = text.find_first_not_of(' ');
    if (first == std::string::npos) return "x86-64";
    return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

CpuFeatures detect() {
    CpuFeatures f;
    f.model = brand();
    const Leaf one = leaf(1);
    const unsigned base_family = (one.eax >> 8) & 0xfu;
    f.family = base_family + (base_family == 0xfu ? (one.eax >> 20) & 0xffu : 0u);
    f.model_number = (one.eax >> 4) & 0xfu;
    if (base_family == 0x6u || base_family == 0xfu) f.model_number |= (one.eax >> 12) & 0xf0u;

    const bool osxsave = bit(one.ecx, 27);
    const uint64_t saved = osxsave ? xcr0() : 0;
    const bool ymm = bit(one.ecx, 28) && (saved & 0x6u) == 0x6u;  // XMM, upper YMM
    const bool zmm = ymm && (saved & 0xe0u) == 0xe0u;             // masks, upper ZMM, ZMM16-31
    const Leaf seven = leaf(7);
    const Leaf seven_one = seven.eax >= 1 ? leaf(7, 1) : Leaf{};
    f.fma = ymm && bit(one.ecx, 12);
    f.f16c = ymm && bit(one.ecx, 29);
    f.avx2 = ymm && bit(seven.ebx, 5);
    f.avx_vnni = ymm && bit(seven_one.eax, 4);
    f.avx512f = zmm && bit(seven.ebx, 16);
    f.avx512dq = f.avx512f && bit(seven.ebx, 17);
    f.avx512bw = f.avx512f && bit(seven.ebx, 30);
    f.avx512vl = f.avx512f && bit(seven.ebx, 31);
    f.avx512_vnni = f.avx512f && bit(seven.ecx, 11);
    f.avx512_bf16 = f.avx512f && bit(seven_one.eax, 5);
    return f;
}

#else

CpuFeatures detect() {
    CpuFeatures f;
    f.model = "not x86-64";
    return f;
}

#endif

// Numbers of the CPUs in the calling thread's affinity mask, ascending; empty if unknown.
std::vector<unsigned> affinity() {
    std::vector<unsigned> cpus;
    for (int capacity = 1024; capacity <= (1 << 20); capacity *= 2) {
        struct Free {
            void operator()(cpu_set_t* set) const { CPU_FREE(set); }
        };
        const std::unique_ptr<cpu_set_t, Free> set(CPU_ALLOC(static_cast<size_t>(capacity)));
        if (!set) break;
        const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(capacity));
        CPU_ZERO_S(bytes, set.get());
        if (sched_getaffinity(0, bytes, set.get()) != 0) continue;  // the kernel's mask is wider
        for (unsigned i = 0; i < static_cast<unsigned>(capacity); ++i) {
            if (CPU_ISSET_S(i, bytes, set.get())) cpus.push_back(i);
        }
        break;
    }
    return cpus;
}

std::string first_line(const std::string& path) {
    std::ifstream in(path);
    std::string line;
    std::getline(in, line);
    return line;
}

std::string cpu_folder(unsigned number) {
    return "/sys/devices/system/cpu/cpu" + std::to_string(number);
}

// CPUs' worth of time that the container may use; 0 where there is no limit.
unsigned quota_cpus() {
    const std::string line = first_line("/sys/fs/cgroup/cpu.max");  // "max 100000", "150000 100000"
    char* end = nullptr;
    const double quota = std::strtod(line.c_str(), &end);
    if (end == line.c_str()) return 0;
    const double period = std::strtod(end, nullptr);
    if (!(quota > 0) || !(period > 0) || quota / period > 65536) return 0;
    const unsigned whole = static_cast<unsigned>(quota / period);
    return static_cast<double>(whole) * period < quota ? whole + 1 : whole;
}

// "48K", "1024K", "32M" as sysfs writes it.
size_t parse_size(const std::string& text) {
    char* end = nullptr;
    const unsigned long long n = std::strtoull(text.c_str(), &end, 10);
    if (n > (1ull << 40)) return 0;
    if (*end == 'K') return static_cast<size_t>(n << 10);
    if (*end == 'M') return static_cast<size_t>(n << 20);
    return static_cast<size_t>(n);
}

}  // namespace

const CpuFeatures& cpu() {
    static const CpuFeatures features = detect();
    return features;
}

unsigned allowed_cpus() {
    return std::max(1u, static_cast<unsigned>(affinity().size()));
}

unsigned physical_cores() {
    const std::vector<unsigned> cpus = affinity();
    // Siblings name the same list ("0,64"), so distinct lists are distinct cores. A CPU without
    // topology counts as a core of its own.
    std::set<std::string> cores;
    for (const unsigned number : cpus) {
        std::string siblings = first_line(cpu_folder(number) + "/topology/thread_siblings_list");
        if (siblings.empty()) siblings = "cpu " + std::to_string(number);
        cores.insert(siblings);
    }
    unsigned count = std::max(1u, static_cast<unsigned>(cores.size()));
    if (const unsigned quota = quota_cpus(); quota != 0) count = std::min(count, quota);
    return count;
}

CacheSizes cache_sizes() {
    CacheSizes sizes;
    const std::vector<unsigned> cpus = affinity();
    const std::string folder = cpu_folder(cpus.empty() ? 0 : cpus.front()) + "/cache/index";
    for (int i = 0; i < 8; ++i) {
        const std::string index = folder + std::to_string(i);
        const std::string level = first_line(index + "/level");
        if (level.empty()) break;
        const size_t bytes = parse_size(first_line(index + "/size"));
        if (first_line(index + "/type") == "Instruction") continue;
        if (level == "1") sizes.l1d = bytes;
        if (level == "2") sizes.l2 = bytes;
        if (level == "3") sizes.l3 = bytes;
    }
    return sizes;
}

}  // namespace ridge
