#include "runtime/weights.hpp"

#include <algorithm>
#include <atomic>

#include "kernels/pack.hpp"
#include "kernels/packed.hpp"

namespace ridge {
namespace {

// Row of the file that packed column `c` holds: heads whose pairs are stored interleaved are read
// in halves (Weight::rope_head).
size_t file_row(const Weight& w, size_t c) {
    if (w.rope_head == 0) return w.first_row + c;
    const size_t half = w.rope_head / 2;
    const size_t head = c / w.rope_head;
    const size_t j = c % w.rope_head;
    return w.first_row + head * w.rope_head + (j < half ? 2 * j : 2 * (j - half) + 1);
}

// Rows of the file that columns first .. last - 1 hold: whole heads where heads are reordered.
struct RowRange {
    size_t first, last;
};
RowRange rows_of(const Weight& w, size_t first, size_t last) {
    const size_t head = std::max<size_t>(w.rope_head, 1);
    last = std::min<size_t>((last + head - 1) / head * head, w.n);
    return {w.first_row + std::min(first / head * head, last), w.first_row + last};
}

// One matrix, or gate and up whose groups share pairs (LoweredStep::interleaved).
struct PackJob {
    const TensorInfo* tensor[2];
    const Weight* weight[2];
    uint32_t n_tensors;
    size_t offset;  // in the packed memory
    size_t pair_bytes;
    size_t pairs;
    size_t tile_pairs;
    size_t first_tile;  // tiles of tile_pairs pairs, numbered over all jobs

