#include "sim/soc/trace.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace ridge::sim {

uint32_t Trace::add_row(const std::string& name) {
    rows_.push_back(name);
    return static_cast<uint32_t>(rows_.size() - 1);
}

uint64_t Trace::busy(uint32_t row) const {
    uint64_t sum = 0;
    for (const Slice& s : slices_)
        if (s.row == row) sum += s.end - s.begin;
    return sum;
}

std::string Trace::json(uint64_t cpu_mhz, const std::string& title) const {
    using nlohmann::json;
    const auto us = [&](uint64_t cycles) {
        return static_cast<double>(cycles) / static_cast<double>(cpu_mhz);
    };
    json events = json::array();
    events.push_back(
        {{"ph", "M"}, {"pid", 1}, {"name", "process_name"}, {"args", {{"name", title}}}});
    for (size_t r = 0; r < rows_.size(); ++r) {
        events.push_back({{"ph", "M"},
                          {"pid", 1},
                          {"tid", r + 1},
                          {"name", "thread_name"},
                          {"args", {{"name", rows_[r]}}}});
        events.push_back({{"ph", "M"},
                          {"pid", 1},
                          {"tid", r + 1},
                          {"name", "thread_sort_index"},
                          {"args", {{"sort_index", r}}}});
    }
    for (const Slice& s : slices_) {
        json args = {{"cycle", s.begin}, {"cycles", s.end - s.begin}};
        if (!s.detail.empty()) args["detail"] = s.detail;
        events.push_back({{"ph", "X"},
                          {"pid", 1},
                          {"tid", s.row + 1},
                          {"name", s.name},
                          {"ts", us(s.begin)},
                          {"dur", us(s.end - s.begin)},
                          {"args", std::move(args)}});
    }
    return json{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}}.dump() + "\n";
}

}  // namespace ridge::sim
