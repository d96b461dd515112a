// The float baseline: the same decoder as the firmware's in plain float32, as a port without the
// matrix unit would be written. It is the first rung of the ladder in
// docs/boards/ai-max-395-results.md and meant to be a fair one: -O3, fused multiply-adds in
// register tiles of 4 x 4, weights staged by DMA once a chunk of 32 tokens into the firmware's own
// weight buffers, RoPE from a table, no double anywhere. What it does not do is what the later
// rungs add: fixed point, MAU, overlap of DMA with work.
#include "boards/ai-max-395/baseline/float_image.h"
#include "boards/ai-max-395/soc.h"

namespace {

constexpr uint32_t chunk_rows = 32;
constexpr uint32_t hidden_tile = 32;

inline volatile uint32_t& reg(uint32_t address) {
    return *reinterpret_cast<volatile uint32_t*>(address);
}
template <typename T>
T* at(uint32_t address) {
    return reinterpret_cast<T*>(address);
}

inline const FloatImage* image() {
    return at<const FloatImage>(SOC_FLASH_BASE);
}

// Where the floats lie: regions of soc.h, used for 4-byte values. Rows are `dim` wide.
inline float* residual() {
    return at<float>(SOC_RESIDUAL);
}  // [32][dim], 16 KB
inline float* rows_in() {
    return at<float>(SOC_Q_BUFFER);
}  // [32][dim], Q and K^T buffer
inline float* rows_out() {
    return at<float>(SOC_OUTPUT_CACHE);
}  // [32][dim]: queries
inline float* rope_table() {
    return at<float>(SOC_ROPE);
}  // [64][head_dim]
inline float* scores() {
    return at<float>(SOC_SOFTMAX);
}  // [64]
inline float* gate_tile() {
    return at<float>(SOC_FFN_TILES);
}  // [32][hidden_tile]
inline float* up_tile() {
    return gate_tile() + chunk_rows * hidden_tile;
}
inline float* norms() {
    return at<float>(SOC_LAYER_CONSTANTS);
}  // [2][dim]
inline float* weights() {
    return at<float>(SOC_WEIGHTS);
}
inline float* cache() {
    return at<float>(SOC_KV_RING);
}  // keys, then values: [layer][64][kv]

float logits[512];

void copy(void* to, uint32_t from, uint32_t bytes, uint32_t rows = 1, uint32_t stride = 0) {
    SOC_MARK(FLOAT_STAGE_DMA);
    const uint32_t channel = DMA_CHANNEL(0);
    reg(channel + DMA_SRC) = SOC_FLASH_BASE + from;
    reg(channel + DMA_DST) = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(to));
    reg(channel + DMA_LEN) = bytes;
    reg(channel + DMA_ROWS) = rows;
    reg(channel + DMA_SRC_STRIDE) = stride;
    reg(channel + DMA_DST_STRIDE) = bytes;
    reg(channel + DMA_CTRL) = DMA_CTRL_START;
    while (reg(channel + DMA_STATUS) & DMA_STATUS_BUSY) {
    }
    SOC_MARK(0);
}

// out[r][c] (+)= in[r] . w[c] for R rows and 4 columns of one tile.
template <uint32_t R, bool Add>
inline void tile(float* out, uint32_t out_stride, const float* in, uint32_t in_stride,
                 const float* w, uint32_t depth) {
    float sum[R][4] = {};
    for (uint32_t k = 0; k < depth; ++k) {
        float a[R], b[4];
        for (uint32_t r = 0; r < R; ++r) a[r] = in[r * in_stride + k];
        for (uint32_t c = 0; c < 4; ++c) b[c] = w[c * depth + k];
        for (uint32_t r = 0; r < R; ++r)
            for (uint32_t c = 0; c < 4; ++c) sum[r][c] = __builtin_fmaf(a[r], b[c], sum[r][c]);
    }
    for (uint32_t r = 0; r < R; ++r)
        for (uint32_t c = 0; c < 4; ++c) {
            float& o = out[r * out_stride + c];
            o = Add ? o + sum[r][c] : sum[r][c];
        }
}

