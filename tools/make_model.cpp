// Writes a random-weight GGUF of any shape, in any type or mix: for golden tests, and for measuring
// the speed of a published shape without its weights (src/format/random_model.hpp).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>

#include "format/gguf_types.hpp"
#include "format/random_model.hpp"

namespace {

using namespace ridge;

struct Options {
    std::string config, preset, out, architecture, type, mix;
    std::optional<uint64_t> seed;
    std::optional<uint32_t> layers, hidden, ffn, heads, kv_heads, head_dim, vocab, context, window,
        pattern;
    bool untied = false, bias = false;
    unsigned threads = std::min(8u, std::max(1u, std::thread::hardware_concurrency()));
};

Result<ShapeConfig> shape(const Options& o) {
    ShapeConfig c;
    if (!o.preset.empty()) {
        RIDGE_ASSIGN(c, shape_preset(o.preset));
    } else if (!o.config.empty()) {
        RIDGE_ASSIGN(c, read_shape_config(o.config));
    }
    const auto take = [](const auto& from, auto& into) {
        if (from) into = *from;
    };
    take(o.seed, c.seed);
    take(o.layers, c.block_count);
    take(o.hidden, c.embedding_length);
    take(o.ffn, c.feed_forward_length);
    take(o.heads, c.head_count);
    take(o.kv_heads, c.head_count_kv);
    take(o.head_dim, c.key_length);
    take(o.vocab, c.vocab_size);
    take(o.context, c.context_length);
    take(o.window, c.sliding_window);
    take(o.pattern, c.sliding_window_pattern);
    if (!o.architecture.empty()) c.architecture = o.architecture;
    if (o.untied) c.tied = false;
    if (o.bias) c.attention_bias = true;
    if (!o.type.empty()) {
        const auto type = gguf::dtype_from_name(o.type);
        if (!type)
            return fail(ErrorCode::invalid_argument, "There is no type " + gguf::quoted(o.type) +
                                                         "; choose one of " +
                                                         gguf::supported_types() + ".");
        c.type = *type;
        c.mix = Mix::none;
    }
    if (!o.mix.empty()) {
        RIDGE_ASSIGN(c.mix, parse_mix(o.mix));
    }
    return c;
}

}  // namespace

int main(int argc, char** argv) {
    Options o;
    CLI::App app{"Writes a random-weight GGUF model of a given shape."};
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    auto* config = app.add_option("--config", o.config, "shape as JSON (see tests/data/goldens)");
    app.add_option("--preset", o.preset, "a published shape, such as smollm2-135m")
        ->check(CLI::IsMember(shape_preset_names()))
        ->excludes(config);
    app.add_option("-o,--out", o.out, "the file to write")->required();
    app.add_option("--type", o.type, "type of every matrix, such as Q4_0 (default F32)");
    app.add_option("--mix", o.mix, "Q4_0, Q4_K_M or Q5_K_M: types by llama.cpp's rule");
    app.add_option("--arch", o.architecture, "llama, qwen2, qwen3, phi3, gemma2 or gemma3");
    app.add_option("--seed", o.seed, "seed of the weights");
    app.add_option("--layers", o.layers);
    app.add_option("--hidden", o.hidden, "embedding length");
    app.add_option("--ffn", o.ffn, "feed-forward length");
    app.add_option("--heads", o.heads);
    app.add_option("--kv-heads", o.kv_heads);
    app.add_option("--head-dim", o.head_dim);
    app.add_option("--vocab", o.vocab, "at least 260");
    app.add_option("--context", o.context);
    app.add_option("--window", o.window, "sliding window (phi3, gemma2, gemma3)");
    app.add_option("--pattern", o.pattern, "every so many layers one is global (gemma)");
    app.add_flag("--untied", o.untied, "an output matrix of its own");
    app.add_flag("--bias", o.bias, "attention biases");
    app.add_option("--threads", o.threads);
    CLI11_PARSE(app, argc, argv);

    auto c = shape(o);
    const Status done = c ? write_random_model(*c, o.out, o.threads) : Status(propagate(c));
    if (!done) {
        std::fprintf(stderr, "make_model: %s\n", done.error().message.c_str());
        return 1;
    }
    return 0;
}
