#include "cli/bench_output.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/cpu.hpp"
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

double share(double part, double whole) {
    return whole > 0 ? part / whole : 0.0;
}

// Rates and shares of a row, from its mean time.
struct Rates {
    MeanDeviation tokens_s, ns;
    double gb_s, gop_s;
    double of_roof, of_int8, of_read;  // 0 to 1
};

Rates rates(const BenchRow& r) {
    std::vector<double> ts, ns;
    for (const double s : r.samples_s) {
        ts.push_back(share(static_cast<double>(r.tokens()), s));
        ns.push_back(s * 1e9);
    }
    const double s = r.seconds();
    const StepCost& c = r.cost.cost;
    Rates out{};
    out.tokens_s = mean_deviation(ts);
    out.ns = mean_deviation(ns);
    out.gb_s = share(c.bytes / 1e9, s);
    out.gop_s = share((c.int8_ops + c.bf16_ops + c.f32_ops) / 1e9, s);
    out.of_roof = share(r.cost.ideal_s, s);
    out.of_int8 = share(r.model_ops / 1e9, s * r.roofs.int8_gop_s);
    out.of_read = share(r.read_bytes / 1e9, s * r.roofs.read_gb_s);
    return out;
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
    j["gb_s"] = v.gb_s;
    j["gop_s"] = v.gop_s;
    j["roof_percent"] = roof(100 * v.of_roof);
    j["int8_roof_percent"] = roof(100 * v.of_int8);
    j["read_roof_percent"] = roof(100 * v.of_read);
    j["bytes_per_token"] = m.bytes_per_token;
    j["logits_hash"] = r.has_hash ? Json(fmt::format("{:016x}", r.hash)) : Json(nullptr);
    j["barriers_per_pass"] = r.barriers;
    j["wait_us_per_pass"] = r.wait_us;
    j["read_gb_s_roof"] = roof(r.roofs.read_gb_s);
    j["int8_gop_s_roof"] = roof(r.roofs.int8_gop_s);
    j["bf16_gflop_s_roof"] = roof(r.roofs.bf16_gflop_s);
    j["f32_gflop_s_roof"] = roof(r.roofs.f32_gflop_s);
    j["roof_difference_percent"] = roof(100 * r.roof_difference);
    j["attempts"] = r.attempts;
    j["noisy"] = r.noisy;
    j["resident_bytes"] = status_bytes("VmRSS");
    j["peak_resident_bytes"] = status_bytes("VmHWM");
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

// A table as llama-bench prints it; what does not fit into one follows below.
class MarkdownWriter : public BenchWriter {
  public:
    explicit MarkdownWriter(bool steps) : steps_(steps) {}

    void row(const BenchModel& m, const BenchRow& r) override {
        const Rates v = rates(r);
        const auto percent = [&](double x) {
            return r.measured ? fmt::format("{:.1f}", 100 * x) : std::string("-");
        };
        if (notes_.empty())
            fmt::print(
                "| {:<26} | {:>10} | {:>8} | {:>2} | {:>4} | {:>15} | {:>18} | {:>6} | {:>7} | "
                "{:>6} | {:>6} | {:>6} |\n"
                "| {:-<26} | {:->9}: | {:->7}: | {:->1}: | {:->4} | {:->14}: | {:->17}: | {:->5}: "
                "| {:->6}: | {:->5}: | {:->5}: | {:->5}: |\n",
                "model", "size", "params", "t", "kv", "test", "t/s", "GB/s", "GOP/s", "% roof",
                "% int8", "% read", "", "", "", "", "", "", "", "", "", "", "", "");
        fmt::print(
            "| {:<26} | {:>10} | {:>8} | {:>2} | {:>4} | {:>15} | {:>18} | {:>6.1f} | {:>7.0f} | "
            "{:>6} | {:>6} | {:>6} |\n",
            m.type, fmt::format("{:.2f} MiB", static_cast<double>(m.bytes) / 1048576.0),
            fmt::format("{:.2f} M", static_cast<double>(m.params) / 1e6), r.threads,
            kv_type_name(m.kv), case_name(r.what),
            fmt::format("{:.2f} +- {:.2f}", v.tokens_s.mean, v.tokens_s.deviation), v.gb_s, v.gop_s,
            percent(v.of_roof), percent(v.of_int8), percent(v.of_read));
        std::fflush(stdout);
        note(m, r);
    }

    void finish() override {
        if (notes_.empty()) return;
        fmt::print("\n{}build: {}; {}\n", notes_, build_commit(), cpu().model);
    }

  private:
    void note(const BenchModel& m, const BenchRow& r) {
        notes_ += fmt::format("{}, {} threads, {}: {} kernels", m.file, r.threads,
                              case_name(r.what), m.kernels);
        if (r.has_hash) notes_ += fmt::format("; logits {:016x}", r.hash);
        if (r.what.gen != 0)
            notes_ += fmt::format("; {:.0f} barriers and {:.1f} us of waiting a pass", r.barriers,
                                  r.wait_us);
        if (r.measured)
            notes_ += fmt::format(
                "; roofs {:.1f} GB/s, int8 {:.0f}, bf16 {:.0f}, f32 {:.0f} GOP/s, {:.1f} % "
                "apart{}",
                r.roofs.read_gb_s, r.roofs.int8_gop_s, r.roofs.bf16_gflop_s, r.roofs.f32_gflop_s,
                100 * r.roof_difference, r.noisy ? " (noisy)" : "");
        notes_ += '\n';
        if (steps_) notes_ += table(r) + '\n';
    }

    static std::string table(const BenchRow& r) {
        std::string t = fmt::format(
            "\n| {:<8} | {:<18} | {:<12} | {:>9} | {:>6} | {:>9} | {:>9} | {:>7} | {:>7} | {:>6} "
            "| {} |\n| {:-<8} | {:-<18} | {:-<12} | {:->8}: | {:->5}: | {:->8}: | {:->8}: | "
            "{:->6}: | {:->6}: | {:->5}: | ------ |\n",
            "step", "of", "layers", "ms", "share", "MB", "GOP", "GB/s", "GOP/s", "% roof", "kernel",
            "", "", "", "", "", "", "", "", "", "");
        for (const StepGroup& g : r.steps) {
            const StepCost& c = g.total.cost;
            const double ops = c.int8_ops + c.bf16_ops + c.f32_ops;
            t += fmt::format(
                "| {:<8} | {:<18} | {:<12} | {:>9.3f} | {:>6.1f} | {:>9.2f} | {:>9.3f} | {:>7.1f} "
                "| {:>7.1f} | {:>6} | {} |\n",
                g.kind, g.name, g.layers, g.seconds * 1e3, 100 * share(g.seconds, r.timed_s),
                c.bytes / 1e6, ops / 1e9, share(c.bytes / 1e9, g.seconds),
                share(ops / 1e9, g.seconds),
                !r.measured      ? std::string("-")
                : g.above_roof() ? std::string(">100")
                                 : fmt::format("{:.1f}", 100 * share(g.total.ideal_s, g.seconds)),
                g.kernel);
        }
        t += "\na step ends when its last thread does; one without a barrier (decode's prepares) "
             "is timed on\nthread 0; >100: its bytes came from a cache\n";
        return t;
    }

    bool steps_;
    std::string notes_;
};

}  // namespace

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
    if (format == "md") writer = std::make_unique<MarkdownWriter>(steps);
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
