// What a context gives out and takes back besides logits: hidden states, copies of sequences, and a
// sequence's state as bytes.
//
// A state is, little-endian: "RIDGEKV1"; u64 fingerprint of model and cache; u32 positions, u32
// reach (how far rings were written), u32 pages, u32 zero; the positions' token ids (i32); the
// cache's pieces in KvCache's order; u64 hash of all before it.
#include <algorithm>
#include <cstring>

#include "runtime/model.hpp"

namespace ridge {
namespace {

constexpr char magic[8] = {'R', 'I', 'D', 'G', 'E', 'K', 'V', '1'};

struct StateHeader {
    char magic[8];
    uint64_t fingerprint;
    uint32_t positions, reach, pages, zero;
};

// FNV-1a over words of eight bytes (the last one filled up with zeros): for damage, not for
// enemies.
uint64_t hash(uint64_t h, const void* data, size_t bytes) {
    const uint8_t* p = static_cast<const uint8_t*>(data);
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = 0;
        std::memcpy(&word, p + i, std::min<size_t>(8, bytes - i));
        h = (h ^ word) * 0x100000001b3u;
        h ^= h >> 29;
    }
    return h;
}
constexpr uint64_t hash_start = 0xcbf29ce484222325u;

uint64_t fingerprint(const Model& model, const Cache& cache) {
    uint64_t h = hash(hash_start, model.architecture().data(), model.architecture().size());
    const Program& p = model.program();
    const uint64_t shape[] = {p.layers,
                              p.hidden,
                              p.vocab,
                              p.attention.heads,
                              p.attention.kv_heads,
                              p.attention.head_dim,
                              static_cast<uint64_t>(cache.type),
                              cache.page_bytes,
                              kv_span};
    h = hash(h, shape, sizeof shape);
    for (const TensorInfo& t : model.file().tensors()) {
        h = hash(h, t.name.data(), t.name.size());
        const uint64_t place[] = {static_cast<uint64_t>(t.type), t.bytes};
        h = hash(h, place, sizeof place);
    }
    return h;
}

}  // namespace

Status Context::hidden(uint32_t i, std::span<float> out) {
    if (!model_.options().hidden)
        return fail(ErrorCode::invalid_argument,
                    "the model was loaded without hidden states; load it with them");
    if (i >= exec_.batch.n_rows)
        return fail(ErrorCode::invalid_argument, "row " + std::to_string(i) +
                                                     " is not one of the last pass's " +
                                                     std::to_string(exec_.batch.n_rows));
    const Lowered& m = *exec_.model;
    const LoweredStep* last = nullptr;
    for (uint32_t s = 0; s < m.n_steps; ++s)
        if (m.steps[s].first_head) last = &m.steps[s];
    if (last == nullptr || out.size() != last->width)
        return fail(ErrorCode::invalid_argument, "a hidden state has " +
                                                     std::to_string(model_.program().hidden) +
                                                     " floats, not " + std::to_string(out.size()));
    std::vector<float> x(last->width), y(last->width);
    std::memcpy(x.data(), buffer_row(exec_, last->x, i), x.size() * sizeof(float));
    if (last->y != no_id) {
        const float* add = reinterpret_cast<const float*>(buffer_row(exec_, last->y, i));
        if (last->post_norm != nullptr) {
            exec_.row->rms_norm(add, last->post_norm, last->width, last->epsilon, y.data());
            add = y.data();
        }
        exec_.row->add(x.data(), add, last->width);
    }
    if (last->norm != nullptr)
        exec_.row->rms_norm(x.data(), last->norm, last->width, last->epsilon, out.data());
    else
        std::copy(x.begin(), x.end(), out.begin());
    return {};
}

Result<uint32_t> Context::copy(uint32_t from, uint32_t to, uint32_t length) {
    if (from >= sequences() || to >= sequences())
        return fail(ErrorCode::invalid_argument, "sequence " + std::to_string(std::max(from, to)) +
                                                     " does not exist; the context has " +
                                                     std::to_string(sequences()));
    if (from == to) return trim(to, length);
    trim(to, 0);
    const uint32_t n = cache_.copy(from, to, lengths_[from], length);
    std::copy_n(&history_[static_cast<size_t>(from) * context()], n,
                &history_[static_cast<size_t>(to) * context()]);
    lengths_[to] = n;
    return n;
}

