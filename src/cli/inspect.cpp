// ridge inspect: what a model is, what it needs of this machine, and what a token costs.
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/bench_cost.hpp"
#include "cli/inspect_cpu.hpp"
#include "cli/inspect_model.hpp"
#include "cli/verbs.hpp"

namespace ridge::cli {
namespace {

using Json = nlohmann::ordered_json;

struct InspectArgs {
    EngineArgs engine;
    bool tensors = false, steps = false, cpu = false, json = false;
};

std::string text(const Json& j) {
    return j.get<std::string>();
}

// Cut to `width` columns, never in the middle of a code point.
std::string cut(std::string s, size_t width) {
    if (s.size() <= width) return s;
    size_t end = width - 2;
    while (end > 0 && (static_cast<unsigned char>(s[end]) & 0xC0) == 0x80) --end;
    return s.substr(0, end) + "..";
}

Json dims_json(const TensorInfo& t) {
    Json dims = Json::array();
    for (uint32_t d = 0; d < t.n_dims; ++d) dims.push_back(t.dims[d]);
    return dims;
}

Json tensors_json(const GgufFile& file, bool all) {
    struct Sum {
        uint64_t count = 0, elements = 0, bytes = 0;
    };
    std::map<DType, Sum> types;
    Sum total;
    Json list = Json::array();
    for (const TensorInfo& t : file.tensors()) {
        for (Sum* s : {&types[t.type], &total}) {
            ++s->count;
            s->elements += t.elements();
            s->bytes += t.bytes;
        }
        if (all)
            list.push_back({{"name", t.name},
                            {"type", name(t.type)},
                            {"dims", dims_json(t)},
                            {"bytes", t.bytes}});
    }
    Json j{{"count", total.count}, {"parameters", total.elements}, {"bytes", total.bytes}};
    j["types"] = Json::array();
    for (const auto& [type, s] : types)
        j["types"].push_back({{"type", name(type)},
                              {"count", s.count},
                              {"parameters", s.elements},
                              {"bytes", s.bytes}});
    if (all) j["list"] = list;
    return j;
}

// One row through everything, its attention over `keys` keys.
Json token_json(const Inspection& in, uint32_t keys) {
    double weights = 0, cache = 0, written = 0;
    StepCost ops{};
    double attention = 0;
    for (const LoweredStep& s : in.lowered.steps) {
        const uint64_t seen = s.window != 0 && keys > s.window ? s.window : keys;
        const StepCost c = step_cost(s, 1, s.kind == StepKind::attend ? seen : 0, 0);
        weights += static_cast<double>(s.cost.weight_bytes);
        if (s.kind == StepKind::product) {
            ops.int8_ops += c.int8_ops;
            ops.bf16_ops += c.bf16_ops;
            ops.f32_ops += c.f32_ops;
        }
        if (s.kind != StepKind::attend) continue;
        attention += c.bf16_ops + c.f32_ops;
        cache += static_cast<double>(s.cost.key_bytes) * static_cast<double>(seen);
        written += static_cast<double>(s.cost.key_bytes);
    }
    const auto whole = [](double x) { return static_cast<uint64_t>(x); };
    return {{"weight_bytes", whole(weights)},        {"cache_bytes_written", whole(written)},
            {"cache_bytes_read_full", whole(cache)}, {"int8_ops", whole(ops.int8_ops)},
            {"bf16_ops", whole(ops.bf16_ops)},       {"f32_ops", whole(ops.f32_ops)},
            {"attention_ops_full", whole(attention)}};
}

Json steps_json(const Inspection& in) {
    Json out = Json::array();
    const Lowered& m = in.lowered.lowered;
    for (uint32_t i = 0; i < m.n_steps; ++i) {
        const LoweredStep& s = m.steps[i];
        if (s.layer > 0) continue;
        Json j;
        j["index"] = i;
        j["layer"] = s.layer;
        j["kind"] = step_kind_name(s.kind);
        j["name"] = step_name(in.program.program, m, i);
        j["kernel"] = step_kernel(*in.kernels.set, s);
        uint64_t columns = 0;
        for (uint32_t g = 0; g < s.n_segments; ++g) columns += s.segment[g].n;
        j["n"] = columns;
        j["k"] = s.k;
        if (s.kind == StepKind::product || s.kind == StepKind::prepare)
            j["activations"] = act_format_name(s.format);
        j["replicated"] = s.replicate;
        j["weight_bytes"] = s.cost.weight_bytes;
        j["row_bytes"] = s.cost.row_bytes;
        j["row_ops"] = s.cost.row_int8_ops + s.cost.row_bf16_ops + s.cost.row_f32_ops;
        j["key_bytes"] = s.cost.key_bytes;
        j["key_ops"] = s.cost.key_ops;
        out.push_back(j);
    }
    return out;
}

Json model_json(const Inspection& in, const InspectArgs& a) {
    const Program& p = in.program.program;
    Json j;
    j["file"] = in.file.path();
    j["file_bytes"] = in.file.file_bytes();
    j["gguf_version"] = in.file.version();
    j["architecture"] = in.program.architecture;
    j["name"] = std::string(in.file.get_string("general.name").value_or(""));
    j["layers"] = p.layers;
    j["hidden"] = p.hidden;
    j["heads"] = p.attention.heads;
    j["kv_heads"] = p.attention.kv_heads;
    j["head_dim"] = p.attention.head_dim;
    j["vocabulary"] = p.vocab;
    j["trained_context"] = p.context;
    const std::string prefix = in.program.architecture + ".";
    j["hyper_parameters"] = Json::object();
    for (const std::string& key : in.file.keys())
        if (key.starts_with(prefix))
            j["hyper_parameters"][key.substr(prefix.size())] = in.file.describe(key);
    j["tensors"] = tensors_json(in.file, a.tensors);
    j["context"] = in.context;
    j["cache_type"] = cache_type_of(a.engine);
    j["activations"] = a.engine.activations;
    j["threads"] = in.threads;
    j["kernels"] = in.kernels.set->name;
    j["memory"] = Json::object();
    for (const MemoryItem& m : in.memory) j["memory"][m.key] = m.bytes;
    j["memory"]["total"] = in.total_bytes();
    j["packed_ratio"] =
        in.packed_tensor_bytes == 0
            ? 0.0
            : static_cast<double>(in.packed_bytes) / static_cast<double>(in.packed_tensor_bytes);
    j["token"] = token_json(in, in.context);
    if (a.steps) j["steps"] = steps_json(in);
    return j;
}

void print_steps(const Json& steps) {
    fmt::print("\nsteps of layer 0 and outside the layers (a row)\n");
    for (const Json& s : steps) {
        const std::string shape =
            s["n"].get<uint64_t>() == 0
                ? std::string()
                : fmt::format("{}x{}", s["n"].get<uint64_t>(), s["k"].get<uint64_t>());
        fmt::print("{:>4} {:<8}{:<18} {:<11} {:<24} {:>8.0f} K\n", s["index"].get<int>(),
                   text(s["kind"]), cut(text(s["name"]), 18), shape, cut(text(s["kernel"]), 24),
                   static_cast<double>(s["row_ops"].get<uint64_t>()) / 1e3);
    }
    fmt::print("{:>79}\n", "operations");
}

void print_model(const Json& j, const Inspection& in) {
    const auto mib = [](uint64_t bytes) { return static_cast<double>(bytes) / 1048576.0; };
    fmt::print("{}\n", cut(text(j["file"]), 78));
    if (!text(j["name"]).empty()) fmt::print("name          {}\n", cut(text(j["name"]), 60));
    fmt::print("architecture  {} (GGUF version {})\n", text(j["architecture"]),
               j["gguf_version"].get<int>());
    for (const auto& [key, value] : j["hyper_parameters"].items())
        fmt::print("  {:<38} {}\n", cut(key, 38), cut(text(value), 36));
    const Json& tensors = j["tensors"];
    fmt::print("\ntensors       {:>12} parameters {:>14} bytes\n",
               tensors["parameters"].get<uint64_t>(), tensors["bytes"].get<uint64_t>());
    for (const Json& t : tensors["types"])
        fmt::print("  {:<7} {:>4} {:>12} parameters {:>14} bytes\n", text(t["type"]),
                   t["count"].get<uint64_t>(), t["parameters"].get<uint64_t>(),
                   t["bytes"].get<uint64_t>());
    if (tensors.contains("list"))
        for (const Json& t : tensors["list"]) {
            std::string dims;
            for (const Json& d : t["dims"])
                dims += (dims.empty() ? "" : "x") + std::to_string(d.get<uint64_t>());
            fmt::print("  {:<38} {:<7} {:<16} {:>11}\n", cut(text(t["name"]), 38), text(t["type"]),
                       dims, t["bytes"].get<uint64_t>());
        }
    fmt::print("\nmemory        context {}, cache {}, {} threads, {} kernels\n",
               j["context"].get<uint64_t>(), text(j["cache_type"]), j["threads"].get<int>(),
               text(j["kernels"]));
    for (const MemoryItem& m : in.memory)
        fmt::print("  {:<34} {:>14} {:>10.2f} MiB\n", m.what, m.bytes, mib(m.bytes));
    fmt::print("  {:<34} {:>14} {:>10.2f} MiB\n", "total", in.total_bytes(), mib(in.total_bytes()));
    fmt::print("  packed weights are {:.4f} x their tensors' bytes\n",
               j["packed_ratio"].get<double>());
    const Json& t = j["token"];
    fmt::print("\na token       {:>14} bytes of weights read\n", t["weight_bytes"].get<uint64_t>());
    fmt::print("              {:>14} bytes of cache written\n",
               t["cache_bytes_written"].get<uint64_t>());
    fmt::print("              {:>14} bytes of cache read where the context is full\n",
               t["cache_bytes_read_full"].get<uint64_t>());
    for (const char* kind : {"int8", "bf16", "f32"})
        if (const uint64_t ops = t[std::string(kind) + "_ops"].get<uint64_t>(); ops != 0)
            fmt::print("              {:>14} {} operations of products\n", ops, kind);
    fmt::print("              {:>14} operations of attention, context full\n",
               t["attention_ops_full"].get<uint64_t>());
    if (j.contains("steps")) print_steps(j["steps"]);
}

int inspect(const InspectArgs& a) {
    if (a.engine.model.empty() && !a.cpu)
        return refuse(
            "give a model: a GGUF file, or the name of one in the model folder; "
            "--cpu alone looks at the machine");
    Json out = Json::object();
    std::optional<Inspection> in;
    if (!a.engine.model.empty()) {
        auto inspected = inspect_model(a.engine);
        if (!inspected) return complain(inspected.error());
        in = std::move(*inspected);
        out = model_json(*in, a);
    }
    if (a.cpu) {
        const auto choice = choose_kernels(a.engine.kernels);
        if (!choice) return complain(choice.error());
        out["cpu"] = cpu_json(*choice);
    }
    if (a.json) {
        fmt::print("{}\n", out.dump(2, ' ', false, Json::error_handler_t::replace));
    } else {
        if (in) print_model(out, *in);
        if (in && a.cpu) fmt::print("\n");
        if (a.cpu) print_cpu(out["cpu"]);
    }
    return 0;
}

}  // namespace

void add_inspect(CLI::App& app, int& code) {
    auto a = std::make_shared<InspectArgs>();
    CLI::App* v = app.add_subcommand("inspect", "What a model is, needs and costs; this machine");
    CLI::Option* model = add_model_option(*v, a->engine.model)->required(false);
    add_engine_options(*v, a->engine, false);
    v->add_flag("--tensors", a->tensors, "list every tensor")->needs(model);
    v->add_flag("--steps", a->steps, "the lowered steps of a layer")->needs(model);
    v->add_flag("--cpu", a->cpu, "this machine's features, and the kernel for each weight type");
    v->add_flag("--json", a->json, "print one JSON object");
    v->callback([a, &code] { code = inspect(*a); });
}

}  // namespace ridge::cli
