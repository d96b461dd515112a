// How many threads to use on this machine: remembered between runs, refined while running.
//
// The start is one thread a physical core that the affinity mask allows. After each answer the
// engine records the tokens per second that it saw; the profile keeps the best of each thread count
// and answers with the count that was fastest, the smaller where two are within 2 %: decode is
// often bound by memory long before all cores are used. Entries are kept by processor, by the
// number of allowed cores, by phase, and by the size class of the model (a factor of two each),
// because small models feel the barriers more.
//
// Where more than two cores are allowed, every 16th question is answered with a count near the
// best that was tried least, so that a better one is found; with one or two cores there is nothing
// worth finding, and the answer is always all of them until a record says otherwise.
//
// The profile is a hint: a missing, unreadable or damaged file is the same as an empty one, and is
// replaced by the next save. Thread counts never change a result (DESIGN.md, Numerics).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <map>
#include <string>
#include <utility>

#include "base/status.hpp"

namespace ridge {

class ThreadProfile {
  public:
    // From profile.json in $XDG_CACHE_HOME/ridge, else ~/.cache/ridge, for this processor and the
    // cores that the calling thread may use now.
    static ThreadProfile load();
    // The same from a named file, for another machine; an empty path is never read nor written.
    static ThreadProfile load(std::string path, std::string cpu_model, unsigned cores);

    // Threads to use for a model of `model_bytes` bytes of weights: 1..cores.
    unsigned prefill_threads(uint64_t model_bytes) { return choose(prefill, model_bytes); }
    unsigned decode_threads(uint64_t model_bytes) { return choose(decode, model_bytes); }

    // What was seen. Rates that are not positive numbers and counts outside 1..cores are ignored.
    void record_prefill(unsigned threads, double tokens_per_s, uint64_t model_bytes) {
        record(prefill, threads, tokens_per_s, model_bytes);
    }
    void record_decode(unsigned threads, double tokens_per_s, uint64_t model_bytes) {
        record(decode, threads, tokens_per_s, model_bytes);
    }

    // Writes the file anew, whole or not at all (a temporary file, then rename), after taking over
    // what other processes have put there. Does nothing where nothing was recorded. Error: io.
    Status save();

    unsigned cores() const { return cores_; }
    const std::string& path() const { return path_; }
    // $XDG_CACHE_HOME/ridge/profile.json, else $HOME/.cache/ridge/profile.json, else empty.
    static std::string default_path();

  private:
    enum Phase : unsigned { prefill, decode };
    struct Seen {
        double best = 0;     // tokens per second
        uint64_t times = 0;  // records
    };
    struct Entry {
        std::map<unsigned, Seen> counts;  // by threads
        uint64_t asked = 0;
    };
    using Key = std::pair<unsigned, unsigned>;  // phase, size class

    unsigned choose(Phase phase, uint64_t model_bytes);
    void record(Phase phase, unsigned threads, double tokens_per_s, uint64_t model_bytes);
    unsigned fastest(const Entry& entry) const;
    void merge_file();

    std::string path_;
    std::string machine_;  // key of this machine in the file
    unsigned cores_ = 1;
    std::map<Key, Entry> entries_;
    bool changed_ = false;
};

}  // namespace ridge
