// Whole models quantized, importance matrices, and what goes wrong on the way.
#include "format/quantize_model.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <limits>

#include "format/dequantize.hpp"
#include "format/gguf_writer.hpp"
#include "format/imatrix.hpp"
#include "format/quantize_fit.hpp"
#include "gguf_bytes.hpp"
#include "support/random_model.hpp"

namespace ridge {
namespace {

namespace fs = std::filesystem;

class QuantizeModel : public testing::Test {
  protected:
    void SetUp() override {
        ShapeConfig c;
        c.name = "in";
        c.embedding_length = 256;
        c.feed_forward_length = 320;
        c.key_length = 32;
        in_ = test::write_model(dir_, c);
    }
    Result<QuantizeReport> run(const QuantizeOptions& options) {
        return quantize_model(in_, dir_.file("out.gguf"), options);
    }
    // Nothing but the input is in the folder.
    void nothing_left() {
        for (const auto& entry : fs::directory_iterator(dir_.path()))
            EXPECT_EQ(entry.path().string(), in_);
    }
    test::TempDir dir_;
    std::string in_;
};

TEST_F(QuantizeModel, TensorsHoldWhatTheQuantizerMakesOfTheirRows) {
    for (const unsigned threads : {1u, 3u}) {
        QuantizeOptions o;
        o.threads = threads;
        const auto report = run(o);
        ASSERT_TRUE(report) << report.error().message;
        const auto before = GgufFile::open(in_), after = GgufFile::open(dir_.file("out.gguf"));
        ASSERT_TRUE(before && after);
        EXPECT_EQ(after->get_uint("general.file_type"), 15u);
        EXPECT_EQ(after->get_uint("general.quantization_version"), 2u);
        for (const std::string& key : before->keys())
            if (key != "general.file_type") {
                EXPECT_EQ(before->describe(key), after->describe(key));
            }
        ASSERT_EQ(report->tensors.size(), before->tensors().size());
        uint64_t bytes = 0;
        size_t fallbacks = 0;
        for (const auto& t : report->tensors) {
            const TensorInfo *from = before->find(t.name), *to = after->find(t.name);
            ASSERT_TRUE(from != nullptr && to != nullptr) << t.name;
            EXPECT_EQ(to->type, t.to);
            EXPECT_EQ(to->dims, from->dims);
            bytes += to->bytes;
            fallbacks += t.wanted != t.to ? 1 : 0;
            std::vector<float> values(from->elements());
            dequantize(from->type, from->data, values.size(), values.data());
            std::vector<uint8_t> expected(to->bytes);
            quantize_fit(t.to, values.data(), values.size(), nullptr, expected.data());
            EXPECT_EQ(std::memcmp(expected.data(), to->data, to->bytes), 0) << t.name;
        }
        EXPECT_EQ(report->bytes_out, bytes);
        EXPECT_EQ(fallbacks, 2u);  // ffn_down
    }
}

TEST_F(QuantizeModel, ImportanceInBothFormsGivesTheSameFile) {
    std::vector<float> sums(256);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = i % 16 == 3 ? 400.0f : 0.4f;
    GgufWriter writer;
    const std::vector<float> count = {4.0f};
    ASSERT_TRUE(writer.add_tensor("blk.0.attn_q.weight.in_sum2", DType::f32, {256}, sums.data()));
    ASSERT_TRUE(writer.add_tensor("blk.0.attn_q.weight.counts", DType::f32, {1}, count.data()));
    ASSERT_TRUE(writer.write(dir_.file("new.imatrix")));
    test::Bytes old;
    old.put<int32_t>(1).put<int32_t>(19).raw("blk.0.attn_q.weight");
    old.put<int32_t>(4).put<int32_t>(256);
    old.raw({reinterpret_cast<const char*>(sums.data()), 1024});
    old.put<int32_t>(4).put<int32_t>(1).raw("x");  // what the data was made from
    dir_.write("old.imatrix", old.text());

    QuantizeOptions o;
    o.target = "Q4_0";
    ASSERT_TRUE(run(o));
    const std::string plain = test::read_file(dir_.file("out.gguf"));
    o.importance = dir_.file("new.imatrix");
    const auto report = run(o);
    ASSERT_TRUE(report) << report.error().message;
    for (const auto& t : report->tensors) EXPECT_EQ(t.weighted, t.name == "blk.0.attn_q.weight");
    const std::string weighted = test::read_file(dir_.file("out.gguf"));
    o.importance = dir_.file("old.imatrix");
    ASSERT_TRUE(run(o));
    EXPECT_EQ(test::read_file(dir_.file("out.gguf")), weighted);
    EXPECT_NE(weighted, plain);
    const auto over = quantize_model(in_, o.importance, o);
    ASSERT_FALSE(over);
    EXPECT_EQ(over.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(test::read_file(o.importance), old.text());

    const auto before = GgufFile::open(in_), after = GgufFile::open(dir_.file("out.gguf"));
    const TensorInfo *from = before->find("blk.0.attn_q.weight"),
                     *to = after->find("blk.0.attn_q.weight");
    for (float& v : sums) v /= 4.0f;
    std::vector<uint8_t> expected(row_bytes(DType::q4_0, 256));
    quantize_fit(DType::q4_0, reinterpret_cast<const float*>(from->data), 256, sums.data(),
                 expected.data());
    EXPECT_EQ(std::memcmp(expected.data(), to->data, expected.size()), 0);
}

TEST_F(QuantizeModel, ProgressRisesAndStops) {
    QuantizeOptions o;
    double last = 0;
    o.progress = [&](double share) {
        EXPECT_GT(share, last);
        last = share;
        return true;
    };
    ASSERT_TRUE(run(o));
    EXPECT_EQ(last, 1.0);
    fs::remove(dir_.file("out.gguf"));
    for (const unsigned threads : {1u, 4u}) {
        o.threads = threads;
        std::atomic<int> calls{0};
        o.progress = [&](double) { return ++calls < 20; };
        const auto report = run(o);
        ASSERT_FALSE(report);
        EXPECT_EQ(report.error().code, ErrorCode::cancelled);
        nothing_left();
    }
}

TEST_F(QuantizeModel, ADiskThatFillsLeavesNothing) {
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    rlimit small = before;
    small.rlim_cur = 100000;
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    const auto report = run({});
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, ErrorCode::io);
    EXPECT_NE(report.error().message.find("out.gguf"), std::string::npos);
    nothing_left();
}

TEST_F(QuantizeModel, RefusesWhatMakesNoSense) {
    QuantizeOptions o;
    o.target = "Q9_9";
    EXPECT_NE(run(o).error().message.find("choose one of F32"), std::string::npos);
    o.target = "Q8_0";
    EXPECT_NE(quantize_model(in_, in_, o).error().message.find("another name"), std::string::npos);
    EXPECT_EQ(quantize_model(dir_.file("absent"), dir_.file("o"), o).error().code,
              ErrorCode::not_found);
    o.importance = dir_.file("absent");
    EXPECT_EQ(run(o).error().code, ErrorCode::not_found);
    o.importance.clear();
    nothing_left();

    ASSERT_TRUE(run(o));
    const std::string q8 = dir_.file("out.gguf");
    o.target = "Q4_0";
    const auto again = quantize_model(q8, dir_.file("twice.gguf"), o);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, ErrorCode::unsupported);
    EXPECT_NE(again.error().message.find("--allow-requantize"), std::string::npos);
    o.target = "F32";  // nothing is lost by that
    EXPECT_TRUE(quantize_model(q8, dir_.file("twice.gguf"), o));
    o.target = "Q4_0";
    o.allow_requantize = true;
    EXPECT_TRUE(quantize_model(q8, dir_.file("twice.gguf"), o));
}

TEST_F(QuantizeModel, WeightsThatAreNoNumbersAreDamage) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        GgufWriter writer;
        std::vector<float> values(64 * 64, 0.5f);
        values[64 * 5 + 3] = bad;
        writer.set("general.architecture", "llama");
        ASSERT_TRUE(writer.add_tensor("blk.0.ffn_up.weight", DType::f32, {64, 64}, values.data()));
        in_ = dir_.file("in.gguf");
        ASSERT_TRUE(writer.write(in_));
        QuantizeOptions o;
        o.target = "Q4_0";
        const auto report = run(o);
        ASSERT_FALSE(report);
        EXPECT_EQ(report.error().code, ErrorCode::bad_file);
        EXPECT_NE(report.error().message.find("row 5"), std::string::npos);
        nothing_left();
    }
}

