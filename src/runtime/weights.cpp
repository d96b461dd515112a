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

struct PackJob {
    const TensorInfo* tensor;
    const Weight* weight;
    size_t offset;  // in the packed memory
    size_t stride;  // from one group to the next
    size_t groups;
    size_t first_tile;  // tiles of tile_groups groups, numbered over all jobs
};

constexpr size_t tile_groups = 16;

struct Packing {
    const GgufFile* file;
    std::vector<PackJob> jobs;
    uint8_t* memory;
    size_t tiles = 0;
    std::atomic<size_t> next{0};
    const std::function<void(double)>* progress;
};

void pack_tile(Packing& p, size_t tile) {
    auto it = std::upper_bound(p.jobs.begin(), p.jobs.end(), tile,
                               [](size_t t, const PackJob& j) { return t < j.first_tile; });
    const PackJob& job = *--it;
    const size_t first = (tile - job.first_tile) * tile_groups;
    const size_t last = std::min(first + tile_groups, job.groups);
    const size_t bytes = row_bytes(job.tensor->type, job.weight->k);
    for (size_t g = first; g < last; ++g) {
        const uint8_t* rows[16];
        const size_t columns = std::min<size_t>(16, job.weight->n - g * 16);
        for (size_t c = 0; c < columns; ++c)
            rows[c] = job.tensor->data + file_row(*job.weight, g * 16 + c) * bytes;
        pack_group(job.tensor->type, rows, columns, job.weight->k,
                   p.memory + job.offset + g * job.stride);
    }
    // A tile is whole heads or reads only its own rows; give the pages back (they can be re-read).
    const size_t begin = first * 16 * bytes;
    const size_t end = std::min<size_t>(last * 16, job.weight->n) * bytes;
    p.file->release(job.tensor->data + begin, end - begin);
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
            // Gate and up by turns (LoweredStep::interleaved): the second starts one group behind.
            at = s.interleaved && i == 1
                     ? packed_at[static_cast<size_t>(s.segment[0].weight)] + g.group_bytes
                     : bytes;
            const size_t stride = g.group_bytes * (s.interleaved ? 2 : 1);
            const Weight& w = program.weights[g.weight];
            packing.jobs.push_back({file.find(w.name), &w, at, stride, g.groups, packing.tiles});
            packing.tiles += (g.groups + tile_groups - 1) / tile_groups;
            bytes += g.groups * g.group_bytes;
            store.tensor_bytes_ += packing.jobs.back().tensor->bytes;
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
            s.table_stride = group_planes(t.type, s.width).bytes;
        } else {
            s.table = t.data;
            s.table_stride = row_bytes(t.type, s.width);
            store.mapped_bytes_ += t.bytes;
        }
    }
    return store;
}

}  // namespace ridge
