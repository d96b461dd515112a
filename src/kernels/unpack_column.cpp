#include "kernels/unpack_column.hpp"

#include "base/quant_blocks.hpp"
#include "kernels/packed.hpp"

namespace ridge {

namespace {

uint16_t load16(const uint8_t* p) {
    uint16_t u;
    __builtin_memcpy(&u, p, 2);
    return u;
}
float half_at(const uint8_t* p) {
    return f32_from_f16(load16(p));
}
float signed_byte(uint8_t byte) {
    return static_cast<float>(static_cast<int8_t>(byte));
}

// Codes of one group as packed.hpp lays them out: `byte` is the column's place within a quad of 64
// bytes.
void read_codes(const PackedSpec& spec, const uint8_t* low, const uint8_t* high, size_t column,
                uint8_t code[32]) {
    for (size_t i = 0; i < 32; ++i) {
        const size_t j = i / 4;  // quad
        const size_t byte = 4 * column + i % 4;
        const size_t planes = spec.low_bits;  // quads of the low plane a block
        const size_t low_shift = j / planes * spec.low_bits;
        const unsigned mask = (1u << spec.low_bits) - 1;
        unsigned q = (low[64 * (j % planes) + byte] >> low_shift) & mask;
        if (spec.high_bits == 1)
            q |= ((high[byte] >> j) & 1u) << spec.low_bits;
        else if (spec.high_bits == 2)
            q |= ((high[64 * (j / 4) + byte] >> (2 * (j % 4))) & 3u) << spec.low_bits;
        code[i] = static_cast<uint8_t>(q);
    }
}

void read_scales(ScaleKind kind, const uint8_t* scale, const uint8_t* super, size_t c,
                 ColumnBlock* out) {
    float s[2] = {0, 0}, m[2] = {0, 0};
    bool wide16 = false;
    switch (kind) {
        case ScaleKind::none:
            break;
        case ScaleKind::f16:
            s[0] = half_at(scale + 2 * c);
            break;
        case ScaleKind::f16_min:
            s[0] = half_at(scale + 2 * c);
            m[0] = half_at(scale + 32 + 2 * c);
            break;
        case ScaleKind::e8m0:
            s[0] = mxfp4_scale(scale[c]);
            break;
        case ScaleKind::k4:
            s[0] = half_at(super + 2 * c) * static_cast<float>(scale[c]);
            m[0] = -(half_at(super + 32 + 2 * c) * static_cast<float>(scale[16 + c]));
            break;
        case ScaleKind::k6:
            wide16 = true;
            for (size_t h = 0; h < 2; ++h)
                s[h] = half_at(super + 2 * c) * signed_byte(scale[16 * h + c]);
            break;
        case ScaleKind::k2:
            wide16 = true;
            for (size_t h = 0; h < 2; ++h) {
                const uint8_t both = scale[16 * h + c];
                s[h] = half_at(super + 2 * c) * static_cast<float>(both & 15);
                m[h] = -(half_at(super + 32 + 2 * c) * static_cast<float>(both >> 4));
            }
            break;
        case ScaleKind::xs:
            s[0] = half_at(super + 2 * c) * signed_byte(scale[c]);
            break;
    }
    for (size_t h = 0; h < 2; ++h) {
        out->scale[h] = s[wide16 ? h : 0];
        out->min[h] = m[wide16 ? h : 0];
    }
}

}  // namespace

void column_block(DType t, const uint8_t* pair, size_t column, size_t block, ColumnBlock* out) {
    const PackedSpec& spec = packed_spec(t);
    const PairLayout at = pair_layout(t);
    const size_t g = column / group_columns;
    const size_t c = column % group_columns;
    uint8_t code[32];
    read_codes(spec, pair + at.low_of(block, g), pair + at.high_of(block, g), c, code);
    const int8_t* book = t == DType::mxfp4 ? mxfp4_values : iq4_values;
    for (size_t i = 0; i < 32; ++i)
        out->value[i] = static_cast<int16_t>(spec.book ? book[code[i]] : code[i] - spec.zero);
    read_scales(spec.scale, pair + at.scale_of(block, g), pair + at.super_of(block, g), c, out);
}

void unpack_column(DType t, const uint8_t* pair, size_t column, size_t k, float* out) {
    switch (t) {
        case DType::f32:
            for (size_t i = 0; i < k; ++i)
                __builtin_memcpy(out + i, pair + (i * pair_columns + column) * 4, 4);
            return;
        case DType::f16:
            for (size_t i = 0; i < k; ++i) out[i] = half_at(pair + (i * pair_columns + column) * 2);
            return;
        case DType::bf16:
            for (size_t i = 0; i < k; ++i)
                out[i] =
                    f32_from_bf16(load16(pair + (i / 2 * pair_columns + column) * 4 + i % 2 * 2));
            return;
        default:
            break;
    }
    const bool has_min = packed_spec(t).has_min;
    for (size_t block = 0; block < k / 32; ++block) {
        ColumnBlock b;
        column_block(t, pair, column, block, &b);
        for (size_t i = 0; i < 32; ++i) {
            const float w = b.scale[i / 16] * static_cast<float>(b.value[i]);
            out[32 * block + i] = has_min ? w + b.min[i / 16] : w;
        }
    }
}

}  // namespace ridge
