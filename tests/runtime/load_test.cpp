// Loading: what is read, from where, and a file that changes meanwhile.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "runtime/rope_tables.hpp"
#include "support/engine.hpp"

namespace ridge {
namespace {

TEST(Load, AFileThatIsCutMeanwhileIsAnError) {
    const test::TempDir dir;
    const std::string path = test::write_model(dir, test::tiny_llama(DType::q8_0));
    const auto size = std::filesystem::file_size(path);
    ModelOptions o;
    o.threads = 1;  // so that the first tile is packed, and progress told, before the next is read
    o.vocabulary = false;
    ASSERT_NE(test::load(path, o), nullptr);
    o.progress = [&](double) {
        ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(size / 4)), 0);
    };
    const auto model = Model::load(path, o);
    ASSERT_FALSE(model.has_value());
    EXPECT_EQ(model.error().code, ErrorCode::io);
    EXPECT_NE(model.error().message.find(path), std::string::npos) << model.error().message;
}

TEST(Load, AVocabularyThatIsDamagedIsAnError) {
    const test::TempDir dir;
    const std::string path = test::write_model(dir, test::tiny_llama(DType::q8_0));
    std::string bytes = test::read_file(path);
    const size_t at = bytes.find("<0x41>");  // a token typed as a byte
    ASSERT_NE(at, std::string::npos);
    bytes[at + 3] = 'G';
    const std::string damaged = dir.write("damaged.gguf", bytes);
    for (const uint32_t threads : {1u, 2u}) {
        ModelOptions o;
        o.threads = threads;
        const auto model = Model::load(damaged, o);
        ASSERT_FALSE(model.has_value());
        EXPECT_EQ(model.error().code, ErrorCode::bad_file) << model.error().message;
        o.vocabulary = false;
        EXPECT_TRUE(Model::load(damaged, o).has_value());
    }
}

TEST(RopeTablesTest, GrowByPositionAndHoldWhatTheFormulaSays) {
    const RopeTable tables[2] = {{64, 10000.0, 1.0}, {32, 1e6, 0.125}};
    Program program{};
    program.rope = tables;
    program.n_rope = 2;
    constexpr uint32_t context = 1000;
    auto rope = RopeTables::create(program, context);
    ASSERT_TRUE(rope.has_value());
    ThreadTeam team(2);
    const auto row = [&](uint32_t t, uint32_t p) {
        return rope->tables()[t] + size_t{p} * tables[t].n_rot;
    };
    for (const uint32_t end : {1u, 33u, 32u, 300u, context}) {
        rope->fill(team, end % 2 + 1, end);
        for (uint32_t t = 0; t < 2; ++t)
            for (uint32_t p = 0; p < end; ++p)
                for (uint32_t i = 0; i < tables[t].n_rot / 2; ++i) {
                    const double angle = p * (std::pow(tables[t].base, -2.0 * i / tables[t].n_rot) *
                                              tables[t].frequency_scale);
                    ASSERT_EQ(row(t, p)[i], static_cast<float>(std::cos(angle))) << p;
                    ASSERT_EQ(row(t, p)[tables[t].n_rot / 2 + i],
                              static_cast<float>(std::sin(angle)))
                        << p;
                }
        if (end == 1) {
            EXPECT_EQ(row(0, 500)[31], 0.0f) << "filled in before it is needed";
        }
    }
}

// Divisors, growth, and the context that takes the other set of divisors.
TEST(RopeTablesTest, FactorsAndMagnitude) {
    const double near[2] = {1.0, 3.0};
    const double far[2] = {2.0, 40.0};
    const RopeTable table{4, 10000.0, 1.0, near, far, 100, 1.25f};
    Program program{};
    program.rope = &table;
    program.n_rope = 1;
    ThreadTeam team(1);
    for (const uint32_t context : {100u, 101u}) {
        auto rope = RopeTables::create(program, context);
        ASSERT_TRUE(rope.has_value());
        rope->fill(team, 1, context);
        const double* factors = context == 100 ? near : far;
        const float* row = rope->tables()[0] + 4 * 77;
        for (uint32_t i = 0; i < 2; ++i) {
            const double angle = 77.0 * std::pow(10000.0, -0.5 * i) / factors[i];
            EXPECT_NEAR(row[i], 1.25 * std::cos(angle), 1e-7) << context;
            EXPECT_NEAR(row[2 + i], 1.25 * std::sin(angle), 1e-7) << context;
        }
    }
}

}  // namespace
}  // namespace ridge