// The columns that are in SRAM, for all rows.
template <bool Add>
void columns_of(float* out, uint32_t out_stride, const float* in, uint32_t in_stride, uint32_t rows,
                const float* w, uint32_t columns, uint32_t depth) {
    SOC_MARK(FLOAT_STAGE_TILE);
    for (uint32_t c = 0; c < columns; c += 4) {
        uint32_t r = 0;
        for (; r + 4 <= rows; r += 4)
            tile<4, Add>(out + r * out_stride + c, out_stride, in + r * in_stride, in_stride,
                         w + c * depth, depth);
        for (; r < rows; ++r)
            tile<1, Add>(out + r * out_stride + c, out_stride, in + r * in_stride, in_stride,
                         w + c * depth, depth);
    }
    SOC_MARK(0);
}

// out = in x W^T; W [columns][depth] in flash at `from`, staged by units of 8 KB. Columns are a
// multiple of 4.
template <bool Add>
void product(float* out, uint32_t out_stride, const float* in, uint32_t in_stride, uint32_t rows,
             uint32_t from, uint32_t columns, uint32_t depth) {
    SOC_MARK(FLOAT_STAGE_PRODUCT);
    const uint32_t unit = SOC_WEIGHT_UNIT / 4 / depth & ~3u;
    for (uint32_t c = 0; c < columns; c += unit) {
        const uint32_t n = columns - c < unit ? columns - c : unit;
        copy(weights(), from + c * depth * 4, n * depth * 4);
        columns_of<Add>(out + c, out_stride, in, in_stride, rows, weights(), n, depth);
    }
    SOC_MARK(0);
}

// out += in x W^T for `depth` of W's `stride` columns of weights(), from `first` on.
void product_slice(float* out, uint32_t out_stride, const float* in, uint32_t in_stride,
                   uint32_t rows, uint32_t from, uint32_t columns, uint32_t stride, uint32_t first,
                   uint32_t depth) {
    SOC_MARK(FLOAT_STAGE_PRODUCT);
    const uint32_t unit = DMA_MAX_BYTES / 4 / depth & ~3u;
    for (uint32_t c = 0; c < columns; c += unit) {
        const uint32_t n = columns - c < unit ? columns - c : unit;
        copy(weights(), from + (c * stride + first) * 4, depth * 4, n, stride * 4);
        columns_of<true>(out + c, out_stride, in, in_stride, rows, weights(), n, depth);
    }
    SOC_MARK(0);
}

// e^x, clamped above 87: 2^n times a polynomial of degree 5 on [-ln 2 / 2, ln 2 / 2], relative
// error below 3e-6 (Taylor's remainder: 0.3466^6 / 720).
inline float exponential(float x) {
    if (x < -87.0f) return 0;
    if (x > 87.0f) x = 87.0f;
    const int32_t n = static_cast<int32_t>(x * 1.44269504f + (x < 0 ? -0.5f : 0.5f));
    const float r = __builtin_fmaf(static_cast<float>(n), -0.693147181f, x);
    float p = 1.0f / 120;
    p = __builtin_fmaf(p, r, 1.0f / 24);
    p = __builtin_fmaf(p, r, 1.0f / 6);
    p = __builtin_fmaf(p, r, 0.5f);
    p = __builtin_fmaf(p, r, 1.0f);
    p = __builtin_fmaf(p, r, 1.0f);
    union {
        uint32_t bits;
        float value;
    } power = {static_cast<uint32_t>(n + 127) << 23};
    return p * power.value;
}

void norm_row(float* out, const float* in, const float* gain) {
    SOC_MARK(FLOAT_STAGE_NORM);
    const uint32_t dim = image()->dim;
    float sum = 0;
    for (uint32_t i = 0; i < dim; ++i) sum = __builtin_fmaf(in[i], in[i], sum);
    const float scale = 1.0f / __builtin_sqrtf(sum / static_cast<float>(dim) + image()->epsilon);
    for (uint32_t i = 0; i < dim; ++i) out[i] = in[i] * scale * gain[i];
    SOC_MARK(0);
}

void rotate(float* row, uint32_t width, uint32_t position) {
    SOC_MARK(FLOAT_STAGE_ROPE);
    const uint32_t hd = image()->head_dim;
    const float* const t = rope_table() + position * hd;
    for (uint32_t h = 0; h < width; h += hd)
        for (uint32_t i = 0; i < hd; i += 2) {
            const float a = row[h + i], b = row[h + i + 1], c = t[i], s = t[i + 1];
            row[h + i] = a * c - b * s;
            row[h + i + 1] = a * s + b * c;
        }
    SOC_MARK(0);
}

