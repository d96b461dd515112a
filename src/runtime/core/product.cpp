// Product steps: tiles of column groups, an even count from a pair's first on, claimed by threads;
// epilogues on the tile just computed.
//
// Each thread goes through a stretch of its own (TileClaims): it reads one part of memory in order,
// and tiles next to each other, whose outputs share cache lines, are not computed at the same time.
#include "runtime/core/exec.hpp"

namespace ridge {
namespace {

// How a product step is cut into tiles: the segments' tiles one after the other.
struct Tiling {
    uint32_t width;  // column groups of a tile
    uint32_t n_segments;
    uint32_t tiles;
};

struct Tile {
    uint32_t segment, group, groups;
};

uint32_t tiles_of(const Segment& g, uint32_t width) {
    return (g.groups + width - 1) / width;
}

// Few rows: four groups, or two where the matrix is small, so that every thread finds work; a panel
// of the many-row loop has two.
Tiling tiling(const Exec& e, const LoweredStep& s, uint32_t rows) {
    Tiling t{product_panel_groups, s.epilogue == Epilogue::store ? s.n_segments : 1, 0};
    if (rows <= small_rows) {
        uint32_t groups = 0;
        for (uint32_t i = 0; i < s.n_segments; ++i) groups += s.segment[i].groups;
        t.width = groups / (e.n_threads * 4) >= 4 ? 4 : 2;
    }
    for (uint32_t i = 0; i < t.n_segments; ++i) t.tiles += tiles_of(s.segment[i], t.width);
    return t;
}

Tile tile_at(const LoweredStep& s, const Tiling& t, uint32_t tile) {
    uint32_t i = 0;
    for (; tile >= tiles_of(s.segment[i], t.width); ++i) tile -= tiles_of(s.segment[i], t.width);
    const uint32_t group = tile * t.width;
    const uint32_t left = s.segment[i].groups - group;
    return {i, group, left < t.width ? left : t.width};
}

struct Operand {
    const uint8_t* act;
    size_t stride;
    uint32_t rows;
};

void multiply(const Exec& e, const LoweredStep& s, const Segment& g, uint32_t pair, uint32_t groups,
              const Operand& a, const Scratch& scratch, float* out, size_t out_stride) {
    ProductArgs p{};
    p.weights = g.packed + pair * g.pair_bytes;
    p.pair_bytes = g.pair_bytes;
    p.groups = groups;
    p.k = s.k;
    p.act = a.act;
    p.act_stride = a.stride;
    p.rows = a.rows;
    p.out = out;
    p.out_stride = out_stride;
    p.scratch = scratch.product;
    p.prefetch_bytes = e.prefetch_bytes;
    g.kernel->run(p);
}

void store_tile(const Exec& e, const LoweredStep& s, const Segment& g, uint32_t group,
                uint32_t groups, const Operand& a, const Scratch& scratch) {
    const size_t stride = buffer_stride(e, s.out) / 4;
    float* out = reinterpret_cast<float*>(buffer_row(e, s.out, 0)) + g.out_column + group * 16;
    multiply(e, s, g, group / 2, groups, a, scratch, out, stride);
    if (g.bias == nullptr && s.softcap == 0.0f) return;
    const uint32_t first = group * 16;
    const uint32_t columns = g.n - first < groups * 16 ? g.n - first : groups * 16;
    for (uint32_t r = 0; r < a.rows; ++r) {
        if (g.bias != nullptr) e.row->add(out + r * stride, g.bias + first, columns);
        if (s.softcap != 0.0f) e.row->softcap(out + r * stride, s.softcap, columns);
    }
}

// Where gate and up have one type, a pair is a group of each (gate 0, up 0; gate 1, up 1; ...), so
// that a tile is one stretch of memory and one product; else they are two products.
void glu_tile(const Exec& e, const LoweredStep& s, uint32_t group, uint32_t groups,
              const Operand& a, const Scratch& scratch) {
    const size_t stride = 2 * groups * 16;
    float* tile = scratch.tile;
    const uint32_t step = s.interleaved ? 32 : 16;  // from one gate group to the next in the tile
    const uint32_t up = s.interleaved ? 16 : groups * 16;
    if (s.interleaved) {
        multiply(e, s, s.segment[0], group, 2 * groups, a, scratch, tile, stride);
    } else {
        multiply(e, s, s.segment[0], group / 2, groups, a, scratch, tile, stride);
        multiply(e, s, s.segment[1], group / 2, groups, a, scratch, tile + up, stride);
    }
    const uint32_t n = s.segment[0].n;
    const uint32_t first = group * 16;
    const uint32_t columns = n - first < groups * 16 ? n - first : groups * 16;
    if (s.interleaved && s.out_format == ActFormat::q8 && columns % 32 == 0) {
        const auto unit = s.epilogue == Epilogue::silu_mul ? e.row->silu_q8 : e.row->gelu_q8;
        for (uint32_t b = 0; b < columns / 32; ++b)
            unit(tile + b * 64, stride, a.rows, buffer_row(e, s.out, 0), buffer_stride(e, s.out), n,
                 first / 32 + b);
        return;
    }
    const auto unit = s.epilogue == Epilogue::silu_mul ? e.row->silu_mul : e.row->gelu_mul;
    for (uint32_t r = 0; r < a.rows; ++r) {
        float* x = tile + r * stride;
        if (s.interleaved) {
            for (uint32_t g = 0; g < groups; ++g) {
                unit(x + g * step, x + g * step + up, 16);
                if (g > 0) __builtin_memcpy(x + g * 16, x + g * step, 64);
            }
        } else {
            unit(x, x + up, columns);
        }
        uint8_t* out = buffer_row(e, s.out, r);
        switch (s.out_format) {
            case ActFormat::q8:
                e.row->quantize(x, columns, out, n, first / 32);
                break;
            case ActFormat::bf16:
                e.row->to_bf16(x, columns, reinterpret_cast<uint16_t*>(out) + first);
                break;
            case ActFormat::f32:
                __builtin_memcpy(out + first * 4ull, x, columns * 4ull);
                break;
        }
    }
}

}  // namespace

void run_product(Exec& e, uint32_t step, uint32_t thread) {
    const LoweredStep& s = e.model->steps[step];
    const Scratch scratch = scratch_of(e, thread);
    const bool glu = s.epilogue != Epilogue::store;
    Operand a{};
    a.rows = step_rows(e, s);
    a.stride = buffer_stride(e, s.act);
    a.act = s.act_private && a.rows <= small_rows ? scratch.act : buffer_row(e, s.act, 0);
    const Tiling t = tiling(e, s, a.rows);
    TileClaims claims(e, step, thread, t.tiles);
    for (uint32_t tile = claims.next(); tile < t.tiles; tile = claims.next()) {
        const Tile at = tile_at(s, t, tile);
        if (glu)
            glu_tile(e, s, at.group, at.groups, a, scratch);
        else
            store_tile(e, s, s.segment[at.segment], at.group, at.groups, a, scratch);
    }
}

const uint8_t* next_share(const Exec& e, uint32_t step, uint32_t thread) {
    const Lowered& m = *e.model;
    for (uint32_t i = 1; i < m.n_steps; ++i) {
        const LoweredStep& s = m.steps[(step + i) % m.n_steps];
        if (s.kind != StepKind::product || step_rows(e, s) == 0) continue;
        const Tiling t = tiling(e, s, step_rows(e, s));
        const uint32_t first = thread * TileClaims::share(t.tiles, e.n_threads);
        if (first >= t.tiles) return nullptr;
        const Tile at = tile_at(s, t, first);
        const Segment& g = s.segment[at.segment];
        return g.packed + (s.interleaved ? at.group : at.group / 2) * g.pair_bytes;
    }
    return nullptr;
}

}  // namespace ridge
