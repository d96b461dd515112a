// Attention over one span: every set and cache type against double precision computed from the page
// as kv_page.hpp lays it out, at odd ranges and head dimensions, with poisoned scratch and unmapped
// memory behind every operand; and bit for bit against itself in other company.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/half.hpp"
#include "kernels/kernel_inputs.hpp"
#include "support/worst_difference.hpp"

namespace ridge {
namespace {

using test::Guarded;
using test::normal_floats;

constexpr KvType all_types[] = {KvType::bf16, KvType::f16, KvType::f32, KvType::int8};
constexpr const char* type_names[] = {"bf16", "f16", "f32", "int8"};
constexpr uint32_t head_dims[] = {8, 16, 64, 80, 96, 128, 256, 7, 33};

float read(const uint8_t* page, KvType type, size_t element) {
    if (type == KvType::int8) return static_cast<float>(static_cast<int8_t>(page[element]));
    if (type == KvType::f32) {
        float f;
        std::memcpy(&f, page + 4 * element, 4);
        return f;
    }
    uint16_t h;
    std::memcpy(&h, page + 2 * element, 2);
    return type == KvType::f16 ? f32_from_f16(h) : f32_from_bf16(h);
}

// Keys and values as a page holds them, int8 with its scale.
struct Cache {
    std::vector<float> k, v;  // [kv_span][head_dim], scales not yet applied
    std::vector<float> k_scale, v_scale;
};

Cache decoded(const uint8_t* page, KvType type, uint32_t head_dim) {
    Cache c;
    c.k_scale.assign(kv_span, 1.0f);
    c.v_scale.assign(kv_span, 1.0f);
    const bool pairs = type == KvType::bf16 || type == KvType::int8;
    const size_t padded = (head_dim + 15) / 16 * 16;
    const size_t k_rows = pairs ? (head_dim + 1) / 2 * 2 : head_dim;
    for (size_t key = 0; key < kv_span; ++key)
        for (size_t d = 0; d < head_dim; ++d) {
            const size_t k_at =
                pairs ? ((key / 16 * (k_rows / 2) + d / 2) * 16 + key % 16) * 2 + d % 2
                      : (key / 16 * k_rows + d) * 16 + key % 16;
            const size_t v_at = pairs ? (key / 2 * padded + d) * 2 + key % 2 : key * padded + d;
            c.k.push_back(read(page, type, k_at));
            c.v.push_back(read(page, type, kv_span * k_rows + v_at));
        }
    if (type == KvType::int8) {
        const uint8_t* scales = page + kv_span * (k_rows + padded);
        std::memcpy(c.k_scale.data(), scales, 4 * kv_span);
        std::memcpy(c.v_scale.data(), scales + 4 * kv_span, 4 * kv_span);
    }
    return c;
}

struct Problem {
    KvType type;
    uint32_t head_dim;
    size_t padded;
    Guarded<uint8_t> page;
    Guarded<float> q;
    std::vector<uint16_t> lo, hi;
    float softcap = 0.0f;

