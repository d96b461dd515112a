#include "cli/inspect_cpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/cpu.hpp"

namespace ridge::cli {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> features() {
    const CpuFeatures& c = cpu();
    const std::pair<const char*, bool> all[] = {{"avx2", c.avx2},
                                                {"fma", c.fma},
                                                {"f16c", c.f16c},
                                                {"avx512f", c.avx512f},
                                                {"avx512bw", c.avx512bw},
                                                {"avx512vl", c.avx512vl},
                                                {"avx512dq", c.avx512dq},
                                                {"avx512_vnni", c.avx512_vnni},
                                                {"avx512_bf16", c.avx512_bf16},
                                                {"avx_vnni", c.avx_vnni}};
    std::vector<std::string> out;
    for (const auto& [text, has] : all)
        if (has) out.emplace_back(text);
    return out;
}

bool has_product(const KernelSet& set, DType weight, ActFormat act) {
    return std::any_of(set.products.begin(), set.products.end(),
                       [&](const ProductKernel& k) { return k.weight == weight && k.act == act; });
}

// The chain as it went: sets passed over, then the one that has the product.
std::string reason(const KernelChoice& choice, DType weight, ActFormat act) {
    std::string why;
    bool reached = false;
    for (const KernelSet& s : kernel_sets()) {
        reached = reached || &s == choice.set;
        if (!reached) {
            if (!s.supported()) why += std::string(s.name) + ": not on this CPU; ";
            continue;
        }
        if (has_product(s, weight, act)) return why + s.name + ": first that has it";
        why += std::string(s.name) + ": has none; ";
    }
    return why;
}

}  // namespace

const char* act_format_name(ActFormat format) {
    switch (format) {
        case ActFormat::q8:
            return "q8";
        case ActFormat::f32:
            return "f32";
        case ActFormat::bf16:
            return "bf16";
    }
    return "";
}

Json cpu_json(const KernelChoice& choice) {
    const CacheSizes caches = cache_sizes();
    Json j;
    j["model"] = cpu().model;
    j["family"] = cpu().family;
    j["model_number"] = cpu().model_number;
    j["features"] = features();
    j["cores"] = physical_cores();
    j["cpus"] = allowed_cpus();
    j["caches"] = {{"l1d", caches.l1d}, {"l2", caches.l2}, {"l3", caches.l3}};
    j["sets"] = Json::array();
    for (const KernelSet& s : kernel_sets())
        j["sets"].push_back({{"name", s.name},
                             {"needs", s.needs},
                             {"supported", s.supported()},
                             {"products", s.products.size()}});
    j["chosen_set"] = choice.set->name;
    j["products"] = Json::array();
    for (size_t t = 0; t < static_cast<size_t>(DType::count_); ++t)
        for (const ActFormat act : {ActFormat::q8, ActFormat::bf16, ActFormat::f32}) {
            const auto type = static_cast<DType>(t);
            const ProductKernel* kernel = choice.product(type, act);
            if (kernel == nullptr) continue;
            j["products"].push_back({{"weight", name(type)},
                                     {"activations", act_format_name(act)},
                                     {"preferred", preferred_act(type) == act},
                                     {"kernel", kernel->name},
                                     {"why", reason(choice, type, act)}});
        }
    return j;
}

void print_cpu(const Json& j) {
    fmt::print("{} (family {}, model {})\n", j["model"].get<std::string>(), j["family"].get<int>(),
               j["model_number"].get<int>());
    fmt::print("cores     {} ({} CPUs allowed)\n", j["cores"].get<int>(), j["cpus"].get<int>());
    const auto kib = [&](const char* key) { return j["caches"][key].get<uint64_t>() / 1024; };
    fmt::print("caches    L1d {} KiB, L2 {} KiB, L3 {} KiB\n", kib("l1d"), kib("l2"), kib("l3"));
    std::string line = "features ";
    for (const Json& f : j["features"]) {
        const std::string text = f.get<std::string>();
        if (line.size() + text.size() > 76) {
            fmt::print("{}\n", line);
            line = "         ";
        }
        line += " " + text;
    }
    fmt::print("{}\n", line);
    for (const Json& s : j["sets"])
        fmt::print("set       {:<7} {:<4} needs {}\n", s["name"].get<std::string>(),
                   s["supported"].get<bool>() ? "yes" : "no", s["needs"].get<std::string>());
    fmt::print("chosen    {}\n\n{:<7} {:<5} {:<26} {}\n", j["chosen_set"].get<std::string>(),
               "weight", "act", "kernel (* = default)", "why");
    for (const Json& p : j["products"])
        fmt::print("{:<7} {:<5} {:<26} {}\n", p["weight"].get<std::string>(),
                   p["activations"].get<std::string>(),
                   p["kernel"].get<std::string>() + (p["preferred"].get<bool>() ? " *" : ""),
                   p["why"].get<std::string>().substr(0, 38));
}

}  // namespace ridge::cli
