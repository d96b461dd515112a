// A board file: the numbers of a model with where each comes from. Read at run time, so that a
// sweep or another chip needs no build.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "sim/rv32/insn.hpp"

namespace ridge::sim {

struct BoardValue {
    int64_t value = 0;
    std::string basis;  // stated, assumption, measured; "set" where the user replaced it
    std::string why;
};

class Board {
  public:
    // Errors: not_found, io, bad_file with line or key. Every value needs basis and why; stated and
    // assumption are told apart here already. The default profile is applied.
    static Result<Board> load(const std::string& path);
    static Result<Board> parse(const std::string& text, const std::string& name);

    // Replaces values: a profile by name, or "key=value". Errors: unknown names (with what there
    // is), values that are no number or below 1.
    Status apply_profile(const std::string& name);
    Status set(const std::string& assignment);

    // A value by "table.key". The loader has checked that all that the model asks for are there.
    int64_t operator[](const std::string& key) const { return values_.at(key).value; }
    uint64_t number(const std::string& key) const { return static_cast<uint64_t>((*this)[key]); }

    // Cycles of each cost; flash lines stretched where flash is slower than the stated 1200 MB/s.
    std::array<uint64_t, rv32::cost_count> costs() const;

    const std::map<std::string, BoardValue>& values() const { return values_; }
    std::vector<std::string> profiles() const;
    const std::string& name() const { return name_; }
    const std::string& title() const { return title_; }
    const std::string& profile() const { return profile_; }

  private:
    std::string name_, title_, profile_;
    std::map<std::string, BoardValue> values_;
    std::map<std::string, std::map<std::string, int64_t>> profiles_;
};

}  // namespace ridge::sim
