#include "program/program.hpp"

#include <gtest/gtest.h>

namespace ridge {
namespace {

TEST(Program, ProductOpsCountEveryUseOfAWeight) {
    const Weight weights[] = {{"a", WeightKind::embedding, 10, 4, 0},
                              {"b", WeightKind::vector, 1, 4, 0},
                              {"c", WeightKind::matrix, 6, 4, 0}};
    Step steps[4] = {};
    steps[0].op = Op::embed;
    steps[0].weight = 0;
    steps[1].op = Op::norm;
    steps[1].weight = 1;
    steps[2].op = Op::product;
    steps[2].weight = 2;
    steps[3].op = Op::product;  // the tied head
    steps[3].weight = 0;
    Program p{};
    p.steps = steps;
    p.n_steps = 4;
    p.weights = weights;
    p.n_weights = 3;
    EXPECT_EQ(product_ops(p), 2u * (6 * 4 + 10 * 4));
    p.n_steps = 2;
    EXPECT_EQ(product_ops(p), 0u);
}

TEST(Program, ProductOpsDoNotOverflow) {
    const Weight w{"w", WeightKind::matrix, 1u << 24, 1u << 17, 0};
    Step s{};
    s.op = Op::product;
    Program p{};
    p.steps = &s;
    p.n_steps = 1;
    p.weights = &w;
    EXPECT_EQ(product_ops(p), uint64_t{1} << 42);
}

}  // namespace
}  // namespace ridge