// p[t] = q . keys[t] * scale for T positions.
template <uint32_t T>
inline void dots(float* p, const float* q, const float* keys, uint32_t stride, float scale) {
    float sum[T] = {};
    const uint32_t hd = image()->head_dim;
    for (uint32_t i = 0; i < hd; ++i)
        for (uint32_t t = 0; t < T; ++t)
            sum[t] = __builtin_fmaf(q[i], keys[t * stride + i], sum[t]);
    for (uint32_t t = 0; t < T; ++t) p[t] = sum[t] * scale;
}

// One row of queries over its `count` positions; the result replaces the row's entry of rows_in().
void attend_row(float* out, const float* q, const float* keys, const float* values,
                uint32_t count) {
    const uint32_t hd = image()->head_dim, kv = image()->kv_heads * hd;
    const uint32_t group = image()->heads / image()->kv_heads;
    const float scale = 1.0f / __builtin_sqrtf(static_cast<float>(hd));
    float* const p = scores();
    for (uint32_t h = 0; h < image()->heads; ++h) {
        const uint32_t offset = h / group * hd;
        const float* const query = q + h * hd;
        SOC_MARK(FLOAT_STAGE_SCORES);
        uint32_t t = 0;
        for (; t + 4 <= count; t += 4) dots<4>(p + t, query, keys + t * kv + offset, kv, scale);
        for (; t < count; ++t) dots<1>(p + t, query, keys + t * kv + offset, kv, scale);
        SOC_MARK(0);
        SOC_MARK(FLOAT_STAGE_SOFTMAX);
        float largest = p[0], total = 0;
        for (t = 1; t < count; ++t)
            if (p[t] > largest) largest = p[t];
        for (t = 0; t < count; ++t) {
            p[t] = exponential(p[t] - largest);
            total += p[t];
        }
        const float inverse = 1.0f / total;
        for (t = 0; t < count; ++t) p[t] *= inverse;
        SOC_MARK(0);
        SOC_MARK(FLOAT_STAGE_VALUES);
        for (uint32_t i = 0; i < hd; i += 4) {
            float sum[4] = {};
            for (t = 0; t < count; ++t)
                for (uint32_t j = 0; j < 4; ++j)
                    sum[j] = __builtin_fmaf(p[t], values[t * kv + offset + i + j], sum[j]);
            for (uint32_t j = 0; j < 4; ++j) out[h * hd + i + j] = sum[j];
        }
        SOC_MARK(0);
    }
}

void layer(uint32_t index, uint32_t first, uint32_t rows) {
    const FloatLayer& w = image()->layer[index];
    const uint32_t dim = image()->dim, hidden = image()->hidden;
    const uint32_t kv = image()->kv_heads * image()->head_dim;
    float* const keys = cache() + index * FLOAT_IMAGE_MAX_TOKENS * kv;
    float* const values = keys + image()->layers * FLOAT_IMAGE_MAX_TOKENS * kv;
    copy(norms(), w.norms, 8 * dim);
    for (uint32_t r = 0; r < rows; ++r)
        norm_row(rows_in() + r * dim, residual() + r * dim, norms());
    product<false>(keys + first * kv, kv, rows_in(), dim, rows, w.k, kv, dim);
    product<false>(values + first * kv, kv, rows_in(), dim, rows, w.v, kv, dim);
    product<false>(rows_out(), dim, rows_in(), dim, rows, w.q, dim, dim);
    for (uint32_t r = 0; r < rows; ++r) {
        rotate(keys + (first + r) * kv, kv, first + r);
        rotate(rows_out() + r * dim, dim, first + r);
    }
    for (uint32_t r = 0; r < rows; ++r)
        attend_row(rows_in() + r * dim, rows_out() + r * dim, keys, values, first + r + 1);
    product<true>(residual(), dim, rows_in(), dim, rows, w.out, dim, dim);
    for (uint32_t r = 0; r < rows; ++r)
        norm_row(rows_in() + r * dim, residual() + r * dim, norms() + dim);
    for (uint32_t t = 0; t < hidden; t += hidden_tile) {
        const uint32_t n = hidden - t < hidden_tile ? hidden - t : hidden_tile;
        product<false>(gate_tile(), n, rows_in(), dim, rows, w.gate + t * dim * 4, n, dim);
        product<false>(up_tile(), n, rows_in(), dim, rows, w.up + t * dim * 4, n, dim);
        SOC_MARK(FLOAT_STAGE_GLU);
        for (uint32_t i = 0; i < rows * n; ++i)
            gate_tile()[i] = gate_tile()[i] / (1.0f + exponential(-gate_tile()[i])) * up_tile()[i];
        SOC_MARK(0);
        product_slice(residual(), dim, gate_tile(), n, rows, w.down, dim, hidden, t, n);
    }
}

