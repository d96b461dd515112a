#include "sim/soc/board.hpp"

#include <fmt/format.h>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>

#include "base/mapped_file.hpp"

namespace ridge::sim {
namespace {

constexpr int64_t most = 1'000'000'000;
constexpr int64_t stated_flash = 1200;  // the rate at which the board file's line costs hold

std::vector<std::string> needed_keys() {
    std::vector<std::string> keys = {
        "clock.cpu_mhz",     "clock.mtime_hz",   "icache.bytes",      "icache.ways",
        "icache.line",       "flash.mb_per_s",   "dma.mb_per_s",      "dma.beat_bytes",
        "mau.cold_mhz",      "mau.warm_mhz",     "mau.macs_per_word", "mau.cycles_per_1000_macs",
        "mau.warm_launches", "mau.warm_busy_us", "mau.cool_idle_us",  "report.poll_window"};
    for (const std::string_view cost : rv32::cost_names)
        keys.push_back("cost." + std::string(cost));
    return keys;
}

Status check_value(const std::string& key, int64_t value) {
    if (value < 1 || value > most)
        return fail(ErrorCode::invalid_argument,
                    fmt::format("{} = {} is out of range: 1 to {}", key, value, most));
    return {};
}

}  // namespace

Result<Board> Board::load(const std::string& path) {
    RIDGE_ASSIGN(const MappedFile file, MappedFile::open(path));
    return parse({reinterpret_cast<const char*>(file.data()), file.size()}, path);
}

Result<Board> Board::parse(const std::string& text, const std::string& name) {
    const auto bad = [&](const std::string& what) {
        return fail(ErrorCode::bad_file, fmt::format("{}: {}", name, what));
    };
    toml::parse_result parsed = toml::parse(text, name);
    if (!parsed)
        return bad(fmt::format("line {}: {}", parsed.error().source().begin.line,
                               parsed.error().description()));
    const toml::table& root = parsed.table();
    Board board;
    board.name_ = root["name"].value_or(std::string());
    board.title_ = root["title"].value_or(std::string());
    for (const auto& [table_key, node] : root) {
        const toml::table* const table = node.as_table();
        if (!table) continue;
        const std::string table_name(table_key.str());
        for (const auto& [key, inner] : *table) {
            const std::string full = table_name + "." + std::string(key.str());
            const toml::table* const entry = inner.as_table();
            if (!entry) return bad(fmt::format("{} is no table", full));
            if (table_name == "profile") {
                auto& profile = board.profiles_[std::string(key.str())];
                for (const auto& [what, value] : *entry) {
                    const auto number = value.value<int64_t>();
                    if (!number) return bad(fmt::format("{}.{} is no number", full, what.str()));
                    profile[std::string(what.str())] = *number;
                }
                continue;
            }
            const auto value = (*entry)["value"].value<int64_t>();
            BoardValue v{value.value_or(0), (*entry)["basis"].value_or(std::string()),
                         (*entry)["why"].value_or(std::string())};
            if (!value ||
                (v.basis != "stated" && v.basis != "assumption" && v.basis != "measured") ||
                v.why.empty())
                return bad(fmt::format(
                    "{} needs value, basis (stated, assumption or measured) and why", full));
            if (Status range = check_value(full, v.value); !range)
                return bad(range.error().message);
            board.values_[full] = std::move(v);
        }
    }
    for (const std::string& key : needed_keys())
        if (!board.values_.contains(key)) return bad(fmt::format("{} is missing", key));
    const int64_t line = board["icache.line"], ways = board["icache.ways"];
    if ((line & (line - 1)) || line < 4 || board["icache.bytes"] % (line * ways))
        return bad("icache.bytes is not ways times lines of a power of two");
    RIDGE_TRY(board.apply_profile(root["default_profile"].value_or(std::string())));
    return board;
}

std::vector<std::string> Board::profiles() const {
    std::vector<std::string> names;
    for (const auto& [name, values] : profiles_) names.push_back(name);
    return names;
}

Status Board::apply_profile(const std::string& name) {
    const auto it = profiles_.find(name);
    if (it == profiles_.end())
        return fail(ErrorCode::not_found, fmt::format("board {} has no profile '{}'; it has {}",
                                                      name_, name, fmt::join(profiles(), ", ")));
    for (const auto& [key, value] : it->second) {
        const auto at = values_.find(key);
        if (at == values_.end())
            return fail(ErrorCode::bad_file,
                        fmt::format("profile {} sets {}, which is not there", name, key));
        RIDGE_TRY(check_value(key, value));
        at->second.value = value;
    }
    profile_ = name;
    return {};
}

Status Board::set(const std::string& assignment) {
    const size_t equals = assignment.find('=');
    const std::string key = assignment.substr(0, equals);
    const auto at = values_.find(key);
    if (equals == std::string::npos || at == values_.end())
        return fail(ErrorCode::invalid_argument,
                    fmt::format("'{}' sets nothing: write KEY=VALUE with a key of the board file, "
                                "for instance flash.mb_per_s=400",
                                assignment));
    const std::string text = assignment.substr(equals + 1);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        return fail(ErrorCode::invalid_argument,
                    fmt::format("'{}' is no whole number (for {})", text, key));
    RIDGE_TRY(check_value(key, value));
    at->second.value = value;
    at->second.basis = "set";
    return {};
}

std::array<uint64_t, rv32::cost_count> Board::costs() const {
    std::array<uint64_t, rv32::cost_count> costs{};
    for (size_t i = 0; i < costs.size(); ++i)
        costs[i] = number("cost." + std::string(rv32::cost_names[i]));
    const auto flash = static_cast<uint64_t>(std::min((*this)["flash.mb_per_s"], stated_flash));
    for (const rv32::Cost c : {rv32::Cost::flash_load, rv32::Cost::icache_flash}) {
        uint64_t& cost = costs[static_cast<size_t>(c)];
        cost = (cost * stated_flash + flash - 1) / flash;
    }
    return costs;
}

}  // namespace ridge::sim
