#include "cli/bench_output.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/cpu.hpp"
#include "cli/bench_progress.hpp"
#include "cli/common.hpp"
#include "kernels/packed.hpp"
#if __has_include("ridge_commit.hpp")
#include "ridge_commit.hpp"
#endif

namespace ridge::cli {
namespace {

using Json = nlohmann::ordered_json;

// A number of /proc/self/status, in bytes; 0 where the system does not say.
uint64_t status_bytes(const std::string& key) {
    std::ifstream in("/proc/self/status");
    for (std::string line; std::getline(in, line);)
        if (line.rfind(key + ":", 0) == 0)
            return std::strtoull(line.c_str() + key.size() + 1, nullptr, 10) * 1024;
    return 0;
}

Json roofs_json(const Roofs& r) {
    return {{"read_gb_s", r.read_gb_s},
            {"read_streams", r.read_streams},
            {"prefetch_bytes", r.prefetch_bytes},
            {"int8_gop_s", r.int8_gop_s},
            {"bf16_gflop_s", r.bf16_gflop_s},
            {"f32_gflop_s", r.f32_gflop_s},
            {"set", r.set}};
}

// The fields of one value each: every format but md.
Json fields(const BenchModel& m, const BenchRow& r) {
    const Rates v = rates(r);
    const auto whole = [](double x) { return static_cast<uint64_t>(x + 0.5); };
    const auto roof = [&](double x) { return r.measured ? Json(x) : Json(nullptr); };
    Json j;
    j["build_commit"] = build_commit();
    j["cpu_info"] = cpu().model;
    j["backends"] = "CPU";
    j["model_filename"] = m.file;
    j["model_type"] = m.type;
    j["model_size"] = m.bytes;
    j["model_n_params"] = m.params;
    j["n_batch"] = r.what.batch;
    j["n_ubatch"] = m.chunk;
    j["n_threads"] = r.threads;
    j["type_k"] = kv_type_name(m.kv);
    j["type_v"] = kv_type_name(m.kv);
    j["flash_attn"] = true;
    j["kernels"] = m.kernels;
    j["activations"] = m.activations;
    j["test"] = case_name(r.what);
    j["n_prompt"] = r.what.prompt;
    j["n_gen"] = r.what.gen;
    j["n_depth"] = r.what.depth;
    j["test_time"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    j["avg_ns"] = whole(v.ns.mean);
    j["stddev_ns"] = whole(v.ns.deviation);
    j["avg_ts"] = v.tokens_s.mean;
    j["stddev_ts"] = v.tokens_s.deviation;
    j["median_ns"] = whole(r.seconds() * 1e9);
    j["median_ts"] = v.median_tokens_s;
    j["gb_s"] = v.gb_s;
    j["gop_s"] = v.gop_s;
    j["roof_percent"] = roof(100 * v.of_roof);
    j["int8_roof_percent"] = roof(100 * v.of_int8);
    j["read_roof_percent"] = roof(100 * v.of_read);
    j["model_ops"] = r.model_ops;
    j["read_bytes"] = r.read_bytes;
    j["own_roof"] = v.own.name;
    j["own_roof_percent"] = roof(100 * v.of_own);
    j["products_percent"] = roof(100 * v.products_of_own);
    j["attention_percent"] = v.attention_of_bf16 > 0 ? roof(100 * v.attention_of_bf16) : nullptr;
    j["step_ms"] = r.step_s() > 0 ? Json(1e3 * r.step_s()) : Json(nullptr);
    j["batch_ratio"] = r.batch_bound_s > 0 ? Json(r.step_s() / r.batch_bound_s) : Json(nullptr);
    j["bytes_per_token"] = m.bytes_per_token;
    j["logits_hash"] = fmt::format("{:016x}", r.hash);
    j["barriers_per_pass"] = r.barriers;
    j["wait_us_per_pass"] = r.wait_us;
    j["read_gb_s_roof"] = roof(r.roofs.read_gb_s);
    j["int8_gop_s_roof"] = roof(r.roofs.int8_gop_s);
    j["bf16_gflop_s_roof"] = roof(r.roofs.bf16_gflop_s);
    j["f32_gflop_s_roof"] = roof(r.roofs.f32_gflop_s);
    j["roof_difference_percent"] = roof(100 * r.roof_difference);
    j["roof_set"] = r.measured ? Json(r.roofs.set) : Json(nullptr);
    j["attempts"] = r.attempts;
    j["noisy"] = r.noisy;
    j["resident_bytes"] = status_bytes("VmRSS");
    j["peak_resident_bytes"] = status_bytes("VmHWM");
    j["load_ms"] = m.load_s > 0 ? Json(1e3 * m.load_s) : Json(nullptr);
    j["file_read_ms"] = m.read_s > 0 ? Json(1e3 * m.read_s) : Json(nullptr);
    return j;
}

Json step_json(const BenchRow& r, const StepGroup& g) {
    const StepCost& c = g.total.cost;
    const double ops = c.int8_ops + c.bf16_ops + c.f32_ops;
    Json j;
    j["kind"] = g.kind;
    j["name"] = g.name;
    j["kernel"] = g.kernel;
    j["layers"] = g.layers;
    j["steps"] = g.steps;
    j["ms"] = g.seconds * 1e3;
    j["share_percent"] = 100 * share(g.seconds, r.timed_s);
    j["bytes"] = c.bytes;
    j["int8_ops"] = c.int8_ops;
    j["bf16_ops"] = c.bf16_ops;
    j["f32_ops"] = c.f32_ops;
    j["gb_s"] = share(c.bytes / 1e9, g.seconds);
    j["gop_s"] = share(ops / 1e9, g.seconds);
    j["roof_percent"] = r.measured ? Json(100 * share(g.total.ideal_s, g.seconds)) : Json(nullptr);
    j["above_roof"] = r.measured && g.above_roof();
    return j;
}

Json row_json(const BenchModel& m, const BenchRow& r, bool steps) {
    Json j = fields(m, r);
    Json ns = Json::array(), ts = Json::array();
    for (const double s : r.samples_s) {
        ns.push_back(static_cast<uint64_t>(s * 1e9 + 0.5));
        ts.push_back(share(static_cast<double>(r.tokens()), s));
    }
    j["samples_ns"] = ns;
    j["samples_ts"] = ts;
    if (r.measured) {
        j["roofs_before"] = roofs_json(r.before);
        j["roofs_after"] = roofs_json(r.after);
    }
    if (!steps) return j;
    j["steps"] = Json::array();
    for (const StepGroup& g : r.steps) j["steps"].push_back(step_json(r, g));
    return j;
}

std::string dump(const Json& j, int indent) {
    return j.dump(indent, ' ', false, Json::error_handler_t::replace);
}

class JsonWriter : public BenchWriter {
  public:
    JsonWriter(bool lines, bool steps) : lines_(lines), steps_(steps) {}
    void row(const BenchModel& m, const BenchRow& r) override {
        const Json j = row_json(m, r, steps_);
        if (lines_)
            fmt::print("{}\n", dump(j, -1));
        else
            fmt::print("{}\n{}", first_ ? "[" : ",", dump(j, 2));
        first_ = false;
        std::fflush(stdout);
    }
    void finish() override {
        if (!lines_) fmt::print("{}\n]\n", first_ ? "[" : "");
    }

  private:
    bool lines_, steps_, first_ = true;
};

class CsvWriter : public BenchWriter {
  public:
    void row(const BenchModel& m, const BenchRow& r) override {
        std::string head, line;
        const Json all = fields(m, r);
        for (const auto& [key, value] : all.items()) {
            if (!line.empty()) head += ',', line += ',';
            head += key;
            line += quoted(value.is_string() ? value.get<std::string>()
                           : value.is_null() ? std::string()
                                             : dump(value, -1));
        }
        if (first_) fmt::print("{}\n", head);
        first_ = false;
        fmt::print("{}\n", line);
        std::fflush(stdout);
    }

  private:
    static std::string quoted(const std::string& text) {
        std::string out = "\"";
        for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
        return out + '"';
    }
    bool first_ = true;
};

}  // namespace

Rates rates(const BenchRow& r) {
    std::vector<double> ts, ns;
    for (const double s : r.samples_s) {
        ts.push_back(share(static_cast<double>(r.tokens()), s));
        ns.push_back(s * 1e9);
    }
    const double s = r.seconds();
    const StepCost& c = r.cost.cost;
    const KindTotal products = kind_total(r.steps, step_kind_name(StepKind::product));
    const KindTotal attention = kind_total(r.steps, step_kind_name(StepKind::attend));
    Rates out{};
    out.tokens_s = mean_deviation(ts);
    out.ns = mean_deviation(ns);
    out.median_tokens_s = share(static_cast<double>(r.tokens()), s);
    out.gb_s = share(c.bytes / 1e9, s);
    out.gop_s = share((c.int8_ops + c.bf16_ops + c.f32_ops) / 1e9, s);
    out.of_roof = share(r.cost.ideal_s, s);
    out.of_int8 = share(r.model_ops / 1e9, s * r.roofs.int8_gop_s);
    out.of_read = share(r.read_bytes / 1e9, s * r.roofs.read_gb_s);
    out.own = product_roof(r.steps, r.roofs);
    out.of_own = share(r.model_ops / 1e9, s * out.own.gop_s);
    out.products_of_own = share(products.ops / 1e9, products.seconds * out.own.gop_s);
    // An f32 cache has f32 operations and no share of this roof.
    double bf16 = 0;
    for (const StepGroup& g : r.steps)
        if (g.kind == step_kind_name(StepKind::attend)) bf16 += g.total.cost.bf16_ops;
    if (bf16 > 0)
        out.attention_of_bf16 = share(bf16 / 1e9, attention.seconds * r.roofs.bf16_gflop_s);
    return out;
}

BenchModel describe_model(const Model& model) {
    BenchModel m;
    m.file = model.file().path();
    std::map<DType, uint64_t> bytes;
    for (const TensorInfo& t : model.file().tensors()) {
        m.bytes += t.bytes;
        m.params += t.elements();
        bytes[t.type] += t.bytes;
    }
    const auto most = std::max_element(bytes.begin(), bytes.end(),
                                       [](auto& a, auto& b) { return a.second < b.second; });
    m.type = fmt::format("{} {:.1f}M {}", model.architecture(), static_cast<double>(m.params) / 1e6,
                         most == bytes.end() ? "" : name(most->first));
    m.kernels = model.kernels().set->name;
    m.activations = model.options().f32_activations ? "f32" : "q8";
    m.chunk = model.lowered().max_rows;
    m.kv = model.options().kv;
    m.bytes_per_token = model.bytes_per_token();
    return m;
}

Result<std::unique_ptr<BenchWriter>> bench_writer(const std::string& format, bool steps) {
    std::unique_ptr<BenchWriter> writer;
    if (format == "md")
        writer = output_is_terminal() && terminal_columns(STDOUT_FILENO) < markdown_columns
                     ? narrow_writer(steps)
                     : markdown_writer(steps);
    if (format == "json") writer = std::make_unique<JsonWriter>(false, steps);
    if (format == "jsonl") writer = std::make_unique<JsonWriter>(true, steps);
    if (format == "csv") {
        if (steps)
            return fail(ErrorCode::invalid_argument,
                        "--steps has no place in csv; choose -o md, json or jsonl");
        writer = std::make_unique<CsvWriter>();
    }
    if (writer == nullptr)
        return fail(ErrorCode::invalid_argument,
                    "unknown output '" + format + "'; choose md, csv, json or jsonl");
    return writer;
}

const char* build_commit() {
#ifdef RIDGE_COMMIT
    return RIDGE_COMMIT;
#else
    return "unknown";
#endif
}

}  // namespace ridge::cli
