#include "runtime/rope_tables.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

namespace ridge {
namespace {

// Positions that are filled in together, and that a thread takes at a time.
constexpr uint32_t step = 64;
constexpr uint32_t block = 16;

}  // namespace

struct RopeTables::Job {
    RopeTables* tables;
    uint32_t end;
    std::atomic<uint32_t> next;
};

Result<RopeTables> RopeTables::create(const Program& program, uint32_t context) {
    RopeTables r;
    r.context_ = context;
    size_t floats = 0;
    for (uint32_t t = 0; t < program.n_rope; ++t)
        floats += static_cast<size_t>(program.rope[t].n_rot) * context;
    RIDGE_ASSIGN(r.memory_, AlignedBuffer::allocate(floats * 4));
    float* values = reinterpret_cast<float*>(r.memory_.data());
    for (uint32_t t = 0; t < program.n_rope; ++t) {
        const RopeTable& table = program.rope[t];
        r.layout_.push_back(
            {values, table.n_rot, r.frequencies_.size(), static_cast<double>(table.magnitude)});
        r.tables_.push_back(values);
        const double* factors = context > table.long_context ? table.long_factors : table.factors;
        for (uint32_t i = 0; i < table.n_rot / 2; ++i)
            r.frequencies_.push_back(std::pow(table.base, -2.0 * i / table.n_rot) *
                                     table.frequency_scale /
                                     (factors != nullptr ? factors[i] : 1.0));
        values += static_cast<size_t>(table.n_rot) * context;
    }
    return r;
}

void RopeTables::fill_block(void* job, unsigned thread) {
    (void)thread;
    Job& j = *static_cast<Job*>(job);
    const RopeTables& r = *j.tables;
    for (uint32_t first = j.next.fetch_add(block); first < j.end; first = j.next.fetch_add(block)) {
        const uint32_t last = std::min(first + block, j.end);
        for (const Table& table : r.layout_) {
            const uint32_t half = table.n_rot / 2;
            const double* frequency = &r.frequencies_[table.first_frequency];
            for (uint32_t p = first; p < last; ++p) {
                float* row = table.values + static_cast<size_t>(p) * table.n_rot;
                for (uint32_t i = 0; i < half; ++i) {
                    const double angle = p * frequency[i];
                    row[i] = static_cast<float>(table.magnitude * std::cos(angle));
                    row[half + i] = static_cast<float>(table.magnitude * std::sin(angle));
                }
            }
        }
    }
}

void RopeTables::fill(ThreadTeam& team, uint32_t threads, uint32_t end) {
    if (end <= filled_ || layout_.empty()) return;
    Job job{this, std::min((end + step - 1) / step * step, context_), {filled_}};
    team.run(fill_block, &job, threads);
    filled_ = job.end;
}

}  // namespace ridge
