// Row kernels, on rows of a model's width that lie in the L1 cache.
#include <cstring>

#include "bench/kernels/caps.hpp"
#include "bench/kernels/harness.hpp"
#include "kernels/act_row.hpp"

namespace ridge::bench {
namespace {

const RowKernels& row() {
    return *setup().kernels.set->row;
}

// The operands of one row kernel: floats for input and output, a q8 row.
struct Operands {
    AlignedBuffer x, y, w, out, q8;
};

using Run = std::function<void(Operands&)>;

// A kernel that reads `read` bytes of floats and writes `written` bytes of n elements; it may do
// `operations` a block of 32 (0: the header counts none). Ports load twice as much as they store.
void add_row(const char* kernel, size_t n, double read, double written, double operations,
             Run run) {
    Case c;
    c.name = std::string(kernel) + "_" + setup().kernels.set->name + "/n:" + std::to_string(n) +
             "/L1/threads:1";
    c.bytes = read + written;
    c.cached_bytes = n * sizeof(float);
    c.bounds.push_back({Roof::cached, std::max(read, 2 * written), 1.0});
    if (operations > 0)
        c.bounds.push_back({Roof::pipes, operations * static_cast<double>(n) / 32, 1.0});
    c.prepare = [n, run = std::move(run)] {
        auto o = std::make_shared<Operands>();
        AlignedBuffer* all[] = {&o->x, &o->y, &o->w, &o->out};
        for (uint32_t i = 0; i < 4; ++i) {
            *all[i] = buffer(4 * n * sizeof(float));
            const std::vector<float> v = random_floats(4 * n, 20 + i);
            std::memcpy(all[i]->data(), v.data(), v.size() * sizeof(float));
        }
        o->q8 = buffer(8 * act_row_bytes(ActFormat::q8, n));
        return [o, run](unsigned, size_t) { run(*o); };
    };
    add(std::move(c));
}

float* floats(AlignedBuffer& b) {
    return reinterpret_cast<float*>(b.data());
}

}  // namespace

void add_rows() {
    for (const size_t n : {1024u, 3072u}) {
        const double f = 4.0 * static_cast<double>(n);
        const double q8 = static_cast<double>(act_row_bytes(ActFormat::q8, n));
        add_row("rms_norm", n, 3 * f, f, 0, [n](Operands& o) {
            row().rms_norm(floats(o.x), floats(o.w), n, 1e-5f, floats(o.out));
        });
        add_row("add_norm_q8", n, 4 * f, f + q8, add_norm_operations, [n](Operands& o) {
            row().add_norm_q8(floats(o.x), floats(o.y), floats(o.out), floats(o.w), n, 1e-5f,
                              o.q8.data(), floats(o.out) + n);
        });
        add_row("quantize", n, f, q8, quantize_operations,
                [n](Operands& o) { row().quantize(floats(o.x), n, o.q8.data(), n, 0); });
        add_row("to_bf16", n, f, f / 2, 0, [n](Operands& o) {
            row().to_bf16(floats(o.x), n, reinterpret_cast<uint16_t*>(o.out.data()));
        });
        add_row("add", n, 2 * f, f, 0, [n](Operands& o) {
            // x grows by less than 1 a call: far from overflow
            row().add(floats(o.x), floats(o.y), n);
        });
        // Four rows of a tile of a gate and up product, block by block.
        add_row("silu_q8", n, 2 * f, q8, silu_operations + quantize_operations, [n](Operands& o) {
            for (size_t b = 0; b < n / 128; ++b)
                row().silu_q8(floats(o.x) + 256 * b, 64, 4, o.q8.data(),
                              act_row_bytes(ActFormat::q8, n), n, b);
        });
        add_row("gelu_q8", n, 2 * f, q8, silu_operations + quantize_operations, [n](Operands& o) {
            for (size_t b = 0; b < n / 128; ++b)
                row().gelu_q8(floats(o.x) + 256 * b, 64, 4, o.q8.data(),
                              act_row_bytes(ActFormat::q8, n), n, b);
        });
        add_row("argmax", n, f, 0, 0,
                [n](Operands& o) { benchmark::DoNotOptimize(row().argmax(floats(o.x), n)); });
    }
    // Heads of 64, 128 and 256, sixteen of them.
    for (const size_t head : {64u, 128u, 256u}) {
        const double f = 4.0 * 16 * static_cast<double>(head);
        add_row(("rope_head_" + std::to_string(head)).c_str(), 16 * head, 2 * f, f, 0,
                [head](Operands& o) {
                    // In place, so by an angle that keeps the length: 0.6, 0.8.
                    float cos_sin[256];
                    for (size_t i = 0; i < head; ++i) cos_sin[i] = i < head / 2 ? 0.6f : 0.8f;
                    for (size_t h = 0; h < 16; ++h)
                        row().rope(floats(o.x) + h * head, cos_sin, head);
                });
    }
}

}  // namespace ridge::bench
