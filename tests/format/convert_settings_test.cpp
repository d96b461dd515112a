// What a model folder's settings become in GGUF, one setting changed at a time: RoPE scaling,
// windows, special tokens, chat templates; and each refusal by its sentence.
#include <algorithm>
#include <cmath>

#include "changed_folder.hpp"

namespace ridge {
namespace {

using nlohmann::json;

class ConvertSettings : public test::ChangedFolder {};

// The numbers of transformers' modeling_rope_utils.py for these settings.
TEST_F(ConvertSettings, RopeScalingOfEachKind) {
    copy("llama");
    const auto with = [&](const json& rope) {
        change("config.json", [&](json& c) {
            c["rope_parameters"] = rope;
            c.erase("rope_scaling");
        });
    };
    with({{"type", "linear"}, {"factor", 4.0}, {"rope_theta", 500000.0}});
    GgufFile file = converted();
    EXPECT_EQ(file.get_string("llama.rope.scaling.type"), "linear");
    EXPECT_EQ(file.get_float("llama.rope.scaling.factor"), 4.0);
    EXPECT_EQ(file.get_float("llama.rope.freq_base"), 500000.0);

    with({{"rope_type", "yarn"},
          {"factor", 2.0},
          {"original_max_position_embeddings", 64},
          {"beta_fast", 16.0},
          {"beta_slow", 2.0},
          {"attention_factor", 1.5}});
    file = converted();
    EXPECT_EQ(file.get_string("llama.rope.scaling.type"), "yarn");
    EXPECT_EQ(file.get_uint("llama.rope.scaling.original_context_length"), 64u);
    EXPECT_EQ(file.get_float("llama.rope.scaling.yarn_beta_fast"), 16.0);
    EXPECT_EQ(file.get_float("llama.rope.scaling.yarn_beta_slow"), 2.0);
    EXPECT_EQ(file.get_float("llama.rope.scaling.yarn_attn_factor"), 1.5);
    with({{"rope_type", "yarn"}, {"factor", 2.0}});
    file = converted();
    for (const char* key :
         {"original_context_length", "yarn_beta_fast", "yarn_beta_slow", "yarn_attn_factor"})
        EXPECT_FALSE(file.has(std::string("llama.rope.scaling.") + key)) << key;

    // The name that older folders have for it.
    change("config.json", [](json& c) {
        c.erase("rope_parameters");
        c["rope_scaling"] = {{"type", "linear"}, {"factor", 3.0}};
        c["rope_theta"] = 20000.0;
    });
    file = converted();
    EXPECT_EQ(file.get_float("llama.rope.scaling.factor"), 3.0);
    EXPECT_EQ(file.get_float("llama.rope.freq_base"), 20000.0);

    for (const char* key : {"mscale", "mscale_all_dim"}) {
        with({{"rope_type", "yarn"}, {"factor", 2.0}, {key, 1.0}});
        refused(ErrorCode::unsupported, "its own magnitude");
    }
    with({{"rope_type", "yarn"}, {"factor", -2.0}});
    refused(ErrorCode::bad_file, "no factor");
    with({{"rope_type", "longrope"}});  // phi3's alone
    refused(ErrorCode::unsupported, "'longrope' of llama");
    for (const json& theta : {json(0.5), json(1e13), json(1.0)}) {
        with({{"rope_type", "default"}, {"rope_theta", theta}});
        refused(ErrorCode::bad_file, "out of range");
    }
    for (const json& share : {json(0.0), json(1.5)}) {
        with({{"rope_type", "default"}, {"partial_rotary_factor", share}});
        refused(ErrorCode::bad_file, "out of range");
    }
    with({{"rope_type", "default"}, {"partial_rotary_factor", 0.5}});
    EXPECT_EQ(converted().get_uint("llama.rope.dimension_count"), 4u);
}

TEST_F(ConvertSettings, Llama3FactorsNeedTheirNumbers) {
    copy("llama3");
    for (const auto& [key, value] :
         {std::pair{"factor", 0.0}, std::pair{"low_freq_factor", -1.0},
          std::pair{"high_freq_factor", 0.5}, std::pair{"original_max_position_embeddings", 0.0}}) {
        copy("llama3");
        change("config.json", [&](json& c) { c["rope_parameters"][key] = value; });
        refused(ErrorCode::bad_file, "no usable numbers");
    }
    copy("llama3");
    change("config.json", [](json& c) {
        c["rope_parameters"] = {{"rope_type", "llama3"}, {"rope_theta", 10000.0}};
    });
    // Defaults 8, 1, 4 of 8192 positions: waves of 2 pi, 62.8, 628 are short, 6283 lies between.
    const GgufFile file = converted();
    const TensorInfo* t = file.find("rope_freqs.weight");
    ASSERT_NE(t, nullptr);
    ASSERT_EQ(t->elements(), 4u);
    float f[4];
    std::memcpy(f, t->data, sizeof f);
    EXPECT_EQ(f[0], 1.0f);
    EXPECT_EQ(f[2], 1.0f);
    const double smooth = (8192.0 / 6283.185307179586 - 1.0) / 3.0;
    EXPECT_NEAR(static_cast<double>(f[3]), 1.0 / ((1.0 - smooth) / 8.0 + smooth), 1e-5);
}

TEST_F(ConvertSettings, LongropeNeedsItsContextAndLists) {
    copy("phi3");
    GgufFile file = converted();
    // sqrt(1 + ln(256 / 64) / ln 64)
    EXPECT_NEAR(*file.get_float("phi3.rope.scaling.attn_factor"),
                std::sqrt(1.0 + std::log(4.0) / std::log(64.0)), 1e-6);
    const auto with = [&](const std::function<void(json&)>& edit) {
        copy("phi3");
        change("config.json", edit);
    };
    with([](json& c) { c["max_position_embeddings"] = 32; });
    EXPECT_EQ(converted().get_float("phi3.rope.scaling.attn_factor"), 1.0);
    with([](json& c) {
        c.erase("original_max_position_embeddings");
        c["rope_parameters"].erase("original_max_position_embeddings");
    });
    refused(ErrorCode::bad_file, "without its original context");
    with([](json& c) { c["rope_parameters"]["original_max_position_embeddings"] = 1; });
    refused(ErrorCode::bad_file, "without its original context");
    with([](json& c) { c["rope_parameters"]["short_factor"][2] = -1.0; });
    refused(ErrorCode::bad_file, "short_factor is no list of 4 positive numbers");
    with([](json& c) { c["rope_parameters"]["long_factor"] = "many"; });
    refused(ErrorCode::bad_file, "long_factor is no list of 4 positive numbers");
    with([](json& c) { c["sliding_window"] = 64; });
    EXPECT_EQ(converted().get_uint("phi3.attention.sliding_window"), 64u);
    with([](json& c) { c["sliding_window"] = -1; });
    refused(ErrorCode::bad_file, "sliding_window");
}

TEST_F(ConvertSettings, WindowsOfGemma) {
    const auto with = [&](const char* name, const std::function<void(json&)>& edit) {
        copy(name);
        change("config.json", edit);
    };
    with("gemma2", [](json& c) { c.erase("layer_types"); });
    EXPECT_FALSE(converted().has("gemma2.attention.sliding_window_pattern"))
        << "2 is the usual one";
    with("gemma2", [](json& c) {
        c.erase("layer_types");
        c["sliding_window_pattern"] = 3;
    });
    EXPECT_EQ(converted().get_uint("gemma2.attention.sliding_window_pattern"), 3u);
    with("gemma2", [](json& c) { c["layer_types"][1] = "sliding_attention"; });
    EXPECT_EQ(converted().get_uint("gemma2.attention.sliding_window_pattern"), 3u) << "all local";
    with("gemma2", [](json& c) {
        c.erase("layer_types");
        c["sliding_window_pattern"] = 0;
    });
    refused(ErrorCode::bad_file, "sliding_window_pattern");
    with("gemma3", [](json& c) { c["layer_types"][0] = "full_attention"; });
    refused(ErrorCode::unsupported, "no fixed period");
    with("gemma3", [](json& c) { c["sliding_window"] = 1.5; });
    refused(ErrorCode::bad_file, "sliding_window");
    with("gemma2", [](json& c) { c["attn_logit_softcapping"] = -1.0; });
    refused(ErrorCode::bad_file, "attn_logit_softcapping");
    with("gemma2", [](json& c) { c["final_logit_softcapping"] = nullptr; });
    EXPECT_FALSE(converted().has("gemma2.final_logit_softcapping"));
    with("gemma2", [](json& c) { c["hidden_activation"] = "gelu"; });
    refused(ErrorCode::unsupported, "'gelu'");
    with("gemma3", [](json& c) { c["rope_parameters"] = {{"rope_type", "default"}}; });
    const GgufFile file = converted();
    EXPECT_EQ(file.get_float("gemma3.rope.freq_base"), 1e6);
    EXPECT_EQ(file.get_float("gemma3.rope.freq_base_swa"), 1e4);
    with("gemma3", [](json& c) {  // what a folder with a picture encoder has: the text's config
        const json text = c;
        c = {{"model_type", "gemma3"},
             {"text_config", text},
             {"eos_token_id", json::array({1, 106})}};
        c["text_config"].erase("eos_token_id");
    });
    EXPECT_EQ(converted().get_uint("gemma3.embedding_length"), 32u);
    copy("llama");
    change("config.json", [](json& c) {
        c["model_type"] = "mistral";
        c["sliding_window"] = 4096;
    });
    refused(ErrorCode::unsupported, "sliding window");
    change("config.json", [](json& c) { c["sliding_window"] = nullptr; });
    converted();
}

TEST_F(ConvertSettings, TensorsThatDoNotFit) {
    const std::string name = "model.layers.0.mlp.up_proj.weight";
    copy("qwen2");
    change_tensors([&](json& h) { h[name]["dtype"] = h[name]["dtype"] == "F32" ? "I32" : "I16"; });
    refused(ErrorCode::unsupported, "ridge converts F32, F16 and BF16");
    copy("qwen2");
    change_tensors([&](json& h) { h[name]["shape"] = {48, 8, 4}; });
    refused(ErrorCode::bad_file, "neither vector nor matrix");
    for (const char* other :
         {"model.layers.0.mlp.up_proj", "model.layers.7.mlp.up_proj.weight", "model.layers.x",
          "model.layers.0", "model.layers.0.extra.weight", "model.layers.0.mlp.up_proj.scale",
          "model.layers.0.weight", "transformer.h.0.weight",
          "model.layers.99999999999999999999.mlp.up_proj.weight"}) {
        copy("qwen2");
        change_tensors([&](json& h) {
            h[other] = h[name];
            h.erase(name);
        });
        refused(ErrorCode::unsupported, "which a qwen2 model of ridge does not have");
    }
    copy("qwen2");
    change_tensors([](json& h) { h.erase("model.embed_tokens.weight"); });
    refused(ErrorCode::bad_file, "no usable model.embed_tokens.weight");
    // What ridge has no use for is left out and counted: pictures, tables of frequencies.
    copy("gemma3");
    const size_t before = (converted(), report_.left_out);
    change_tensors([](json& h) {
        const json norm = h["model.norm.weight"];
        for (const char* more : {"vision_tower.encoder.weight", "model.vision_tower.x.weight",
                                 "multi_modal_projector.w",
                                 "model.layers.0.self_attn.rotary_emb.inv_freq", "lm_head.weight"})
            h[more] = norm;
        json moved = json::object();
        for (const auto& [key, value] : h.items())
            moved[key.starts_with("model.layers.1.")   ? "language_model." + key
                  : key.starts_with("model.layers.2.") ? "model.language_model." + key.substr(6)
                                                       : key] = value;
        h = moved;
    });
    const GgufFile file = converted();
    EXPECT_EQ(report_.left_out, before + 5);
    EXPECT_NE(file.find("blk.1.attn_q.weight"), nullptr);
    EXPECT_NE(file.find("blk.2.attn_q.weight"), nullptr);
    EXPECT_EQ(file.find("output.weight"), nullptr);

    copy("qwen2");
    std::string bytes = test::read_file(folder_ + "/model.safetensors");
    std::fill(bytes.end() - 64, bytes.end(), '\xff');  // NaN in each of the three types
    write("model.safetensors", bytes);
    refused(ErrorCode::bad_file, "not a finite number");
}

}  // namespace
}  // namespace ridge
