// Attention of a span: one query row with the heads that share its keys, and 32 queries of a
// prompt.
#include <cstring>

#include "bench/kernels/caps.hpp"
#include "bench/kernels/harness.hpp"

namespace ridge::bench {
namespace {

const char* type_name(KvType type) {
    switch (type) {
        case KvType::bf16:
            return "bf16";
        case KvType::f16:
            return "f16";
        case KvType::f32:
            return "f32";
        default:
            return "int8";
    }
}

// A full page of random keys and values.
void fill_page(KvType type, uint32_t head_dim, uint8_t* page) {
    const std::vector<float> x = random_floats(2 * kv_span * head_dim, head_dim);
    for (uint32_t slot = 0; slot < kv_span; ++slot) {
        const float* k = x.data() + 2 * slot * head_dim;
        setup().kernels.set->attend->write(page, type, head_dim, slot, k, k + head_dim);
    }
}

struct Operands {
    AlignedBuffer pages;  // where they are not in the shared memory
    AlignedBuffer q;
    std::vector<uint16_t> lo, hi;
    struct Thread {
        AlignedBuffer o, scratch;
        std::vector<float> m, l;
    };
    std::vector<Thread> thread;
};

std::function<void(unsigned, size_t)> prepare(KvType type, uint32_t head_dim, uint32_t queries,
                                              bool in_memory, unsigned threads) {
    const size_t bytes = (kv_page_bytes(type, head_dim) + 63) / 64 * 64;
    const size_t padded = kv_padded(head_dim);
    auto o = std::make_shared<Operands>();
    size_t pages = 1;
    if (in_memory) {
        pages = memory_part / bytes;
        const std::string content =
            std::string("kv ") + type_name(type) + "/" + std::to_string(head_dim);
        if (memory()->content != content) {
            for (size_t t = 0; t < memory()->parts; ++t) {
                uint8_t* part = memory()->part(static_cast<unsigned>(t));
                std::memset(part, 0, bytes);
                fill_page(type, head_dim, part);
                for (size_t i = 1; i < pages; ++i) std::memcpy(part + i * bytes, part, bytes);
            }
            memory()->content = content;
        }
    } else {
        o->pages = buffer(bytes);
        fill_page(type, head_dim, o->pages.data());
    }
    o->q = buffer(queries * padded * sizeof(float));
    const std::vector<float> x = random_floats(queries * padded, 7);
    if (kv_paired(type))
        setup().kernels.set->row->to_bf16(x.data(), x.size(),
                                          reinterpret_cast<uint16_t*>(o->q.data()));
    else
        std::memcpy(o->q.data(), x.data(), x.size() * sizeof(float));
    o->lo.assign(queries, 0);
    o->hi.assign(queries, kv_span);
    for (unsigned t = 0; t < threads; ++t)
        o->thread.push_back({buffer(queries * padded * sizeof(float)),
                             buffer(attend_scratch_bytes(head_dim)), std::vector<float>(queries),
                             std::vector<float>(queries)});
    return [=](unsigned thread, size_t n) {
        Operands::Thread& own = o->thread[thread];
        AttendArgs a{};
        a.page = in_memory ? memory()->part(thread) + n % pages * bytes : o->pages.data();
        a.type = type;
        a.head_dim = head_dim;
        a.q = o->q.data();
        a.n_q = queries;
        a.lo = o->lo.data();
        a.hi = o->hi.data();
        a.m = own.m.data();
        a.l = own.l.data();
        a.o = reinterpret_cast<float*>(own.o.data());
        a.o_stride = padded;
        a.scratch = own.scratch.data();
        setup().kernels.set->attend->span(a);
    };
}

void add_span(KvType type, uint32_t head_dim, uint32_t queries, bool in_memory) {
    Case c;
    c.threads = in_memory ? setup().cores : 1;
    c.name = std::string("attend_span_") + setup().kernels.set->name + "/" + type_name(type) +
             "/head_dim:" + std::to_string(head_dim) + "/queries:" + std::to_string(queries) + "/" +
             (in_memory ? "memory" : "L2") + "/threads:" + std::to_string(c.threads);
    c.operations = 4.0 * head_dim * queries * kv_span;
    c.bytes = static_cast<double>(kv_page_bytes(type, head_dim));
    c.bounds.push_back(
        {kv_paired(type) ? Roof::bf16 : Roof::f32, c.operations, attend_cap(head_dim)});
    if (in_memory) {
        c.bounds.push_back({Roof::memory, c.bytes, 1.0});
    } else if (queries <= 8) {
        c.cached_bytes = kv_page_bytes(type, head_dim);
        c.bounds.push_back({Roof::cached, c.bytes, 1.0});
    }
    const unsigned threads = c.threads;
    c.prepare = [=] { return prepare(type, head_dim, queries, in_memory, threads); };
    add(std::move(c));
}

}  // namespace

void add_attention() {
    for (const KvType type : {KvType::bf16, KvType::int8, KvType::f16, KvType::f32})
        for (const uint32_t head_dim : {64u, 128u, 256u}) {
            for (const uint32_t queries : {1u, 2u, 3u, 4u, 8u})
                add_span(type, head_dim, queries, false);
            add_span(type, head_dim, attend_max_queries, false);
            for (const uint32_t queries : {1u, 2u, 8u}) add_span(type, head_dim, queries, true);
        }
}

}  // namespace ridge::bench
