// Products: every kernel of the chosen set's list, in the forms its loops have.
#include <algorithm>
#include <cstring>

#include "bench/kernels/caps.hpp"
#include "bench/kernels/harness.hpp"
#include "format/quantize.hpp"
#include "kernels/pack.hpp"

namespace ridge::bench {
namespace {

// Where the weights lie; L1 and L2 leave room for the activations.
struct Place {
    const char* name;
    size_t bytes;  // 0: memory
};
constexpr Place l1{"L1", 32 << 10};
constexpr Place l2{"L2", 384 << 10};
constexpr Place far{"memory", 0};

// What the executor asks for ahead (runtime/context.cpp) and the groups of its tiles.
constexpr size_t prefetch = 6144;
constexpr size_t few = 6;
size_t tile_groups(size_t rows) {
    return rows > few ? product_panel_groups : 4;
}

// `pairs` packed pairs of random weights, one behind the other, at `out`.
void fill_pairs(DType type, size_t k, size_t pairs, uint8_t* out) {
    constexpr size_t distinct = 8;
    const size_t bytes = pair_bytes(type, k);
    std::vector<uint8_t> file(pair_columns * row_bytes(type, k));
    for (size_t i = 0; i < std::min(pairs, distinct); ++i) {
        const uint8_t* rows[pair_columns];
        for (size_t c = 0; c < pair_columns; ++c) {
            uint8_t* row = file.data() + c * row_bytes(type, k);
            quantize_plain(
                type, random_floats(k, static_cast<uint32_t>(i * pair_columns + c)).data(), k, row);
            rows[c] = row;
        }
        pack_pair(type, rows, group_columns, group_columns, k, out + i * bytes);
    }
    for (size_t i = distinct; i < pairs; ++i)
        std::memcpy(out + i * bytes, out + i % distinct * bytes, bytes);
}

struct Operands {
    AlignedBuffer weights;  // where they are not in the shared memory
    AlignedBuffer act;
    std::vector<AlignedBuffer> out, scratch;  // a thread
};

void fill_act(ActFormat format, size_t k, size_t rows, uint8_t* out) {
    const RowKernels& row = *setup().kernels.set->row;
    for (size_t r = 0; r < rows; ++r, out += act_row_bytes(format, k)) {
        const std::vector<float> x = random_floats(k, static_cast<uint32_t>(1000 + r));
        if (format == ActFormat::q8)
            row.quantize(x.data(), k, out, k, 0);
        else if (format == ActFormat::bf16)
            row.to_bf16(x.data(), k, reinterpret_cast<uint16_t*>(out));
        else
            std::memcpy(out, x.data(), k * sizeof(float));
    }
}

std::function<void(unsigned, size_t)> prepare(const ProductKernel& kernel, size_t k, size_t rows,
                                              Place place, unsigned threads) {
    const DType type = kernel.weight;
    const size_t pair = pair_bytes(type, k);
    const size_t tile_pairs = tile_groups(rows) / 2;
    size_t pairs;
    auto o = std::make_shared<Operands>();
    if (place.bytes != 0) {
        pairs = std::max<size_t>(place.bytes / pair, 1);
        o->weights = buffer(pairs * pair);
        fill_pairs(type, k, pairs, o->weights.data());
    } else {
        pairs = memory_part / pair / tile_pairs * tile_pairs;
        const std::string content = std::string(name(type)) + "/" + std::to_string(k);
        if (memory()->content != content) {
            fill_pairs(type, k, pairs, memory()->part(0));
            for (size_t t = 1; t < memory()->parts; ++t)
                std::memcpy(memory()->part(static_cast<unsigned>(t)), memory()->part(0),
                            pairs * pair);
            memory()->content = content;
        }
    }
    o->act = buffer(rows * act_row_bytes(kernel.act, k));
    fill_act(kernel.act, k, rows, o->act.data());
    const size_t width = std::min(tile_pairs, pairs) * pair_columns;
    for (unsigned t = 0; t < threads; ++t) {
        o->out.push_back(buffer(rows * width * sizeof(float)));
        o->scratch.push_back(buffer(product_scratch_bytes(k)));
    }
    return [=](unsigned thread, size_t n) {
        const size_t count = std::min(tile_pairs, pairs);
        const uint8_t* base = place.bytes != 0 ? o->weights.data() : memory()->part(thread);
        ProductArgs p{};
        p.weights = base + n % (pairs / count) * count * pair;
        p.pair_bytes = pair;
        p.groups = 2 * count;
        p.k = k;
        p.act = o->act.data();
        p.act_stride = act_row_bytes(kernel.act, k);
        p.rows = rows;
        p.out = reinterpret_cast<float*>(o->out[thread].data());
        p.out_stride = width;
        p.scratch = o->scratch[thread].data();
        p.prefetch_bytes = place.bytes != 0 ? 0 : prefetch;
        kernel.run(p);
    };
}

void add_product(const ProductKernel& kernel, size_t k, size_t rows, Place place,
                 unsigned threads) {
    if (k % info(kernel.weight).block != 0) return;
    const size_t pair = pair_bytes(kernel.weight, k);
    // A tile of four groups where as much fits.
    const size_t fit = place.bytes != 0 ? std::max<size_t>(place.bytes / pair, 1) : 2;
    const double pairs = static_cast<double>(std::min(tile_groups(rows) / 2, fit));
    Case c;
    c.name = std::string(kernel.name) + "/rows:" + std::to_string(rows) +
             "/k:" + std::to_string(k) + "/" + place.name + "/threads:" + std::to_string(threads);
    c.threads = threads;
    c.operations = 2.0 * static_cast<double>(rows * k * pair_columns) * pairs;
    c.bytes = static_cast<double>(pair) * pairs;
    const PackedSpec& spec = packed_spec(kernel.weight);
    Bound ports{Roof::f32, c.operations, plain_cap};
    if (kernel.act == ActFormat::q8)
        ports = {Roof::int8, c.operations,
                 rows <= few_q8_rows(spec) ? few_q8_cap(spec, static_cast<double>(rows))
                                           : panel_q8_cap(spec)};
    else if (kernel.act == ActFormat::bf16)
        ports = {Roof::bf16, c.operations, plain_cap};
    c.bounds.push_back(ports);
    if (place.bytes == 0) {
        c.bounds.push_back({Roof::memory, c.bytes, 1.0});
    } else if (rows <= few) {
        c.cached_bytes = std::max(place.bytes / pair, size_t{1}) * pair;
        c.bounds.push_back({Roof::cached, c.bytes, 1.0});
    }
    c.prepare = [&kernel, k, rows, place, threads] {
        return prepare(kernel, k, rows, place, threads);
    };
    add(std::move(c));
}

}  // namespace

void add_products() {
    const unsigned cores = setup().cores;
    for (const ProductKernel& kernel : setup().kernels.set->products) {
        if (kernel.act == ActFormat::f32 && is_quantized(kernel.weight)) {
            // oracle mode: whether it is sound, no more
            add_product(kernel, 1024, 32, l2, 1);
            continue;
        }
        const bool plain = kernel.act != ActFormat::q8;
        for (size_t rows = 1; rows <= few; ++rows) {
            if (plain && rows > 1) break;
            add_product(kernel, 1024, rows, l1, 1);
            add_product(kernel, 1024, rows, l2, 1);
        }
        for (const size_t rows : {8u, 16u, 32u, 512u})
            for (const size_t k : {576u, 1024u, 3072u})
                if (!plain || k == 1024) add_product(kernel, k, rows, l2, 1);
        for (const size_t rows : {1u, 2u, 3u, 4u, 5u, 6u, 8u, 16u, 32u, 512u}) {
            if (plain && rows > 1 && rows != 8 && rows != 512) continue;
            add_product(kernel, 1024, rows, far, cores);
        }
        if (cores > 1) add_product(kernel, 1024, 1, far, 1);
        for (const size_t k : {576u, 3072u}) add_product(kernel, k, 1, far, cores);
    }
}

}  // namespace ridge::bench