// Logits of the last token. A prompt of 1 to 64 tokens, in chunks of 32.
void prefill() {
    SOC_MARK(FLOAT_STAGE_PREFILL);
    const uint32_t dim = image()->dim, tokens = image()->tokens;
    copy(rope_table(), image()->rope, FLOAT_IMAGE_MAX_TOKENS * image()->head_dim * 4);
    uint32_t rows = 0;
    for (uint32_t first = 0; first < tokens; first += rows) {
        rows = tokens - first < chunk_rows ? tokens - first : chunk_rows;
        for (uint32_t r = 0; r < rows; ++r)
            copy(residual() + r * dim,
                 image()->embedding + static_cast<uint32_t>(image()->ids[first + r]) * dim * 4,
                 dim * 4);
        for (uint32_t l = 0; l < image()->layers; ++l) layer(l, first, rows);
    }
    copy(norms(), image()->final_norm, 4 * dim);
    norm_row(rows_in(), residual() + (rows - 1) * dim, norms());
    product<false>(logits, image()->vocab, rows_in(), dim, 1, image()->head, image()->vocab, dim);
    SOC_MARK(0);
}

uint64_t counter(bool instructions) {
    uint32_t high, low, again;
    do {
        if (instructions) {
            __asm__ volatile("csrr %0, minstreth" : "=r"(high));
            __asm__ volatile("csrr %0, minstret" : "=r"(low));
            __asm__ volatile("csrr %0, minstreth" : "=r"(again));
        } else {
            __asm__ volatile("csrr %0, mcycleh" : "=r"(high));
            __asm__ volatile("csrr %0, mcycle" : "=r"(low));
            __asm__ volatile("csrr %0, mcycleh" : "=r"(again));
        }
    } while (high != again);
    return static_cast<uint64_t>(high) << 32 | low;
}

void print(const char* text) {
    for (; *text; ++text) reg(UART_BASE) = static_cast<uint8_t>(*text);
}
void print_hex(uint64_t value, int digits) {
    for (int i = digits - 1; i >= 0; --i) {
        const char text[2] = {"0123456789abcdef"[value >> 4 * i & 15], 0};
        print(text);
    }
}

bool runnable() {
    const FloatImage& m = *image();
    return m.magic == FLOAT_IMAGE_MAGIC && m.version == FLOAT_IMAGE_VERSION && m.layers >= 1 &&
           m.layers <= FLOAT_IMAGE_MAX_LAYERS && m.tokens >= 1 &&
           m.tokens <= FLOAT_IMAGE_MAX_TOKENS && m.dim <= 128 && m.vocab <= 512 &&
           m.head_dim <= 16 && m.layers * m.kv_heads * m.head_dim <= 256;
}

}  // namespace

extern "C" void* memset(void* to, int value, unsigned int bytes) {
    for (unsigned int i = 0; i < bytes; ++i)
        static_cast<volatile char*>(to)[i] = static_cast<char>(value);
    return to;
}

// Prints cycles and instructions of the prefill and the logits' bits, in hexadecimal.
extern "C" int baseline_main() {
    if (!runnable()) {
        print("no image of the float baseline in flash\n");
        return 2;
    }
    const uint64_t instructions = counter(true), cycles = counter(false);
    prefill();
    const uint64_t cycles_end = counter(false), instructions_end = counter(true);
    print("cycles ");
    print_hex(cycles_end - cycles, 16);
    print("\ninstructions ");
    print_hex(instructions_end - instructions, 16);
    print("\nlogits");
    for (uint32_t i = 0; i < image()->vocab; ++i) {
        union {
            float value;
            uint32_t bits;
        } x = {logits[i]};
        print(" ");
        print_hex(x.bits, 8);
    }
    print("\n");
    return 0;
}