Result<std::vector<uint8_t>> Context::save(uint32_t sequence) const {
    if (sequence >= sequences())
        return fail(ErrorCode::invalid_argument,
                    "sequence " + std::to_string(sequence) + " does not exist");
    StateHeader header{};
    std::memcpy(header.magic, magic, sizeof magic);
    header.fingerprint = fingerprint(model_, exec_.cache);
    header.positions = lengths_[sequence];
    header.reach = cache_.reach(sequence);
    header.pages = cache_.used_pages(sequence);
    const auto pieces = cache_.pieces(sequence, header.pages);
    const std::span<const int32_t> ids = tokens(sequence);
    size_t bytes = sizeof header + ids.size_bytes() + sizeof(uint64_t);
    for (const auto& p : pieces) bytes += p.size();
    std::vector<uint8_t> state(bytes);
    uint8_t* at = state.data();
    const auto put = [&at](const void* data, size_t n) {
        if (n != 0) std::memcpy(at, data, n);
        at += n;
    };
    put(&header, sizeof header);
    put(ids.data(), ids.size_bytes());
    for (const auto& p : pieces) put(p.data(), p.size());
    const uint64_t sum = hash(hash_start, state.data(), bytes - sizeof(uint64_t));
    put(&sum, sizeof sum);
    return state;
}

Status Context::load(uint32_t sequence, std::span<const uint8_t> state) {
    if (sequence >= sequences())
        return fail(ErrorCode::invalid_argument,
                    "sequence " + std::to_string(sequence) + " does not exist");
    const auto damaged = [](const std::string& what) {
        return fail(ErrorCode::bad_file, "the saved state " + what);
    };
    StateHeader header{};
    if (state.size() < sizeof header + sizeof(uint64_t)) return damaged("is cut off");
    std::memcpy(&header, state.data(), sizeof header);
    if (std::memcmp(header.magic, magic, sizeof magic) != 0)
        return damaged("does not begin with RIDGEKV1: it is no state of ridge's");
    uint64_t sum = 0;
    std::memcpy(&sum, state.data() + state.size() - sizeof sum, sizeof sum);
    if (sum != hash(hash_start, state.data(), state.size() - sizeof sum))
        return damaged("is damaged or cut off: its checksum is wrong");
    if (header.fingerprint != fingerprint(model_, exec_.cache))
        return damaged("is of another model or cache type");
    if (header.positions > context())
        return fail(ErrorCode::invalid_argument,
                    "the saved state has " + std::to_string(header.positions) +
                        " positions, the context " + std::to_string(context()));
    const uint32_t pages = (header.positions + kv_span - 1) / kv_span;
    if (header.pages != pages || header.reach < header.positions || header.reach > context())
        return damaged("contradicts itself");
    // Rings of another length hold other spans: sizes tell.
    size_t bytes = sizeof header + header.positions * sizeof(int32_t) + sizeof sum;
    for (const auto& p : cache_.pieces(sequence, 0)) bytes += p.size();
    bytes += cache_.page_piece_bytes() * pages;
    if (bytes != state.size()) return damaged("is of a context with another chunk or window");
    const uint8_t* at = state.data() + sizeof header;
    for (uint32_t i = 0; i < header.positions; ++i) {
        int32_t id = 0;
        std::memcpy(&id, at + i * sizeof id, sizeof id);
        if (id < 0 || static_cast<uint32_t>(id) >= exec_.model->vocab)
            return damaged("holds a token outside the vocabulary");
    }
    trim(sequence, 0);
    if (header.positions == 0) return {};
    RIDGE_TRY(cache_.grow(sequence, 0, header.positions));
    cache_.set_reach(sequence, header.reach);
    std::memcpy(&history_[static_cast<size_t>(sequence) * context()], at,
                header.positions * sizeof(int32_t));
    at += header.positions * sizeof(int32_t);
    for (const auto& p : cache_.pieces(sequence, pages)) {
        std::memcpy(p.data(), at, p.size());
        at += p.size();
    }
    lengths_[sequence] = header.positions;
    return {};
}

}  // namespace ridge
