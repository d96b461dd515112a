#include "base/cpu.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <fstream>
#include <sstream>
#include <string>

namespace ridge {
namespace {

// Value of a field of the first processor in /proc/cpuinfo, "" if absent.
std::string cpuinfo(const std::string& field) {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);) {
        if (line.rfind(field + "\t", 0) == 0 || line.rfind(field + ":", 0) == 0) {
            const size_t colon = line.find(": ");
            return colon == std::string::npos ? "" : line.substr(colon + 2);
        }
    }
    return "";
}

bool has_flag(const std::string& flags, const std::string& flag) {
    std::istringstream in(flags);
    for (std::string word; in >> word;) {
        if (word == flag) return true;
    }
    return false;
}

#if defined(__x86_64__)
TEST(Cpu, AgreesWithTheKernel) {
    const std::string flags = cpuinfo("flags");
    if (flags.empty()) GTEST_SKIP() << "no flags in /proc/cpuinfo";
    const CpuFeatures& f = cpu();
    EXPECT_EQ(f.avx2, has_flag(flags, "avx2"));
    EXPECT_EQ(f.fma, has_flag(flags, "fma"));
    EXPECT_EQ(f.f16c, has_flag(flags, "f16c"));
    EXPECT_EQ(f.avx512f, has_flag(flags, "avx512f"));
    EXPECT_EQ(f.avx512bw, has_flag(flags, "avx512bw"));
    EXPECT_EQ(f.avx512vl, has_flag(flags, "avx512vl"));
    EXPECT_EQ(f.avx512dq, has_flag(flags, "avx512dq"));
    EXPECT_EQ(f.avx512_vnni, has_flag(flags, "avx512_vnni"));
    EXPECT_EQ(f.avx512_bf16, has_flag(flags, "avx512_bf16"));
    EXPECT_EQ(f.avx_vnni, has_flag(flags, "avx_vnni"));
    EXPECT_EQ(std::to_string(f.family), cpuinfo("cpu family"));
    EXPECT_EQ(std::to_string(f.model_number), cpuinfo("model"));
    EXPECT_EQ(f.model, cpuinfo("model name"));
}
#endif

TEST(Cpu, CountsFollowTheMask) {
    cpu_set_t mask;
    ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
    EXPECT_EQ(allowed_cpus(), static_cast<unsigned>(CPU_COUNT(&mask)));
    EXPECT_GE(physical_cores(), 1u);
    EXPECT_LE(physical_cores(), allowed_cpus());
}

TEST(Cpu, CachesGrowOutwards) {
    const CacheSizes sizes = cache_sizes();
    if (sizes.l1d == 0 || sizes.l2 == 0) GTEST_SKIP() << "the machine reports no caches";
    EXPECT_GE(sizes.l1d, 8u << 10);
    EXPECT_GT(sizes.l2, sizes.l1d);
    if (sizes.l3 != 0) {
        EXPECT_GT(sizes.l3, sizes.l2);
    }
}

}  // namespace
}  // namespace ridge
