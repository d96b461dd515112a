#include "runtime/weights.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "kernels/pack.hpp"
#include "kernels/packed.hpp"

namespace ridge {
namespace {

// Row of the file that packed column `c` holds: heads whose pairs are stored interleaved are read
// in halves (Weight::rope_head).
size_t file_row(const Weight& w, size_t c) {
    if (w.rope_head == 0) return c;
    const size_t half = w.rope_head / 2;
    const size_t head = c / w.rope_head;
    const size_t j = c % w.rope_head;
    return head * w.rope_head + (j < half ? 2 * j : 2 * (j - half) + 1);
}

// One matrix, or gate and up whose groups share pairs (LoweredStep::interleaved).
struct PackJob {
    const TensorInfo* tensor[2];
    const Weight* weight[2];
    uint32_t n_tensors;
    size_t offset;  // in the packed memory
    size_t pair_bytes;
    size_t pairs;
    size_t first_tile;  // tiles of tile_pairs pairs, numbered over all jobs
};

constexpr size_t tile_pairs = 8;

struct Packing {
    const GgufFile* file;
    std::vector<PackJob> jobs;
    uint8_t* memory;
    size_t tiles = 0;
    std::atomic<size_t> next{0};
    const std::function<void(double)>* progress;
};

// Pointers to the rows of columns first .. first + 15, as far as there are; returns how many.
size_t group_rows(const TensorInfo& t, const Weight& w, size_t first, const uint8_t** rows) {
    const size_t n = first < w.n ? std::min(group_columns, w.n - first) : 0;
    const size_t bytes = row_bytes(t.type, w.k);
    for (size_t c = 0; c < n; ++c) rows[c] = t.data + file_row(w, first + c) * bytes;
    return n;
}

void pack_tile(Packing& p, size_t tile) {
    auto it = std::upper_bound(p.jobs.begin(), p.jobs.end(), tile,
                               [](size_t t, const PackJob& j) { return t < j.first_tile; });
    const PackJob& job = *--it;
    const size_t first = (tile - job.first_tile) * tile_pairs;
    const size_t last = std::min(first + tile_pairs, job.pairs);
    const bool two = job.n_tensors == 2;
    const size_t columns = two ? group_columns : pair_columns;  // of a tensor in a pair
    const DType type = job.tensor[0]->type;
    for (size_t i = first; i < last; ++i) {
        const uint8_t* rows[pair_columns];
        const size_t n = group_rows(*job.tensor[0], *job.weight[0], i * columns, rows);
        const size_t m =
            two ? group_rows(*job.tensor[1], *job.weight[1], i * columns, rows + n)
                : group_rows(*job.tensor[0], *job.weight[0], i * columns + group_columns, rows + n);
        pack_pair(type, rows, n, m, job.weight[0]->k, p.memory + job.offset + i * job.pair_bytes);
    }
    // A tile is whole heads or reads only its own rows; give the pages back (they can be re-read).
    const size_t bytes = row_bytes(type, job.weight[0]->k);
    for (uint32_t t = 0; t < job.n_tensors; ++t) {
        const size_t begin = first * columns * bytes;
        const size_t end = std::min<size_t>(last * columns, job.weight[t]->n) * bytes;
        p.file->release(job.tensor[t]->data + begin, end - begin);
    }
}

void pack_worker(void* ctx, unsigned thread) {
    Packing& p = *static_cast<Packing*>(ctx);
    for (size_t tile = p.next.fetch_add(1); tile < p.tiles; tile = p.next.fetch_add(1)) {
        pack_tile(p, tile);
        if (thread == 0 && *p.progress)
            (*p.progress)(static_cast<double>(tile + 1) / static_cast<double>(p.tiles));
    }
}

}  // namespace

Result<WeightStore> WeightStore::load(const GgufFile& file, const Program& program,
                                      LoweredModel& model, ThreadTeam& team,
                                      const std::function<void(double)>& progress) {
    WeightStore store;
    constexpr size_t unset = SIZE_MAX;
    std::vector<size_t> packed_at(program.n_weights, unset);
    std::vector<size_t> vector_at(program.n_weights, unset);
    Packing packing;
    packing.file = &file;
    packing.progress = &progress;
    size_t bytes = 0;
    size_t floats = 0;
    const auto want_vector = [&](WeightId id) {
        if (id == no_id || vector_at[static_cast<size_t>(id)] != unset) return;
        vector_at[static_cast<size_t>(id)] = floats;
        floats += program.weights[id].k;
    };
    for (const LoweredStep& s : model.steps) {
        for (uint32_t i = 0; i < s.n_segments; ++i) {
            const Segment& g = s.segment[i];
            want_vector(g.bias_weight);
            size_t& at = packed_at[static_cast<size_t>(g.weight)];
            if (at != unset) continue;
            const Weight& w = program.weights[g.weight];
            const TensorInfo* tensor = file.find(w.name);
            store.tensor_bytes_ += tensor->bytes;
            if (s.interleaved && i == 1) {  // in the pairs of the first
                at = packed_at[static_cast<size_t>(s.segment[0].weight)];
                packing.jobs.back().tensor[1] = tensor;
                packing.jobs.back().weight[1] = &w;
                packing.jobs.back().n_tensors = 2;
                continue;
            }
            at = bytes;
            const size_t pairs = segment_pairs(s, i);
            packing.jobs.push_back({{tensor}, {&w}, 1, at, g.pair_bytes, pairs, packing.tiles});
            packing.tiles += (pairs + tile_pairs - 1) / tile_pairs;
            bytes += pairs * g.pair_bytes;
        }
        for (const WeightId id : {s.norm_weight, s.post_norm_weight, s.k_norm_weight})
            want_vector(id);
    }
    RIDGE_ASSIGN(store.packed_, AlignedBuffer::allocate(bytes, true));
    store.vectors_.resize(floats);
    packing.memory = store.packed_.data();
    team.run(pack_worker, &packing, team.size());
    if (progress) progress(1.0);

    for (uint32_t id = 0; id < program.n_weights; ++id) {
        if (vector_at[id] == unset) continue;
        const Weight& w = program.weights[id];
        const uint8_t* data = file.find(w.name)->data;
        for (size_t i = 0; i < w.k; ++i)
            std::memcpy(&store.vectors_[vector_at[id] + i], data + file_row(w, i) * 4, 4);
    }
    const auto vector = [&](WeightId id) -> const float* {
        return id == no_id ? nullptr : &store.vectors_[vector_at[static_cast<size_t>(id)]];
    };
    for (LoweredStep& s : model.steps) {
        s.norm = vector(s.norm_weight);
        s.post_norm = vector(s.post_norm_weight);
        s.k_norm = vector(s.k_norm_weight);
        for (uint32_t i = 0; i < s.n_segments; ++i) {
            Segment& g = s.segment[i];
            g.packed = store.packed_.data() + packed_at[static_cast<size_t>(g.weight)];
            g.bias = vector(g.bias_weight);
        }
        if (s.kind != StepKind::embed) continue;
        const TensorInfo& t = *file.find(program.weights[s.table_weight].name);
        if (s.table_packed) {
            s.table = store.packed_.data() + packed_at[static_cast<size_t>(s.table_weight)];
            s.table_stride = pair_bytes(t.type, s.width);
        } else {
            s.table = t.data;
            s.table_stride = row_bytes(t.type, s.width);
            store.mapped_bytes_ += t.bytes;
        }
    }
    return store;
}

}  // namespace ridge