    size_t columns() const { return n_tensors == 2 ? group_columns : pair_columns; }  // of a tensor
    size_t row() const { return row_bytes(tensor[0]->type, weight[0]->k); }
    size_t tiles() const { return (pairs + tile_pairs - 1) / tile_pairs; }
    RowRange rows(uint32_t t, size_t tile) const {
        const size_t first = tile * tile_pairs;
        return rows_of(*weight[t], first * columns(), (first + tile_pairs) * columns());
    }
};

// File bytes of a tile: what a thread reads at once and packs out of its second-level cache. More
// is taken where a head or a pair of columns needs it.
constexpr size_t tile_bytes = 256 << 10;

size_t choose_tile_pairs(const PackJob& job) {
    const size_t pair = job.row() * job.columns() * job.n_tensors;
    const size_t head = job.weight[0]->rope_head / job.columns();
    return std::max({std::min<size_t>(tile_bytes / pair, 64), head, size_t{1}});
}

struct Packing {
    const GgufFile* file;
    std::vector<PackJob> jobs;
    uint8_t* memory;
    uint8_t* read;  // read_bytes a thread
    size_t read_bytes = 0;
    size_t tiles = 0;
    std::atomic<size_t> next{0};
    std::atomic<bool> failed{false};
    Status status;  // of the first that failed
    const std::function<void(double)>* progress;
};

// Pointers to the rows of columns first .. first + 15, as far as there are; returns how many.
// `at` holds the file's rows from row `from` on.
size_t group_rows(const PackJob& job, uint32_t t, size_t first, const uint8_t* at, size_t from,
                  const uint8_t** rows) {
    const Weight& w = *job.weight[t];
    const size_t n = first < w.n ? std::min(group_columns, w.n - first) : 0;
    for (size_t c = 0; c < n; ++c) rows[c] = at + (file_row(w, first + c) - from) * job.row();
    return n;
}

// The file is read, not touched through its mapping: pages add up (one touch of a cached file may
// map megabytes), and giving them back tile by tile interrupts all threads each time. Measured on
// Zen 5 in a virtual machine, 340 MB, two threads, tiles of 128 KB: 59 ms; keeping the pages 25,
// reading 27.
Status pack_tile(Packing& p, size_t tile, uint8_t* buffer) {
    auto it = std::upper_bound(p.jobs.begin(), p.jobs.end(), tile,
                               [](size_t t, const PackJob& j) { return t < j.first_tile; });
    const PackJob& job = *--it;
    tile -= job.first_tile;
    const uint8_t* at[2] = {};
    size_t from[2] = {};
    for (uint32_t t = 0; t < job.n_tensors; ++t) {
        const RowRange r = job.rows(t, tile);
        const size_t bytes = (r.last - r.first) * job.row();
        RIDGE_TRY(p.file->read(job.tensor[t]->data + r.first * job.row(), bytes, buffer));
        at[t] = buffer;
        from[t] = r.first;
        buffer += bytes;
    }
    const size_t first = tile * job.tile_pairs;
    const size_t last = std::min(first + job.tile_pairs, job.pairs);
    const uint32_t other = job.n_tensors - 1;  // the tensor of a pair's second group
    for (size_t i = first; i < last; ++i) {
        const uint8_t* rows[pair_columns];
        const size_t column = i * job.columns();
        const size_t n = group_rows(job, 0, column, at[0], from[0], rows);
        const size_t m = group_rows(job, other, other == 1 ? column : column + group_columns,
                                    at[other], from[other], rows + n);
        pack_pair(job.tensor[0]->type, rows, n, m, job.weight[0]->k,
                  p.memory + job.offset + i * job.pair_bytes);
    }
    return {};
}

void pack_worker(void* ctx, unsigned thread) {
    Packing& p = *static_cast<Packing*>(ctx);
    uint8_t* buffer = p.read + thread * p.read_bytes;
    for (size_t tile = p.next.fetch_add(1); tile < p.tiles; tile = p.next.fetch_add(1)) {
        Status s = pack_tile(p, tile, buffer);
        if (!s) {
            if (!p.failed.exchange(true)) p.status = std::move(s);
            p.next = p.tiles;
            return;
        }
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
            store.tensor_bytes_ += row_bytes(tensor->type, w.k) * w.n;
            if (s.interleaved && i == 1) {  // in the pairs of the first
                at = packed_at[static_cast<size_t>(s.segment[0].weight)];
                packing.jobs.back().tensor[1] = tensor;
                packing.jobs.back().weight[1] = &w;
                packing.jobs.back().n_tensors = 2;
                continue;
            }
            at = bytes;
            const size_t pairs = segment_pairs(s, i);
            packing.jobs.push_back({{tensor}, {&w}, 1, at, g.pair_bytes, pairs, 0, 0});
            bytes += pairs * g.pair_bytes;
        }
        for (const WeightId id : {s.norm_weight, s.post_norm_weight, s.k_norm_weight})
            want_vector(id);
    }
    for (PackJob& job : packing.jobs) {
        job.tile_pairs = choose_tile_pairs(job);
        job.first_tile = packing.tiles;
        packing.tiles += job.tiles();
        for (size_t tile = 0; tile < job.tiles(); ++tile) {
            size_t need = 0;
            for (uint32_t t = 0; t < job.n_tensors; ++t)
                need += (job.rows(t, tile).last - job.rows(t, tile).first) * job.row();
            packing.read_bytes = std::max(packing.read_bytes, align64(need));
        }
    }
    RIDGE_ASSIGN(store.packed_, AlignedBuffer::allocate(bytes, true));
    RIDGE_ASSIGN(AlignedBuffer read, AlignedBuffer::allocate(packing.read_bytes * team.size()));
    store.vectors_.resize(floats);
    packing.memory = store.packed_.data();
    packing.read = read.data();
    team.run(pack_worker, &packing, team.size());
    RIDGE_TRY(packing.status);
    if (progress) progress(1.0);

    std::vector<float> in_file;
    for (uint32_t id = 0; id < program.n_weights; ++id) {
        if (vector_at[id] == unset) continue;
        const Weight& w = program.weights[id];
        in_file.resize(w.k);
        RIDGE_TRY(file.read(file.find(w.name)->data + w.first_row * sizeof(float),
                            w.k * sizeof(float), reinterpret_cast<uint8_t*>(in_file.data())));
        for (size_t i = 0; i < w.k; ++i)
            store.vectors_[vector_at[id] + i] = in_file[file_row(w, i) - w.first_row];
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
