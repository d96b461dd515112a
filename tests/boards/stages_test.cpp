// Each stage of the firmware on the simulated chip against the oracle's: what lies in SRAM where a
// stage ends. Whole numbers that the chip keeps with a scale of their own (rows, heads) are
// compared up to that scale, the residual and the logits as they are.
#include <array>
#include <bit>
#include <cmath>

#include "boards/ai-max-395/firmware/memory.h"
#include "firmware_fixture.hpp"
#include "support/oracle.hpp"

namespace ridge {
namespace {

constexpr uint32_t rows = 8;  // one block of attention

// Squares of differences and of what is wanted.
struct Error {
    double wrong = 0, all = 0;
    double relative() const { return std::sqrt(wrong / all); }
    void add(const std::vector<double>& got, std::span<const double> want, bool scaled) {
        double gw = 0, gg = 0;
        for (size_t i = 0; i < got.size(); ++i) gw += got[i] * want[i], gg += got[i] * got[i];
        const double scale = scaled && gg > 0 ? gw / gg : 1;
        for (size_t i = 0; i < got.size(); ++i) {
            // A scale below zero is none that the chip could mean.
            wrong += std::pow((scale > 0 ? scale : 0) * got[i] - want[i], 2);
            all += want[i] * want[i];
        }
    }
};
using Errors = std::map<std::string, Error>;
using Wanted = std::map<std::string, std::vector<std::vector<double>>>;  // [layer * rows + row]

Wanted oracle_stages(const std::string& gguf, const std::vector<int32_t>& ids) {
    auto oracle = test::Oracle::open(gguf);
    EXPECT_TRUE(oracle) << oracle.error().message;
    Wanted all;
    size_t row = 0;
    oracle->tap = [&](const char* stage, size_t layer, std::span<double> x) {
        auto& values = all[stage];
        values.resize(std::max(values.size(), (layer + 1) * rows));
        values[layer * rows + row].assign(x.begin(), x.end());
    };
    for (const int32_t id : ids) {
        oracle->step(id);
        ++row;
    }
    return all;
}

// Follows hart 0 from stage to stage.
class Follower {
  public:
    Follower(sim::Soc& soc, const ImageHeader& h, const Wanted& want, Errors& errors)
        : soc_(soc), h_(h), want_(want), errors_(errors) {
        const auto before = soc.on_marker;
        soc.on_marker = [this, before](rv32::Hart& hart, uint32_t id) {
            if (hart.id == 0) mark(id);
            before(hart, id);
        };
    }

  private:
    template <typename T>
    std::vector<double> read(uint32_t address, size_t count) const {
        std::vector<T> v(count);
        std::memcpy(v.data(), soc_.memory.bytes(address, count * sizeof(T)), count * sizeof(T));
        return {v.begin(), v.end()};
    }
    // `parts` parts of a row, each with a scale of its own.
    void compare(const char* stage, uint32_t row, const std::vector<double>& got, size_t parts,
                 size_t first = 0) {
        const std::vector<double>& want = want_.at(stage)[layer_ * rows + row];
        const size_t n = got.size() / parts;
        for (size_t p = 0; p < parts; ++p)
            errors_[stage].add({got.begin() + static_cast<ptrdiff_t>(p * n),
                                got.begin() + static_cast<ptrdiff_t>((p + 1) * n)},
                               std::span(want).subspan(first + p * n, n), true);
    }
    void compare_residual(const char* stage, uint32_t layer, uint32_t row) {
        std::vector<double> got = read<int32_t>(fw::residual + 4 * row * h_.dim, h_.dim);
        for (double& x : got) x = std::ldexp(x, -h_.residual_frac);
        errors_[stage].add(got, want_.at(stage)[layer * rows + row], false);
    }
    void mark(uint32_t id) {
        if (id != 0) {
            open_.push_back(id);
            if (open_.size() == 1 && id == STAGE_ATTENTION)
                for (uint32_t r = 0; r < rows; ++r)
                    compare("q", r, read<int16_t>(fw::q_tile + 2 * r * q_dim(), q_dim()), h_.heads);
            return;
        }
        const uint32_t ended = open_.back();
        open_.pop_back();
        if (open_.empty()) end(ended);
    }
    void end(uint32_t stage) {
        const uint32_t kv = h_.kv_heads * h_.head_dim;
        const bool last = layer_ == h_.layers;  // of the last norm, on one row
        for (uint32_t r = 0; r < rows; ++r) {
            if (stage == STAGE_EMBED) compare_residual("embedding", 0, r);
            if (stage == STAGE_PREPARE && (!last || r + 1 == rows)) {
                const auto norm = read<int16_t>(fw::act_rows + 2 * r * h_.dim, h_.dim);
                if (ffn_) compare_residual("attention out", layer_, r);
                if (!ffn_ && layer_ > 0) compare_residual("ffn out", layer_ - 1, r);
                if (last)
                    errors_["final norm"].add(norm, want_.at("final norm")[r], true);
                else
                    compare(ffn_ ? "ffn norm" : "attention norm", r, norm, 1);
            }
            if (stage == STAGE_QKV) {
                const uint32_t at = fw::slot_address(r) + 2 * layer_ * kv;
                compare("k", r, read<int16_t>(at, kv), h_.kv_heads);
                compare("v", r, read<int16_t>(at + fw::slot_value, kv), h_.kv_heads);
            }
            if (stage == STAGE_ATTENTION)
                compare("attention", r, read<int32_t>(fw::o_rows + 4 * r * q_dim(), q_dim()),
                        h_.heads);
            if (stage == STAGE_FFN) {  // of the hidden tiles the last one is still there
                const size_t width = want_.at("hidden")[0].size();  // h_.hidden is padded
                const auto t = static_cast<uint32_t>((width - 1) / IMAGE_HIDDEN_TILE);
                const size_t n = width - t * IMAGE_HIDDEN_TILE;
                const uint32_t tile = fw::q_rows + (t & 1) * fw::hidden_tile_bytes;
                compare("hidden", r, read<int16_t>(tile + r * 2 * IMAGE_HIDDEN_TILE, n), 1,
                        t * IMAGE_HIDDEN_TILE);
            }
        }
        if (stage == STAGE_PREPARE) ffn_ = !ffn_;
        if (stage == STAGE_FFN) ++layer_;
    }
    uint32_t q_dim() const { return h_.heads * h_.head_dim; }

