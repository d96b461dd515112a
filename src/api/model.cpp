// Models and tokens.
#include "api/api.hpp"

using namespace ridge;
using namespace ridge::api;

namespace {

Result<KvType> kv_type(int32_t type) {
    switch (type) {
        case RIDGE_KV_BF16:
            return KvType::bf16;
        case RIDGE_KV_F16:
            return KvType::f16;
        case RIDGE_KV_F32:
            return KvType::f32;
        case RIDGE_KV_INT8:
            return KvType::int8;
        default:
            return fail(ErrorCode::invalid_argument,
                        "kv_type " + std::to_string(type) + " is none of ridge_kv_type");
    }
}

}  // namespace

extern "C" {

void ridge_model_defaults(ridge_model_params* params) {
    if (params == nullptr) return;
    *params = {};
    params->size = sizeof *params;
    params->batch = 512;
    params->max_logits = 64;
}

ridge_status ridge_model_open(const char* path, const ridge_model_params* given,
                              ridge_model** model) {
    return guard([&]() -> Status {
        if (path == nullptr || model == nullptr)
            return fail(ErrorCode::invalid_argument, "ridge_model_open needs a path and a place");
        ridge_model_params p;
        ridge_model_defaults(&p);
        RIDGE_TRY(take_params(given, p));
        ModelOptions o;
        if (p.kernels != nullptr) o.kernels = p.kernels;
        o.threads = p.threads;
        o.chunk = p.batch;
        o.max_logits = p.max_logits;
        o.hidden = p.embeddings != 0;
        RIDGE_ASSIGN(o.kv, kv_type(p.kv_type));
        if (p.progress != nullptr)
            o.progress = [fn = p.progress, user = p.progress_user](double share) {
                fn(user, share);
            };
        auto opened = std::make_unique<ridge_model>();
        RIDGE_ASSIGN(opened->model, Model::load(path, std::move(o)));
        const Model& m = *opened->model;
        for (const std::string& key : m.file().keys())
            if (const auto text = m.file().get_string(key))
                opened->texts.emplace_back(key, std::string(*text));
        log(0, std::string(path) + ": " + m.architecture() + ", kernels " + m.kernels().set->name);
        *model = opened.release();
        return {};
    });
}

void ridge_model_free(ridge_model* model) {
    delete model;
}

int32_t ridge_model_vocabulary(const ridge_model* model) {
    if (!present(model, no_model)) return -RIDGE_INVALID_ARGUMENT;
    return static_cast<int32_t>(model->model->program().vocab);
}
int32_t ridge_model_hidden(const ridge_model* model) {
    if (!present(model, no_model)) return -RIDGE_INVALID_ARGUMENT;
    return static_cast<int32_t>(model->model->program().hidden);
}
int32_t ridge_model_context(const ridge_model* model) {
    if (!present(model, no_model)) return -RIDGE_INVALID_ARGUMENT;
    return static_cast<int32_t>(model->model->program().context);
}
const char* ridge_model_architecture(const ridge_model* model) {
    if (!present(model, no_model)) return nullptr;
    return model->model->architecture().c_str();
}
const char* ridge_model_kernels(const ridge_model* model) {
    if (!present(model, no_model)) return nullptr;
    return model->model->kernels().set->name;
}
const char* ridge_model_text(const ridge_model* model, const char* key) {
    if (!present(model, no_model) || !present(key, "the key is null")) return nullptr;
    for (const auto& [name, text] : model->texts)
        if (name == key) return text.c_str();
    return nullptr;
}

int64_t ridge_tokenize(const ridge_model* model, const char* text, size_t bytes,
                       int32_t add_special, int32_t parse_special, int32_t* ids, size_t capacity) {
    return guard_count([&]() -> Result<int64_t> {
        RIDGE_TRY(needs(model, no_model));
        if ((text == nullptr && bytes != 0) || (ids == nullptr && capacity != 0))
            return fail(ErrorCode::invalid_argument, "ridge_tokenize needs a text and a place");
        const std::vector<int32_t> all = model->model->tokenizer().encode(
            {bytes == 0 ? "" : text, bytes}, add_special != 0, parse_special != 0);
        return give(all.data(), all.size(), ids, capacity);
    });
}

const char* ridge_token_bytes(const ridge_model* model, int32_t token, size_t* bytes) {
    const std::string_view text =
        present(model, no_model) ? model->model->tokenizer().bytes(token) : std::string_view();
    if (bytes != nullptr) *bytes = text.size();
    return text.empty() ? "" : text.data();
}

int64_t ridge_detokenize(const ridge_model* model, const int32_t* ids, size_t n, char* text,
                         size_t capacity) {
    return guard_count([&]() -> Result<int64_t> {
        RIDGE_TRY(needs(model, no_model));
        if ((ids == nullptr && n != 0) || (text == nullptr && capacity != 0))
            return fail(ErrorCode::invalid_argument, "ridge_detokenize needs ids and a place");
        const std::string all = model->model->tokenizer().decode({ids, n});
        return give(all.data(), all.size(), text, capacity);
    });
}

int32_t ridge_token_is_end(const ridge_model* model, int32_t token) {
    if (!present(model, no_model)) return -RIDGE_INVALID_ARGUMENT;
    return model->model->tokenizer().is_end(token) ? 1 : 0;
}
int32_t ridge_token_bos(const ridge_model* model) {
    if (!present(model, no_model)) return -RIDGE_INVALID_ARGUMENT;
    return model->model->tokenizer().bos();
}
int32_t ridge_token_eos(const ridge_model* model) {
    if (!present(model, no_model)) return -RIDGE_INVALID_ARGUMENT;
    return model->model->tokenizer().eos();
}

}  // extern "C"