TEST_F(QuantizeModel, ExpertsAreRefusedByName) {
    GgufWriter writer;
    writer.set("general.architecture", "llama");
    writer.set("llama.expert_count", uint32_t{8});
    ASSERT_TRUE(writer.write(dir_.file("moe.gguf")));
    const auto report = quantize_model(dir_.file("moe.gguf"), dir_.file("out.gguf"), {});
    ASSERT_FALSE(report);
    EXPECT_NE(report.error().message.find("mixture of experts"), std::string::npos);
}

TEST_F(QuantizeModel, ImportanceOfAnotherModelIsRefused) {
    test::Bytes other;
    other.put<int32_t>(1).put<int32_t>(19).raw("blk.0.attn_q.weight");
    other.put<int32_t>(1).put<int32_t>(2).put(1.0f).put(1.0f);
    QuantizeOptions o;
    o.importance = dir_.write("m", other.text());
    const auto report = run(o);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(report.error().message.find("another model"), std::string::npos);
}

TEST(Imatrix, HostileFilesGetASentence) {
    const test::TempDir dir;
    const auto entry = [](int32_t length, int32_t n, std::string_view values) {
        return test::Bytes().put<int32_t>(1).put(length).raw("abc").put<int32_t>(1).put(n).raw(
            values);
    };
    const float good = 2.0f, negative = -1.0f, nan = std::numeric_limits<float>::quiet_NaN();
    const auto raw = [](const float& f) {
        return std::string_view(reinterpret_cast<const char*>(&f), 4);
    };
    const auto open = [&](const std::string& bytes) {
        return ImportanceMatrix::open(dir.write("m", bytes));
    };
    const auto fine = open(entry(3, 1, raw(good)).text());
    ASSERT_TRUE(fine) << fine.error().message;
    ASSERT_NE(fine->find("abc"), nullptr);
    EXPECT_EQ(*fine->find("abc"), std::vector<float>{2.0f});
    EXPECT_EQ(fine->find("abd"), nullptr);
    const std::string whole = entry(3, 1, raw(good)).text();
    for (size_t n = 1; n < whole.size(); ++n) EXPECT_FALSE(open(whole.substr(0, n))) << n;
    std::vector<std::string> bad = {entry(3, 1, raw(negative)).text(),
                                    entry(3, 1, raw(nan)).text(),
                                    entry(-1, 1, raw(good)).text(),
                                    entry(3, -1, raw(good)).text(),
                                    entry(INT32_MAX, 1, raw(good)).text(),
                                    entry(3, INT32_MAX, raw(good)).text(),
                                    test::Bytes().put(INT32_MAX).zeros(64).text(),
                                    std::string(64, '\0')};
    test::Bytes twice;
    twice.put<int32_t>(2);
    for (int i = 0; i < 2; ++i)
        twice.put<int32_t>(3).raw("abc").put<int32_t>(1).put<int32_t>(1).put(good);
    bad.push_back(twice.text());
    for (const std::string& bytes : bad) {
        const auto m = open(bytes);
        ASSERT_FALSE(m);
        EXPECT_EQ(m.error().code, ErrorCode::bad_file);
        EXPECT_EQ(m.error().message.back(), '.');
    }
    const std::vector<float> values(12, 1.0f);
    const auto gguf = [&](const char* sums, uint64_t n, const char* counts, uint64_t c) {
        GgufWriter writer;
        if (sums != nullptr) {
            EXPECT_TRUE(writer.add_tensor(sums, DType::f32, {n}, values.data()));
        }
        if (counts != nullptr) {
            EXPECT_TRUE(writer.add_tensor(counts, DType::f32, {c}, values.data()));
        }
        EXPECT_TRUE(writer.write(dir.file("g")));
        return ImportanceMatrix::open(dir.file("g"));
    };
    EXPECT_TRUE(gguf("a.in_sum2", 12, "a.counts", 3));
    EXPECT_FALSE(gguf("a.in_sum2", 12, "a.counts", 5));
    EXPECT_FALSE(gguf("a.in_sum2", 12, nullptr, 0));
    EXPECT_FALSE(gguf("a.in_sum2", 12, "b.counts", 3));
    EXPECT_FALSE(gguf(nullptr, 0, nullptr, 0));
}

}  // namespace
}  // namespace ridge
