// Takes an image apart and believes nothing: after load_image() every offset and size that the
// kernels use lies within the image, every launch within its buffers. What the numbers mean is the
// exporter's business; no number can trap or leave a buffer.
#include "boards/ai-max-395/firmware/run.h"

namespace ridge::fw {

namespace {

constexpr int32_t exponent_limit = 256;

bool within(int32_t x, int32_t low, int32_t high) {
    return x >= low && x <= high;
}

// Is [offset, offset + bytes) a section of the image?
bool inside(const ImageHeader& h, uint32_t offset, uint32_t bytes) {
    return offset % IMAGE_ALIGN == 0 && offset >= sizeof(ImageHeader) && offset <= h.image_bytes &&
           bytes <= h.image_bytes - offset;
}

int32_t check_sizes(const ImageHeader& h, uint32_t available) {
    if (h.header_bytes != sizeof(ImageHeader) || h.image_bytes % IMAGE_ALIGN != 0 ||
        h.image_bytes < sizeof(ImageHeader) || h.image_bytes > available)
        return PREFILL_BAD_SIZE;
    return PREFILL_OK;
}

// All words but sum and sums themselves.
int32_t check_sum(const ImageHeader& h) {
    const auto* const words = reinterpret_cast<const uint32_t*>(&h);
    uint32_t sum = 0, sums = 0;
    const auto add = [&](uint32_t from, uint32_t to) {
        for (uint32_t i = from; i < to; ++i) {
            sum += words[i];
            sums += sum;
        }
    };
    const auto first = static_cast<uint32_t>(&h.sum - words);
    add(0, first);
    add(first + 2, h.image_bytes / 4);
    return sum == h.sum && sums == h.sums ? PREFILL_OK : PREFILL_BAD_CHECKSUM;
}

int32_t check_shape(const ImageHeader& h) {
    const auto wide = [](uint32_t x, uint32_t limit) { return x >= 8 && x <= limit && x % 8 == 0; };
    if (!wide(h.dim, IMAGE_MAX_DIM) || !wide(h.hidden, IMAGE_MAX_HIDDEN) || !wide(h.head_dim, 64))
        return PREFILL_BAD_SHAPE;
    if (h.heads == 0 || h.heads > 16 || h.kv_heads == 0 || h.kv_heads > h.heads ||
        h.heads % h.kv_heads != 0 || h.heads * h.head_dim > IMAGE_MAX_DIM)
        return PREFILL_BAD_SHAPE;
    const uint32_t kv_dim = h.kv_heads * h.head_dim;
    if (h.layers == 0 || h.layers > 256 || h.layers * kv_dim * 2 > slot_value)
        return PREFILL_BAD_SHAPE;
    if (h.vocab == 0 || h.vocab > IMAGE_MAX_VOCAB || h.vocab % 4 != 0 || h.vocab_used == 0 ||
        h.vocab_used > h.vocab)
        return PREFILL_BAD_SHAPE;
    const uint32_t chunk = image_chunk_rows(h.dim, h.heads * h.head_dim, kv_dim);
    if (chunk == 0 || h.chunk_rows != chunk || h.rope_positions < SOC_KV_SLOTS ||
        h.rope_positions > (1u << 20))
        return PREFILL_BAD_SHAPE;
    if (!within(h.residual_frac, 0, 30) || !within(h.embedding_frac, 0, h.residual_frac) ||
        h.eps_mant < (1 << 30) || !within(h.eps_exp, -exponent_limit, exponent_limit))
        return PREFILL_BAD_SHAPE;
    return PREFILL_OK;
}

int32_t check_sections(const ImageHeader& h) {
    const uint32_t a = image_constants_a(&h), b = image_constants_b(&h);
    if (h.constants_a != a || h.constants_b != b || h.head_b != image_round16(4 * h.vocab))
        return PREFILL_BAD_PROGRAM;
    if (a + b > 8192 || a + h.head_b > 8192) return PREFILL_BAD_SHAPE;
    if (h.steps != 6 * h.layers + 3 || h.units > 65536) return PREFILL_BAD_PROGRAM;
    if (!inside(h, h.steps_offset, h.steps * sizeof(ImageStep)) ||
        !inside(h, h.units_offset, h.units * sizeof(ImageUnit)) ||
        !inside(h, h.embedding_offset, h.vocab * h.dim * 2) ||
        !inside(h, h.rope_offset, h.rope_positions * h.head_dim * 2) ||
        !inside(h, h.constants_offset, h.layers * (a + b) + a + h.head_b) ||
        !inside(h, h.weights_offset, h.weights_bytes))
        return PREFILL_BAD_SIZE;
    return PREFILL_OK;
}

// Walks the units in the order in which the kernels take them.
class UnitCheck {
  public:
    UnitCheck(const ImageHeader& h, const ImageUnit* units)
        : h_(h), units_(units), offset_(h.weights_offset) {}

    void take(uint32_t rows, uint32_t depth) {
        const uint32_t bytes = rows * depth * 2;
        if (next_ >= h_.units || units_[next_].offset != offset_ || units_[next_].bytes != bytes) {
            good_ = false;
            return;
        }
        offset_ += bytes;
        ++next_;
    }
    void take_rows(uint32_t rows, uint32_t depth) {
        const uint32_t step = image_unit_rows(depth);
        for (uint32_t r = 0; r < rows; r += step) take(min_u(step, rows - r), depth);
    }
    // Of one step: counts what `take` takes.
    bool matches(const ImageStep& s, uint32_t first) const {
        return good_ && s.first_unit == first && s.units == next_ - first;
    }
    uint32_t next() const { return next_; }
    bool complete() const {
        return good_ && next_ == h_.units && offset_ == h_.weights_offset + h_.weights_bytes;
    }

