#include "runtime/profile.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/cpu.hpp"
#include "base/output_file.hpp"

namespace ridge {
namespace {

using nlohmann::json;

constexpr int version = 1;
constexpr uint64_t explore_every = 16;
constexpr double same = 0.98;              // this share of the best rate counts as equal
constexpr size_t largest_file = 1u << 20;  // bytes; a profile has a few hundred
constexpr size_t most_machines = 64;       // of a shared home folder
constexpr unsigned most_cores = 4096;
const char* const phase_names[] = {"prefill", "decode"};

unsigned size_class(uint64_t bytes) {
    return static_cast<unsigned>(std::bit_width(bytes));
}

// An object, empty where the file is missing, too large, damaged or of another version.
json read_file(const std::string& path) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    if (error || size > largest_file) return json::object();
    std::ifstream in(path, std::ios::binary);
    std::string text(static_cast<size_t>(size), '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!in) return json::object();
    // Values deeper than ours are dropped while parsing, so that nothing nested deep is ever held.
    json file =
        json::parse(text, [](int depth, json::parse_event_t, json&) { return depth <= 5; }, false);
    if (!file.is_object()) return json::object();
    const auto found = file.find("version");
    if (found == file.end() || *found != version) return json::object();
    return file;
}

// The object under `key`, made there if it is not one.
json& child(json& parent, const std::string& key) {
    json& value = parent[key];
    if (!value.is_object()) value = json::object();
    return value;
}

}  // namespace

std::string ThreadProfile::default_path() {
    if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/')
        return std::string(cache) + "/ridge/profile.json";
    if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/')
        return std::string(home) + "/.cache/ridge/profile.json";
    return "";
}

ThreadProfile ThreadProfile::load() {
    return load(default_path(), cpu().model, physical_cores());
}

ThreadProfile ThreadProfile::load(std::string path, std::string cpu_model, unsigned cores) {
    ThreadProfile profile;
    profile.path_ = std::move(path);
    profile.cores_ = std::clamp(cores, 1u, most_cores);
    profile.machine_ = std::move(cpu_model) + ", " + std::to_string(profile.cores_) + " cores";
    profile.merge_file();
    return profile;
}

// Takes over what the file knows about this machine: the better rate of each count.
void ThreadProfile::merge_file() {
    if (path_.empty()) return;
    json file = read_file(path_);
    const json& machine = child(child(file, "machines"), machine_);
    for (const auto& [phase_name, classes] : machine.items()) {
        const auto phase = std::find(std::begin(phase_names), std::end(phase_names), phase_name);
        if (phase == std::end(phase_names) || !classes.is_object()) continue;
        for (const auto& [class_name, counts] : classes.items()) {
            const unsigned long size = std::strtoul(class_name.c_str(), nullptr, 10);
            if (size > 64 || !counts.is_object()) continue;
            Entry& entry = entries_[{static_cast<unsigned>(phase - std::begin(phase_names)),
                                     static_cast<unsigned>(size)}];
            for (const auto& [count_name, seen] : counts.items()) {
                const unsigned long threads = std::strtoul(count_name.c_str(), nullptr, 10);
                if (threads < 1 || threads > cores_ || !seen.is_number()) continue;
                const double rate = seen.get<double>();
                if (!std::isfinite(rate) || rate <= 0) continue;
                Seen& known = entry.counts[static_cast<unsigned>(threads)];
                known.best = std::max(known.best, rate);
                known.times = std::max<uint64_t>(known.times, 1);
            }
        }
    }
}

unsigned ThreadProfile::fastest(const Entry& entry) const {
    double best = 0;
    for (const auto& [threads, seen] : entry.counts) best = std::max(best, seen.best);
    for (const auto& [threads, seen] : entry.counts) {  // ascending: the fewest come first
        if (seen.best >= same * best) return threads;
    }
    return cores_;
}

unsigned ThreadProfile::choose(Phase phase, uint64_t model_bytes) {
    Entry& entry = entries_[{phase, size_class(model_bytes)}];
    const unsigned best = fastest(entry);
    if (cores_ <= 2 || entry.counts.empty() || ++entry.asked % explore_every != 0) return best;
    // Near the best: one step and a quarter of the way, both directions.
    const unsigned quarter = std::max(1u, best / 4);
    unsigned choice = best;
    uint64_t least = UINT64_MAX;
    for (const unsigned threads : {best - 1, best + 1, best - quarter, best + quarter}) {
        if (threads < 1 || threads > cores_) continue;
        const auto seen = entry.counts.find(threads);
        const uint64_t times = seen == entry.counts.end() ? 0 : seen->second.times;
        if (times < least) {
            least = times;
            choice = threads;
        }
    }
    return choice;
}

void ThreadProfile::record(Phase phase, unsigned threads, double tokens_per_s,
                           uint64_t model_bytes) {
    if (threads < 1 || threads > cores_ || !std::isfinite(tokens_per_s) || tokens_per_s <= 0)
        return;
    Seen& seen = entries_[{phase, size_class(model_bytes)}].counts[threads];
    seen.best = std::max(seen.best, tokens_per_s);
    ++seen.times;
    changed_ = true;
}

Status ThreadProfile::save() {
    if (path_.empty() || !changed_) return {};
    merge_file();
    json file = read_file(path_);
    file["version"] = version;
    json& machines = child(file, "machines");
    if (machines.size() >= most_machines && !machines.contains(machine_)) machines.clear();
    json& machine = machines[machine_];
    machine = json::object();
    for (const auto& [key, entry] : entries_) {
        for (const auto& [threads, seen] : entry.counts) {
            json& phase = child(machine, phase_names[key.first]);
            child(phase, std::to_string(key.second))[std::to_string(threads)] = seen.best;
        }
    }

    const std::string what = "the thread profile " + path_ + " could not be written: ";
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
    if (error) return fail(ErrorCode::io, what + error.message());
    const Status done =
        write_file(path_, file.dump(1, ' ', true, json::error_handler_t::replace) + '\n',
                   OutputFile::Special::refuse);
    if (!done) return fail(ErrorCode::io, what + done.error().message);
    changed_ = false;
    return {};
}

}  // namespace ridge