    const sim::Soc& soc_;
    const ImageHeader& h_;
    const Wanted& want_;
    Errors& errors_;
    std::vector<uint32_t> open_;
    uint32_t layer_ = 0;
    bool ffn_ = false;
};

std::vector<int32_t> prompt_of(const test::BoardModel& model) {
    ImageHeader h;
    std::memcpy(&h, model.image.data(), sizeof h);
    return test::random_prompt(rows, 11, h.vocab_used);
}
std::vector<uint8_t> shipped_flash(const test::BoardModel& model) {
    return test::flash_with(model.image, {test::prefill_of(prompt_of(model), RUN_PRINT_LOGITS)});
}

// Relative errors by stage over all layers. `switches` besides those that let each launch end
// before the next line of the firmware.
Errors errors_of(const test::BoardModel& model, const std::string& switches,
                 std::vector<std::vector<uint32_t>>& logits) {
    ImageHeader h;
    std::memcpy(&h, model.image.data(), sizeof h);
    const Wanted want = oracle_stages(model.gguf, prompt_of(model));
    const auto flash = shipped_flash(model);
    Errors errors;
    const auto soc = test::board();
    EXPECT_TRUE(soc->load(test::firmware("RIDGE_FW_DOUBLE_BUFFER=0 " + switches)));
    EXPECT_TRUE(soc->load_flash(flash.data(), flash.size()));
    const Follower follower(*soc, h, want, errors);
    soc->run(rv32::EventQueue::never);
    EXPECT_EQ(soc->stop, rv32::Stop::exit);
    std::istringstream words(soc->uart.text.substr(soc->uart.text.find("logits") + 6));
    auto& bits = logits.emplace_back();
    for (uint32_t x = 0; words >> std::hex >> x;) bits.push_back(x);
    std::vector<double> values;
    for (const uint32_t x : bits) values.push_back(double{std::bit_cast<float>(x)});
    values.resize(h.vocab_used);
    errors["logits"].add(values, want.at("logits")[rows - 1], false);
    return errors;
}

// Every stage rounds rows to 12 bits: half a step of largest / 2047 is 2.4e-4 of the largest value,
// about 1e-3 of a row's root mean square. A hundred of them, independent, make 1 %.
constexpr double bound = 0.01;
const std::array<const char*, 12> stages = {
    "embedding",     "attention norm", "q",      "k",       "v",          "attention",
    "attention out", "ffn norm",       "hidden", "ffn out", "final norm", "logits"};

TEST(Stages, EachIsTheOraclesWithinItsBound) {
    if (!test::have_program("riscv64-unknown-elf-g++")) GTEST_SKIP() << "no cross compiler";
    if (test::sanitized) GTEST_SKIP() << "the release build runs this";
    for (const test::BoardModel* model : {&test::stories_model(), &test::tiny_model()}) {
        std::vector<std::vector<uint32_t>> logits;
        const Errors errors = errors_of(*model, "", logits);
        for (const char* stage : stages) {
            ASSERT_TRUE(errors.contains(stage)) << stage;
            EXPECT_LT(errors.at(stage).relative(), bound) << stage;
            EXPECT_GT(errors.at(stage).all, 0) << stage;
        }
        EXPECT_EQ(logits[0], test::good_run(test::firmware(), shipped_flash(*model)).logits.at(0));
    }
}

// A kernel that is wrong on purpose shows where its result is first compared as it is, and not
// before. (Scales of their own hide a factor: half of a norm's rows is seen where softmax meets the
// scores, half of P where the residual is added to.)
TEST(Stages, AWrongKernelShowsAtItsStage) {
    if (!test::have_program("riscv64-unknown-elf-g++")) GTEST_SKIP() << "no cross compiler";
    if (test::sanitized) GTEST_SKIP() << "the release build runs this";
    const std::array<const char*, 6> seen = {"embedding",     "attention", "q",
                                             "attention out", "hidden",    "logits"};
    test::BoardModel one = test::random_board_model("one", 1, 64, 8, 2, 96);
    for (size_t fault = 1; fault <= seen.size(); ++fault) {
        std::vector<std::vector<uint32_t>> logits;
        const Errors errors = errors_of(one, "RIDGE_FW_FAULT=" + std::to_string(fault), logits);
        for (const char* stage : stages) {
            const double error = errors.at(stage).relative();
            if (std::string_view(stage) == seen[fault - 1]) {
                EXPECT_GT(error, 5 * bound) << "fault " << fault << ", " << stage;
                break;
            }
            EXPECT_LT(error, bound) << "fault " << fault << ", " << stage;
        }
    }
}

}  // namespace
}  // namespace ridge
