#include "kernels/packed.hpp"
#include "lower/lowered.hpp"

namespace ridge {

StepCost step_cost(const LoweredStep& s, uint32_t rows, uint64_t keys, uint64_t distinct_keys) {
    const Cost& c = s.cost;
    const double r = rows;
    StepCost out{};
    out.bytes = (rows > 0 ? static_cast<double>(c.weight_bytes) : 0.0) +
                r * static_cast<double>(c.row_bytes) +
                static_cast<double>(c.key_bytes) * static_cast<double>(distinct_keys);
    out.int8_ops = r * static_cast<double>(c.row_int8_ops);
    out.bf16_ops = r * static_cast<double>(c.row_bf16_ops);
    out.f32_ops = r * static_cast<double>(c.row_f32_ops);
    const double key_ops = static_cast<double>(c.key_ops) * static_cast<double>(keys);
    (c.key_ops_bf16 ? out.bf16_ops : out.f32_ops) += key_ops;
    return out;
}

}  // namespace ridge
