// How far roundings that the AI Max 395's report names carry a model from its float results, in the
// oracle's arithmetic: literal Q12.4 (step 1/16, 16 bits), static activation scales, and how near
// neighbouring softmax sums are. Prints one JSON object.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/agreement.hpp"
#include "tests/support/oracle.hpp"

namespace {

using ridge::test::Agreement;
using ridge::test::Draw;
using ridge::test::Oracle;

constexpr size_t text_length = 128;

// Values the MAU would multiply: everything that enters a product or the KV cache.
bool is_operand(std::string_view stage) {
    for (const char* name :
         {"attention norm", "q", "k", "v", "attention", "ffn norm", "hidden", "final norm"})
        if (stage == name) return true;
    return false;
}

double to_sixteenth(double x) {
    return std::clamp(std::nearbyint(x * 16), -32768.0, 32767.0) / 16;
}

// Texts that the model writes itself at temperature 1; each begins with BOS.
std::vector<std::vector<int32_t>> sample(Oracle& oracle, size_t texts, uint64_t seed) {
    std::vector<std::vector<int32_t>> all;
    Draw draw(seed);
    for (size_t t = 0; t < texts; ++t) {
        oracle.reset();
        std::vector<int32_t> ids = {1};
        while (ids.size() < text_length) ids.push_back(draw(oracle.step(ids.back())));
        all.push_back(ids);
    }
    return all;
}

Agreement compare(Oracle& oracle, Oracle& other, const std::vector<std::vector<int32_t>>& texts) {
    Agreement sum;
    for (const auto& ids : texts) {
        oracle.reset();
        other.reset();
        for (size_t i = 0; i + 1 < ids.size(); ++i)
            sum.add(std::span<const double>(oracle.step(ids[i])),
                    std::span<const double>(other.step(ids[i])), ids[i + 1]);
    }
    return sum;
}

nlohmann::json report(const Agreement& a) {
    return {{"positions", a.positions},
            {"top1", a.top1()},
            {"in_top5", a.top5()},
            {"nll_chip", a.chip_nll()},
            {"nll_oracle", a.oracle_nll()}};
}

// Weights and operands in steps of 1/16.
nlohmann::json literal_q12_4(Oracle& oracle, Oracle other,
                             const std::vector<std::vector<int32_t>>& texts) {
    other.change_matrices([](std::vector<double>& m, size_t) {
        for (double& x : m) x = to_sixteenth(x);
    });
    other.tap = [](const char* stage, size_t, std::span<double> x) {
        if (!is_operand(stage)) return;
        for (double& v : x) v = to_sixteenth(v);
    };
    return report(compare(oracle, other, texts));
}

// Operands in `bits` bits with one scale a stage and layer, the largest value that other texts had.
nlohmann::json static_scales(Oracle& oracle, Oracle other,
                             const std::vector<std::vector<int32_t>>& texts, int bits) {
    std::map<std::pair<std::string, size_t>, double> largest;
    oracle.tap = [&](const char* stage, size_t layer, std::span<double> x) {
        double& m = largest[{stage, layer}];
        for (const double v : x) m = std::max(m, std::abs(v));
    };
    sample(oracle, 20, 7);
    oracle.tap = nullptr;
    const double top = (1 << (bits - 1)) - 1;
    other.tap = [&](const char* stage, size_t layer, std::span<double> x) {
        if (!is_operand(stage)) return;
        const double scale = top / largest[{stage, layer}];
        for (double& v : x) v = std::clamp(std::nearbyint(v * scale), -top, top) / scale;
    };
    return report(compare(oracle, other, texts));
}

// Relative distance of each softmax's reciprocal sum to the one before (the report seeds Newton's
// iteration with it): the median, in percent, and the share below 0.3 %.
nlohmann::json newton(Oracle& oracle, const std::vector<std::vector<int32_t>>& texts) {
    std::vector<double> distances;
    double before = 0;
    oracle.softmax_sum = [&](double sum) {
        if (before > 0) distances.push_back(100 * std::abs(before / sum - 1));
        before = sum;
    };
    for (size_t t = 0; t < 4 && t < texts.size(); ++t) {
        oracle.reset();
        for (const int32_t id : texts[t]) oracle.step(id);
    }
    oracle.softmax_sum = nullptr;
    std::sort(distances.begin(), distances.end());
    const auto below = std::lower_bound(distances.begin(), distances.end(), 0.3);
    return {{"median_distance", distances[distances.size() / 2]},
            {"below_0_3", 100 * static_cast<double>(below - distances.begin()) /
                              static_cast<double>(distances.size())}};
}

}  // namespace

int main(int argc, char** argv) {
    std::string model;
    size_t texts = 40;
    CLI::App app{"Measures roundings of the AI Max 395's report in the oracle's arithmetic."};
    app.add_option("MODEL", model, "a GGUF of architecture llama, f32")->required();
    app.add_option("--texts", texts, "texts of 128 tokens to measure on");
    CLI11_PARSE(app, argc, argv);
    auto oracle = Oracle::open(model);
    if (!oracle) {
        std::fprintf(stderr, "board_accuracy: %s\n", oracle.error().message.c_str());
        return 1;
    }
    const auto sampled = sample(*oracle, texts, 1);
    const nlohmann::json out = {{"literal_q12_4", literal_q12_4(*oracle, *oracle, sampled)},
                                {"static_scales", static_scales(*oracle, *oracle, sampled, 12)},
                                {"static_8_bits", static_scales(*oracle, *oracle, sampled, 8)},
                                {"newton", newton(*oracle, sampled)}};
    std::printf("%s\n", out.dump(1).c_str());
    return 0;
}
