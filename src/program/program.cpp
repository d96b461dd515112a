#include "program/program.hpp"

namespace ridge {

uint64_t product_ops(const Program& p) {
    uint64_t ops = 0;
    for (uint32_t i = 0; i < p.n_steps; ++i)
        if (p.steps[i].op == Op::product) {
            const Weight& w = p.weights[p.steps[i].weight];
            ops += 2ull * w.n * w.k;
        }
    return ops;
}

}  // namespace ridge
