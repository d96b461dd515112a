#include "kernels/registry.hpp"

#include <array>
#include <cstdlib>

#include "base/cpu.hpp"
#include "kernels/ref/set.hpp"
#if defined(__x86_64__)
#include "kernels/avx2/set.hpp"
#include "kernels/avx512/set.hpp"
#endif

namespace ridge {
namespace {

namespace ref_records {
constexpr ProductKernel products[] = {
#define RIDGE_PRODUCT(function, weight, act) \
    {#function "_ref", DType::weight, ActFormat::act, ref::function},
#include "kernels/ref/kernels.inc"
#undef RIDGE_PRODUCT
};
}  // namespace ref_records

#if defined(__x86_64__)
namespace avx2_records {
constexpr ProductKernel products[] = {
#define RIDGE_PRODUCT(function, weight, act) \
    {#function "_avx2", DType::weight, ActFormat::act, avx2::function},
#include "kernels/avx2/kernels.inc"
#undef RIDGE_PRODUCT
};
}  // namespace avx2_records

namespace avx512_records {
constexpr ProductKernel products[] = {
#define RIDGE_PRODUCT(function, weight, act) \
    {#function "_avx512", DType::weight, ActFormat::act, avx512::function},
#include "kernels/avx512/kernels.inc"
#undef RIDGE_PRODUCT
};
}  // namespace avx512_records

bool has_avx2() {
    return cpu().avx2 && cpu().fma && cpu().f16c;
}
bool has_avx512() {
    const CpuFeatures& c = cpu();
    return has_avx2() && c.avx512f && c.avx512bw && c.avx512vl && c.avx512dq && c.avx512_vnni &&
           c.avx512_bf16;
}
#endif

bool always() {
    return true;
}

const std::array sets = {
#if defined(__x86_64__)
    KernelSet{"avx512", "AVX-512 F BW VL DQ VNNI BF16", has_avx512, avx512_records::products,
              &avx512::row_kernels, &avx512::attend_kernels},
    KernelSet{"avx2", "AVX2 FMA F16C", has_avx2, avx2_records::products, &avx2::row_kernels,
              &avx2::attend_kernels},
#endif
    KernelSet{"ref", "nothing", always, ref_records::products, &ref::row_kernels,
              &ref::attend_kernels},
};

}  // namespace

std::span<const KernelSet> kernel_sets() {
    return sets;
}

const ProductKernel* KernelChoice::product(DType weight, ActFormat act) const {
    for (const KernelSet* s = set; s != sets.data() + sets.size(); ++s)
        for (const ProductKernel& p : s->products)
            if (p.weight == weight && p.act == act) return &p;
    return nullptr;
}

Result<KernelChoice> choose_kernels(std::string_view force) {
    if (force.empty())
        if (const char* env = std::getenv("RIDGE_KERNELS")) force = env;
    std::string known;
    for (const KernelSet& s : sets) {
        if (force.empty() ? s.supported() : force == s.name) {
            if (s.supported()) return KernelChoice{&s};
            return fail(ErrorCode::unsupported, "kernel set '" + std::string(force) + "' needs " +
                                                    s.needs +
                                                    ", which this processor does not have");
        }
        known += known.empty() ? s.name : std::string(", ") + s.name;
    }
    return fail(ErrorCode::invalid_argument,
                "unknown kernel set '" + std::string(force) + "'; choose one of " + known);
}

ActFormat preferred_act(DType weight) {
    switch (weight) {
        case DType::f32:
        case DType::f16:
            return ActFormat::f32;
        case DType::bf16:
            return ActFormat::bf16;
        default:
            return ActFormat::q8;
    }
}

}  // namespace ridge