  private:
    const ImageHeader& h_;
    const ImageUnit* units_;
    uint32_t offset_, next_ = 0;
    bool good_ = true;
};

void take_step(const ImageHeader& h, uint32_t kind, UnitCheck& units) {
    const uint32_t q_dim = h.heads * h.head_dim, kv_dim = h.kv_heads * h.head_dim;
    if (kind == IMAGE_QKV) {
        units.take_rows(2 * kv_dim, h.dim);
        units.take_rows(q_dim, h.dim);
    } else if (kind == IMAGE_OUT) {
        units.take_rows(h.dim, q_dim);
    } else if (kind == IMAGE_HEAD) {
        units.take_rows(h.vocab, h.dim);
    } else if (kind == IMAGE_FFN) {
        const uint32_t tiles = (h.hidden + IMAGE_HIDDEN_TILE - 1) / IMAGE_HIDDEN_TILE;
        const auto width = [&](uint32_t t) {
            return min_u(IMAGE_HIDDEN_TILE, h.hidden - t * IMAGE_HIDDEN_TILE);
        };
        for (uint32_t t = 0; t <= tiles; ++t) {  // GU(0) GU(1) D(0) GU(2) D(1) ... D(T - 1)
            if (t < tiles && image_tile_units(h.dim) == 1) units.take(2 * width(t), h.dim);
            if (t < tiles && image_tile_units(h.dim) == 2) {
                units.take(width(t), h.dim);
                units.take(width(t), h.dim);
            }
            if (t > 0) units.take(h.dim, width(t - 1));
        }
    }
}

int32_t check_program(const ImageHeader& h, const ImageStep* steps, const ImageUnit* units) {
    static const uint8_t layer_kinds[6] = {IMAGE_PREPARE, IMAGE_QKV,     IMAGE_ATTEND,
                                           IMAGE_OUT,     IMAGE_PREPARE, IMAGE_FFN};
    UnitCheck check(h, units);
    for (uint32_t i = 0; i < h.steps; ++i) {
        const ImageStep& s = steps[i];
        uint32_t kind = IMAGE_EMBED, layer = 0;
        if (i > 0) {
            layer = (i - 1) / 6;
            kind = layer_kinds[(i - 1) % 6];
        }
        if (i + 1 == h.steps) kind = IMAGE_HEAD;
        const uint32_t first = check.next();
        take_step(h, kind, check);
        const bool has_units = check.next() != first;
        if (s.kind != kind || s.layer != layer || (has_units && !check.matches(s, first)) ||
            (!has_units && s.units != 0) || !within(s.frac, 0, 30) ||
            (s.static_mant != 0 && s.static_mant < 1 << 30) ||
            !within(s.static_exp, -exponent_limit, exponent_limit))
            return PREFILL_BAD_PROGRAM;
        for (int32_t e : s.exponent)
            if (!within(e, -exponent_limit, exponent_limit)) return PREFILL_BAD_PROGRAM;
        for (uint8_t shift : s.shift)
            if (shift > 12) return PREFILL_BAD_PROGRAM;
    }
    return check.complete() ? PREFILL_OK : PREFILL_BAD_PROGRAM;
}

void take_model(const ImageHeader& h) {
    run.dim = h.dim;
    run.layers = h.layers;
    run.heads = h.heads;
    run.kv_heads = h.kv_heads;
    run.head_dim = h.head_dim;
    run.q_dim = h.heads * h.head_dim;
    run.kv_dim = h.kv_heads * h.head_dim;
    run.hidden = h.hidden;
    run.vocab = h.vocab;
    run.vocab_used = h.vocab_used;
    run.chunk_rows = h.chunk_rows;
    run.rope_positions = h.rope_positions;
    run.residual_frac = h.residual_frac;
    run.embedding_frac = h.embedding_frac;
    run.eps_mant = h.eps_mant;
    run.eps_exp = h.eps_exp;
    run.phases = h.rope_phase;
    run.inverse_dim = (0u - h.dim) / h.dim + 1;
    run.embedding = h.embedding_offset;
    run.rope = h.rope_offset;
    run.constants = h.constants_offset;
    run.constants_a = h.constants_a;
    run.constants_b = h.constants_b;
    run.head_b = h.head_b;
    run.unit_rows = image_unit_rows(h.dim);
    run.tile_units = image_tile_units(h.dim);
    run.n_steps = h.steps;
    run.all_units = h.units;
    run.layer_units = run.steps[h.steps - 1].first_unit;
}

}  // namespace

int32_t load_image(const uint8_t* image, uint32_t available) {
    const ImageHeader& h = *reinterpret_cast<const ImageHeader*>(image);
    if (available < sizeof(ImageHeader)) return PREFILL_BAD_SIZE;
    if (h.magic != IMAGE_MAGIC) return PREFILL_BAD_MAGIC;
    if (h.version != IMAGE_VERSION) return PREFILL_BAD_VERSION;
    int32_t status = check_sizes(h, available);
    if (status == PREFILL_OK) status = check_sum(h);
    if (status == PREFILL_OK) status = check_shape(h);
    if (status == PREFILL_OK) status = check_sections(h);
    if (status != PREFILL_OK) return status;
    const auto* const steps = reinterpret_cast<const ImageStep*>(image + h.steps_offset);
    const auto* const units = reinterpret_cast<const ImageUnit*>(image + h.units_offset);
    status = check_program(h, steps, units);
    if (status != PREFILL_OK) return status;
    run.image = image;
    run.steps = steps;
    run.units = units;
    take_model(h);
    return PREFILL_OK;
}

}  // namespace ridge::fw