    Problem(const AttendKernels& kernels, KvType t, uint32_t dim, uint32_t n_q, uint32_t seed,
            float size = 1.0f)
        : type(t),
          head_dim(dim),
          padded(kv_padded(dim)),
          page(kv_page_bytes(t, dim)),
          // scores of deviation 1.5: many keys matter
          q(normal_floats(n_q * dim, seed, 1.5f / std::sqrt(static_cast<float>(dim)) / size)),
          lo(n_q, 0),
          hi(n_q, kv_span) {
        std::memset(page.data(), 0, page.size());
        const std::vector<float> k = normal_floats(kv_span * dim, seed + 1, size);
        const std::vector<float> v = normal_floats(kv_span * dim, seed + 2, size);
        Guarded<float> one_k(dim);
        Guarded<float> one_v(dim);
        for (uint32_t slot = 0; slot < kv_span; ++slot) {
            std::copy_n(k.begin() + slot * dim, dim, one_k.data());
            std::copy_n(v.begin() + slot * dim, dim, one_v.data());
            kernels.write(page.data(), type, dim, slot, one_k.data(), one_v.data());
        }
    }
};

struct Answer {
    std::vector<float> m, l, o;  // o: [n_q][padded]
};

// n queries as span takes them: rounded where pages are paired, padded with zeros.
void as_span_takes(const AttendKernels& kernels, const Problem& p, const float* q, uint32_t n,
                   uint8_t* out) {
    Guarded<float> scratch(p.padded);
    HeadArgs args{};
    args.x = q;
    args.x_stride = p.head_dim;
    args.rows = n;
    args.heads = 1;
    args.head_dim = p.head_dim;
    args.scale = 1.0f;
    args.bf16 = kv_paired(p.type);
    args.out = out;
    args.scratch = scratch.data();
    kernels.heads(args);
}

// Queries [first, first + n) of the problem in one call.
Answer run(const AttendKernels& kernels, const Problem& p, uint32_t first, uint32_t n) {
    Guarded<float> m(n), l(n), o(n * p.padded);
    Guarded<uint8_t> scratch((attend_scratch_bytes(p.head_dim) + 63) / 64 * 64);
    const Guarded<float> floats(
        std::vector<float>(p.q.data() + first * p.head_dim, p.q.data() + (first + n) * p.head_dim));
    Guarded<uint8_t> q(n * p.padded * (kv_paired(p.type) ? 2 : 4));
    as_span_takes(kernels, p, floats.data(), n, q.data());
    const Guarded<uint16_t> lo(
        std::vector<uint16_t>(p.lo.begin() + first, p.lo.begin() + first + n));
    const Guarded<uint16_t> hi(
        std::vector<uint16_t>(p.hi.begin() + first, p.hi.begin() + first + n));
    AttendArgs args{};
    args.page = p.page.data();
    args.type = p.type;
    args.head_dim = p.head_dim;
    args.q = q.data();
    args.n_q = n;
    args.lo = lo.data();
    args.hi = hi.data();
    args.m = m.data();
    args.l = l.data();
    args.o = o.data();
    args.o_stride = p.padded;
    args.softcap = p.softcap;
    args.scratch = scratch.data();
    kernels.span(args);
    return {m.copy(), l.copy(), o.copy()};
}

double as_bf16(double x) {
    return static_cast<double>(f32_from_bf16(bf16_from_f32(static_cast<float>(x))));
}

// The contract in double precision. Scores may differ by their f32 rounding, so p by about 2e-5
// relative and, where it then rounds to the other neighbour, one p by an ulp of bf16.
void expect_answer(const Problem& p, const Answer& a) {
    const Cache c = decoded(p.page.data(), p.type, p.head_dim);
    const bool rounds = kv_paired(p.type);
    for (size_t i = 0; i < p.lo.size(); ++i) {
        SCOPED_TRACE("query " + std::to_string(i) + ", keys " + std::to_string(p.lo[i]) + " to " +
                     std::to_string(p.hi[i]));
        std::vector<double> s(kv_span, 0.0);
        double m = -std::numeric_limits<double>::infinity();
        double size = 0.0;
        for (size_t key = p.lo[i]; key < p.hi[i]; ++key) {
            double terms = 0.0;
            for (size_t d = 0; d < p.head_dim; ++d) {
                const auto q = static_cast<double>(p.q[i * p.head_dim + d]);
                const double term =
                    (rounds ? as_bf16(q) : q) * static_cast<double>(c.k[key * p.head_dim + d]);
                s[key] += term;
                terms += std::abs(term);
            }
            s[key] *= static_cast<double>(c.k_scale[key]);
            size = std::max(size, terms * static_cast<double>(c.k_scale[key]));
            if (p.softcap != 0.0f) {
                const auto cap = static_cast<double>(p.softcap);
                s[key] = cap * std::tanh(s[key] / cap);
            }
            m = std::max(m, s[key]);
        }
        if (p.lo[i] >= p.hi[i]) {
            EXPECT_EQ(-std::numeric_limits<float>::infinity(), a.m[i]);
            EXPECT_EQ(0.0f, a.l[i]);
            for (size_t d = 0; d < p.padded; ++d) EXPECT_EQ(0.0f, a.o[i * p.padded + d]);
            continue;
        }
        const double slack = 1e-6 * size + 1e-6;  // of a score
        EXPECT_NEAR(m, static_cast<double>(a.m[i]), slack);
        // p relative to the kernel's own maximum, so that its rounding does not shift all of them
        const auto top = static_cast<double>(a.m[i]);
        const double ulp = rounds ? 1.0 / 128 : 0.0;
        double l = 0.0;
        std::vector<double> weight(kv_span, 0.0);
        for (size_t key = p.lo[i]; key < p.hi[i]; ++key) {
            const double e = std::exp(s[key] - top);
            l += p.type == KvType::bf16 ? as_bf16(e) : e;
            const double scaled = e * static_cast<double>(c.v_scale[key]);
            weight[key] = rounds ? as_bf16(scaled) : scaled;
        }
        EXPECT_NEAR(l, static_cast<double>(a.l[i]),
                    2.0 * slack * l + (p.type == KvType::bf16 ? ulp : 0.0));
        for (size_t d = 0; d < p.head_dim; ++d) {
            double o = 0.0, total = 0.0, largest = 0.0;
            for (size_t key = p.lo[i]; key < p.hi[i]; ++key) {
                const double term = weight[key] * static_cast<double>(c.v[key * p.head_dim + d]);
                o += term;
                total += std::abs(term);
                largest = std::max(largest, std::abs(term));
            }
            ASSERT_NEAR(o, static_cast<double>(a.o[i * p.padded + d]),
                        2.0 * slack * total + ulp * largest)
                << "dimension " << d;
        }
        for (size_t d = p.head_dim; d < p.padded; ++d) EXPECT_EQ(0.0f, a.o[i * p.padded + d]);
    }
}

// Ranges as prefill, decode, windows and padding make them: empty, one key, odd ends, group
// borders.
void odd_ranges(Problem& p, uint32_t seed) {
    const uint16_t fixed[][2] = {{0, 256}, {0, 1},   {5, 5},     {255, 256}, {15, 17},   {16, 32},
                                 {0, 0},   {1, 255}, {100, 131}, {31, 32},   {240, 255}, {0, 129}};
    std::mt19937 engine(seed);
    for (size_t i = 0; i < p.lo.size(); ++i) {
        auto a = static_cast<uint32_t>(engine() % 257), b = static_cast<uint32_t>(engine() % 257);
        if ((i + seed) % 2 == 0) {
            a = fixed[(i / 2 + seed) % std::size(fixed)][0];
            b = fixed[(i / 2 + seed) % std::size(fixed)][1];
        }
        p.lo[i] = static_cast<uint16_t>(std::min(a, b));
        p.hi[i] = static_cast<uint16_t>(std::max(a, b));
    }
}

template <class Body>
void for_every(Body body) {
    for (const KernelSet* set : test::supported_sets())
        for (KvType type : all_types)
            for (uint32_t dim : head_dims) {
                SCOPED_TRACE(std::string(set->name) + ", " + type_names[static_cast<size_t>(type)] +
                             ", head dimension " + std::to_string(dim));
                body(*set->attend, type, dim);
                if (testing::Test::HasFailure()) return;
            }
}

TEST(AttendKernels, SetsAreNamed) {
    for (const KernelSet* set : test::supported_sets()) EXPECT_STREQ(set->name, set->attend->set);
}

TEST(AttendKernels, WriteFillsTheLayoutAndNothingElse) {
    const AttendKernels& ref = *kernel_sets().back().attend;
    for_every([&](const AttendKernels& kernels, KvType type, uint32_t dim) {
        const std::vector<float> k = normal_floats(dim, 21, 30.0f);
        const std::vector<float> v = normal_floats(dim, 22, 30.0f);
        for (uint32_t slot : {0u, 1u, 17u, 254u, 255u}) {
            std::vector<uint8_t> page(kv_page_bytes(type, dim), 0);
            std::vector<uint8_t> same(page);
            kernels.write(page.data(), type, dim, slot, k.data(), v.data());
            ref.write(same.data(), type, dim, slot, k.data(), v.data());
            EXPECT_EQ(same, page);
            const Cache c = decoded(page.data(), type, dim);
            for (size_t key = 0; key < kv_span; ++key)
                for (size_t d = 0; d < dim; ++d) {
                    const float ks = type == KvType::int8 ? c.k_scale[key] : 1.0f;
                    const float vs = type == KvType::int8 ? c.v_scale[key] : 1.0f;
                    const float wanted_k = key == slot ? k[d] : 0.0f;
                    const float wanted_v = key == slot ? v[d] : 0.0f;
                    const float relative = type == KvType::f32    ? 0.0f
                                           : type == KvType::f16  ? 1.0f / 2048
                                           : type == KvType::bf16 ? 1.0f / 256
                                                                  : 0.0f;
                    ASSERT_NEAR(wanted_k, c.k[key * dim + d] * ks,
                                std::abs(wanted_k) * relative +
                                    (type == KvType::int8 ? 0.501f * ks : 0.0f));
                    ASSERT_NEAR(wanted_v, c.v[key * dim + d] * vs,
                                std::abs(wanted_v) * relative +
                                    (type == KvType::int8 ? 0.501f * vs : 0.0f));
                }
            if (type == KvType::int8) {
                float absmax = 0.0f;
                for (float x : k) absmax = std::max(absmax, std::abs(x));
                EXPECT_EQ(absmax / 127.0f, c.k_scale[slot]);
            }
            // all nonzero bytes of a page of ones belong to elements or scales: padding stays zero
            const std::vector<float> ones(dim, 1.0f);
            std::vector<uint8_t> filled(page.size(), 0);
            for (uint32_t s = 0; s < kv_span; ++s)
                kernels.write(filled.data(), type, dim, s, ones.data(), ones.data());
            const size_t element = kv_element_bytes(type);
            const size_t live = static_cast<size_t>(std::count_if(
                filled.begin(), filled.begin() + static_cast<ptrdiff_t>(kv_scale_offset(type, dim)),
                [](uint8_t b) { return b != 0; }));
            EXPECT_LE(live, 2 * kv_span * dim * element);
        }
    });
}

TEST(AttendKernels, AGroupIsWrittenAsItsPositions) {
    for_every([&](const AttendKernels& kernels, KvType type, uint32_t dim) {
        for (uint32_t group : {0u, 3u, 15u})
            for (float size : {30.0f, 1e5f, 1e-32f}) {
                const size_t stride = dim + 5;
                std::vector<float> k = normal_floats(15 * stride + dim, 23, size);
                std::vector<float> v = normal_floats(15 * stride + dim, 24, size);
                std::fill_n(k.begin(), dim, 0.0f);
                std::fill_n(v.begin() + static_cast<ptrdiff_t>(stride), dim, 0.0f);
                std::vector<uint8_t> one_by_one(kv_page_bytes(type, dim), 0);
                for (uint32_t i = 0; i < 16; ++i)
                    kernels.write(one_by_one.data(), type, dim, 16 * group + i, &k[i * stride],
                                  &v[i * stride]);
                Guarded<uint8_t> at_once(kv_page_bytes(type, dim));
                std::memset(at_once.data(), 0, at_once.size());
                const Guarded<float> keys(k);
                const Guarded<float> values(v);
                kernels.write_group(at_once.data(), type, dim, group, keys.data(), stride,
                                    values.data(), stride);
                EXPECT_EQ(one_by_one, at_once.copy()) << "group " << group << ", size " << size;
            }
    });
}

// Norm, rotation and scale against double precision, whole heads, and against themselves one by
// one; bf16 is the f32 answer rounded.
TEST(AttendKernels, HeadsAreNormedRotatedAndScaled) {
    for (const KernelSet* set : test::supported_sets())
        for (uint32_t dim : head_dims)
            for (bool with_norm : {false, true})
                for (uint32_t n_rot : {0u, dim / 4 * 2, dim / 2 * 2}) {
                    SCOPED_TRACE(std::string(set->name) + ", head dimension " +
                                 std::to_string(dim) + ", rotated " + std::to_string(n_rot) +
                                 (with_norm ? ", normed" : ""));
                    const uint32_t rows = 5, heads = 3;
                    const size_t stride = heads * dim + 7, padded = kv_padded(dim);
                    const Guarded<float> x(normal_floats((rows - 1) * stride + heads * dim, 25));
                    const Guarded<float> norm(normal_floats(dim, 26));
                    const Guarded<float> table(normal_floats(rows * n_rot + 1, 27));
                    Guarded<float> scratch(padded);
                    HeadArgs args{};
                    args.x = x.data();
                    args.x_stride = stride;
                    args.rows = rows;
                    args.heads = heads;
                    args.head_dim = dim;
                    args.norm = with_norm ? norm.data() : nullptr;
                    args.epsilon = 1e-5f;
                    args.cos_sin = table.data();
                    args.n_rot = n_rot;
                    args.scale = 0.125f;
                    args.scratch = scratch.data();
                    Guarded<float> out(rows * heads * padded);
                    args.out = out.data();
                    set->attend->heads(args);
                    Guarded<uint16_t> rounded(rows * heads * padded);
                    args.out = rounded.data();
                    args.bf16 = true;
                    set->attend->heads(args);
                    for (size_t i = 0; i < rounded.size(); ++i)
                        ASSERT_EQ(bf16_from_f32(out[i]), rounded[i]);
                    args.bf16 = false;
                    args.rows = args.heads = 1;
                    Guarded<float> alone(padded);
                    args.out = alone.data();
                    for (size_t i = 0; i < rows * heads; ++i) {
                        const size_t row = i / heads;
                        args.x = x.data() + row * stride + i % heads * dim;
                        args.cos_sin = table.data() + row * n_rot;
                        set->attend->heads(args);
                        ASSERT_EQ(0, std::memcmp(alone.data(), &out[i * padded], 4 * padded));
                        std::vector<double> y(args.x, args.x + dim);
                        double sum = 0.0;
                        for (double d : y) sum += d * d;
                        if (with_norm)
                            for (size_t d = 0; d < dim; ++d)
                                y[d] *= static_cast<double>(norm[d]) / std::sqrt(sum / dim + 1e-5);
                        for (size_t d = 0; d < n_rot / 2; ++d) {
                            const auto c = static_cast<double>(args.cos_sin[d]);
                            const auto s = static_cast<double>(args.cos_sin[n_rot / 2 + d]);
                            const double a = y[d], b = y[n_rot / 2 + d];
                            y[d] = a * c - b * s;
                            y[n_rot / 2 + d] = b * c + a * s;
                        }
                        for (size_t d = 0; d < padded; ++d)
                            ASSERT_NEAR(d < dim ? 0.125 * y[d] : 0.0, static_cast<double>(alone[d]),
                                        2e-6)
                                << "head " << i << ", dimension " << d;
                    }
                }
}

TEST(AttendKernels, F16CacheSaturatesInsteadOfHoldingInfinity) {
    for (const KernelSet* set : test::supported_sets()) {
        std::vector<uint8_t> page(kv_page_bytes(KvType::f16, 16), 0);
        const std::vector<float> big(16, 1e6f);
        const std::vector<float> small(16, -1e6f);
        set->attend->write(page.data(), KvType::f16, 16, 3, big.data(), small.data());
        const Cache c = decoded(page.data(), KvType::f16, 16);
        EXPECT_EQ(65504.0f, c.k[3 * 16]) << set->name;
        EXPECT_EQ(-65504.0f, c.v[3 * 16]) << set->name;
    }
}

TEST(AttendKernels, SpanMeetsTheContract) {
    for_every([](const AttendKernels& kernels, KvType type, uint32_t dim) {
        // other numbers of queries give the same bits: next test
        for (uint32_t n_q : {1u, 3u, 13u, 32u}) {
            SCOPED_TRACE(std::to_string(n_q) + " queries");
            Problem p(kernels, type, dim, n_q, 31 + n_q);
            odd_ranges(p, dim + n_q);
            expect_answer(p, run(kernels, p, 0, n_q));
            if (testing::Test::HasFailure()) return;
        }
    });
}

// Scores of deviation 1.5 under caps that bend them: a little, and so that the largest meet.
TEST(AttendKernels, CappedScoresMeetTheContract) {
    for_every([](const AttendKernels& kernels, KvType type, uint32_t dim) {
        for (const float cap : {4.0f, 0.75f}) {
            SCOPED_TRACE("cap " + std::to_string(cap));
            Problem p(kernels, type, dim, 13, 32);
            odd_ranges(p, dim + 13);
            const Answer plain = run(kernels, p, 0, 13);
            p.softcap = cap;
            const Answer capped = run(kernels, p, 0, 13);
            EXPECT_NE(plain.l, capped.l);
            expect_answer(p, capped);
            for (uint32_t first = 0; first < 13; first += 5) {
                const uint32_t n = std::min(5u, 13 - first);
                const Answer some = run(kernels, p, first, n);
                ASSERT_EQ(0, std::memcmp(some.o.data(), capped.o.data() + first * p.padded,
                                         4 * n * p.padded));
            }
            if (testing::Test::HasFailure()) return;
        }
    });
}

TEST(AttendKernels, AQueryDoesNotDependOnItsCompany) {
    for_every([](const AttendKernels& kernels, KvType type, uint32_t dim) {
        const uint32_t n_q = attend_max_queries;
        Problem p(kernels, type, dim, n_q, 41);
        odd_ranges(p, dim);
        const Answer all = run(kernels, p, 0, n_q);
        // ref computes queries one by one: two batches tell
        const bool ref = std::string(kernels.set) == "ref";
        for (uint32_t batch : ref ? std::vector<uint32_t>{1, 5}
                                  : std::vector<uint32_t>{1, 2, 3, 4, 5, 6, 7, 8, 11, 16})
            for (uint32_t first = 0; first < n_q; first += batch) {
                const uint32_t n = std::min(batch, n_q - first);
                const Answer some = run(kernels, p, first, n);
                ASSERT_EQ(0, std::memcmp(some.m.data(), all.m.data() + first, 4 * n));
                ASSERT_EQ(0, std::memcmp(some.l.data(), all.l.data() + first, 4 * n));
                ASSERT_EQ(0, std::memcmp(some.o.data(), all.o.data() + first * p.padded,
                                         4 * n * p.padded))
                    << batch << " queries from " << first;
            }
        // other ranges for the others
        Problem other(kernels, type, dim, n_q, 41);
        odd_ranges(other, dim + 1);
        for (uint32_t i = 0; i < n_q; i += 3) {
            other.lo[i] = p.lo[i];
            other.hi[i] = p.hi[i];
        }
        const Answer changed = run(kernels, other, 0, n_q);
        for (uint32_t i = 0; i < n_q; i += 3) {
            ASSERT_EQ(0, std::memcmp(&changed.l[i], &all.l[i], 4));
            ASSERT_EQ(0, std::memcmp(&changed.o[i * p.padded], &all.o[i * p.padded], 4 * p.padded));
        }
    });
}

// What lies in slots that a query does not see (stale or later positions) changes nothing.
TEST(AttendKernels, InvisibleSlotsDoNotMatter) {
    for_every([](const AttendKernels& kernels, KvType type, uint32_t dim) {
        const uint32_t n_q = 9;
        Problem p(kernels, type, dim, n_q, 51);
        for (uint32_t i = 0; i < n_q; ++i) {
            p.lo[i] = static_cast<uint16_t>(37 + 3 * i);
            p.hi[i] = static_cast<uint16_t>(120 + 5 * i);
        }
        const Answer before = run(kernels, p, 0, n_q);
        const std::vector<float> stale = normal_floats(dim, 52, 1e4f);
        for (uint32_t slot = 0; slot < kv_span; ++slot)
            if (slot < 37 || slot >= 120 + 5 * (n_q - 1))
                kernels.write(p.page.data(), type, dim, slot, stale.data(), stale.data());
        const Answer after = run(kernels, p, 0, n_q);
        EXPECT_EQ(before.m, after.m);
        EXPECT_EQ(before.l, after.l);
        EXPECT_EQ(before.o, after.o);
    });
}

TEST(AttendKernels, LargeMagnitudesStayFinite) {
    for_every([](const AttendKernels& kernels, KvType type, uint32_t dim) {
        Problem p(kernels, type, dim, 8, 61, type == KvType::f16 ? 1e4f : 1e5f);
        for (size_t i = 0; i < p.q.size(); ++i) p.q[i] *= 1e4f;  // scores of 1e4: one key takes all
        const Answer a = run(kernels, p, 0, 8);
        for (size_t i = 0; i < 8; ++i) {
            EXPECT_TRUE(std::isfinite(a.m[i]));
            EXPECT_GE(a.l[i], 1.0f);
            EXPECT_LE(a.l[i], 256.0f);
        }
        for (float o : a.o) EXPECT_TRUE(std::isfinite(o));
    });
}

TEST(AttendKernels, MergeOfSpansIsTheSoftmaxOfAll) {
    const float none = -std::numeric_limits<float>::infinity();
    for (const KernelSet* set : test::supported_sets())
        for (size_t n : {1u, 7u, 16u, 33u, 64u, 80u})
            for (float gap : {0.0f, 0.7f, -0.7f, 20.0f, -20.0f, 86.0f, -86.0f, 1e4f, -1e4f}) {
                SCOPED_TRACE(std::string(set->name) + ", n = " + std::to_string(n));
                const std::vector<float> o1 = normal_floats(n, 71);
                const Guarded<float> o2(normal_floats(n, 72));
                Guarded<float> o(o1);
                float m = 3.0f, l = 2.5f;
                const float m2 = 3.0f + gap, l2 = 1.25f;
                set->attend->merge(&m, &l, o.data(), m2, l2, o2.data(), n);
                const double top = std::max(3.0, static_cast<double>(m2));
                const double a = std::exp(3.0 - top), b = std::exp(static_cast<double>(m2) - top);
                EXPECT_EQ(static_cast<float>(top), m);
                EXPECT_NEAR(2.5 * a + 1.25 * b, static_cast<double>(l), 2e-6);
                for (size_t i = 0; i < n; ++i)
                    EXPECT_NEAR(static_cast<double>(o1[i]) * a + static_cast<double>(o2[i]) * b,
                                static_cast<double>(o[i]), 2e-6);
                // nothing merged into something changes nothing; something into nothing copies it
                const std::vector<float> kept = o.copy();
                const float l_before = l, m_before = m;
                set->attend->merge(&m, &l, o.data(), none, 0.0f, o2.data(), n);
                EXPECT_EQ(kept, o.copy());
                EXPECT_EQ(l_before, l);
                EXPECT_EQ(m_before, m);
                m = none;
                l = 0.0f;
                set->attend->merge(&m, &l, o.data(), m2, l2, o2.data(), n);
                EXPECT_EQ(o2.copy(), o.copy());
                EXPECT_EQ(m2, m);
                EXPECT_EQ(l2, l);
                Guarded<float> out(n);
                set->attend->finish(l, o.data(), out.data(), n);
                for (size_t i = 0; i < n; ++i) EXPECT_EQ(o2[i] * (1.0f / l2), out[i]);
                o.poison();
                set->attend->finish(0.0f, o.data(), out.data(), n);
                EXPECT_EQ(std::vector<float>(n, 0.0f), out.copy());
            }
}

// exp over its whole domain, seen through merge: l = exp(m2 - m).
TEST(AttendKernels, ExpStaysWithinItsBound) {
    for (const KernelSet* set : test::supported_sets()) {
        test::WorstDifference worst;  // of shares
        for (uint32_t bits = 0; bits < 0x42b00000u; bits += bits < 0x38000000u ? 1u << 20 : 997u) {
            const float x = -f32_from_bits(bits);
            float m = 0.0f, l = 0.0f;
            float o = 0.0f;
            const float o2 = 0.0f;
            set->attend->merge(&m, &l, &o, x, 1.0f, &o2, 1);
            if (x < -87.33f) {
                ASSERT_EQ(0.0f, l) << x;
            } else {
                const double e = std::exp(static_cast<double>(x));
                worst.add(static_cast<double>(l) / e, 1.0);
            }
        }
        EXPECT_LE(worst.value(), 2e-7) << set->name;
        RecordProperty(std::string("worst_") + set->name,
                       std::to_string(worst.value() * 1e9) + "e-9");
    }
}

}  // namespace
}  // namespace ridge
