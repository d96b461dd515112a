// What ridge bench says about steps: a vector machine that runs scalar code somewhere is told so.
#include <gtest/gtest.h>

#include "cli/bench_cost.hpp"
#include "kernels/registry.hpp"

namespace ridge::test {
namespace {

using cli::scalar_group;
using cli::StepGroup;

StepGroup group(const char* kernel, double seconds) {
    StepGroup g;
    g.kind = "product";
    g.kernel = kernel;
    g.seconds = seconds;
    g.scalar = cli::is_scalar_kernel(kernel);
    return g;
}

TEST(BenchSteps, ScalarKernelsAreThoseOfTheReferenceSet) {
    size_t scalar = 0, vector = 0;
    for (const KernelSet& set : kernel_sets()) {
        const bool ref = std::string_view(set.name) == "ref";
        for (const ProductKernel& p : set.products) {
            EXPECT_EQ(cli::is_scalar_kernel(p.name), ref) << p.name;
            ++(ref ? scalar : vector);
        }
        // As step_kernel names the others.
        EXPECT_EQ(cli::is_scalar_kernel(std::string("rows_") + set.row->set), ref);
        EXPECT_EQ(cli::is_scalar_kernel(std::string("attend_") + set.attend->set), ref);
    }
    EXPECT_GT(scalar, 0u);
    EXPECT_FALSE(cli::is_scalar_kernel("dequantize"));  // the embedding: one row of the table
    EXPECT_FALSE(cli::is_scalar_kernel("unpack_column"));
#if defined(__x86_64__)
    EXPECT_GT(vector, 0u);
#endif
}

TEST(BenchSteps, ScalarCodeThatTakesTimeIsFound) {
    const std::vector<StepGroup> groups = {group("product_q8_q4_0_avx2", 0.9),
                                           group("product_q8_q6_k_ref", 0.02),
                                           group("attend_avx2", 0.08)};
    const StepGroup* found = scalar_group(groups, "avx2");
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->kernel, "product_q8_q6_k_ref");
    EXPECT_EQ(scalar_group(groups, "avx512"), found);
}

TEST(BenchSteps, ScalarCodeIsNoFaultWhereItIsMeantOrHardlyRuns) {
    const std::vector<StepGroup> all = {group("product_q8_q4_0_ref", 1.0)};
    EXPECT_EQ(scalar_group(all, "ref"), nullptr);
    EXPECT_NE(scalar_group(all, "avx2"), nullptr);
    const std::vector<StepGroup> little = {group("product_q8_q4_0_avx2", 0.995),
                                           group("rows_ref", 0.005)};
    EXPECT_EQ(scalar_group(little, "avx2"), nullptr);
    EXPECT_EQ(scalar_group({}, "avx2"), nullptr);
}

}  // namespace
}  // namespace ridge::test
