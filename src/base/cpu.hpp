// What this machine is: instruction sets the processor has AND the operating system saves, the
// cores this process may use, cache sizes.
//
// Everything degrades to a safe answer: no feature, one core, size 0. On other architectures than
// x86-64 all features are false.
#pragma once

#include <stddef.h>

#include <string>

namespace ridge {

// A vector feature is true only where CPUID has it and XCR0 says that the operating system saves
// the registers it uses (YMM for the AVX sets, ZMM and masks for the AVX-512 sets).
struct CpuFeatures {
    bool avx2 = false;
    bool fma = false;
    bool f16c = false;
    bool avx512f = false;
    bool avx512bw = false;
    bool avx512vl = false;
    bool avx512dq = false;
    bool avx512_vnni = false;
    bool avx512_bf16 = false;
    bool avx_vnni = false;
    std::string model;          // brand string, blanks trimmed; the vendor where there is none
    unsigned family = 0;        // with the extended family added, as lscpu prints it
    unsigned model_number = 0;  // with the extended model

    // What src/kernels/avx2 and src/kernels/avx512 are compiled for.
    bool has_avx2_set() const { return avx2 && fma && f16c; }
    bool has_avx512_set() const {
        return has_avx2_set() && avx512f && avx512bw && avx512vl && avx512dq && avx512_vnni &&
               avx512_bf16;
    }
};

// Read once, at the first call; thread safe.
const CpuFeatures& cpu();

// Logical CPUs in the calling thread's affinity mask (taskset, cpuset), read anew at each call;
// at least 1.
unsigned allowed_cpus();

// Cores in the affinity mask, SMT siblings counted once, never more than a container's CPU quota
// (cgroup v2 cpu.max, rounded up); read anew at each call; at least 1.
unsigned physical_cores();

// Bytes of the data caches that the first allowed core reaches; 0 where the machine does not say.
// A virtual machine may report its host's whole L3 here.
struct CacheSizes {
    size_t l1d = 0;
    size_t l2 = 0;
    size_t l3 = 0;
};
CacheSizes cache_sizes();

}  // namespace ridge
