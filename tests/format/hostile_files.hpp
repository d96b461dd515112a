// Hostile model files, made by code: every item of shared/research/reliability-anchors.md section 2
// as a tiny file (hostile_files_test.cpp, hostile_values_test.cpp, hostile_vocab_test.cpp).
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gguf_image.hpp"
#include "support/temp_dir.hpp"

namespace ridge::test {

// What loading the file and computing three tokens must do. Where `either` stands, what matters is
// that there is an outcome: neither a signal nor a hang.
enum class Outcome { refused, either, works };

struct HostileFile {
    int number;  // of its class in section 2, 1 to 9
    std::string name;
    std::string bytes;
    Outcome outcome;
    std::string file = "h.gguf";                                   // what it must be called
    std::vector<std::pair<std::string, std::string>> beside = {};  // more files: name, bytes

    // Writes it, and what belongs beside it; returns its path.
    std::string write(const TempDir& dir) const;
};

// The small valid models that are changed, by architecture; `llama` has a SentencePiece vocabulary.
using HostileBases = std::map<std::string, GgufImage>;
HostileBases hostile_bases(const TempDir& dir);

std::vector<HostileFile> hostile_files(const HostileBases& bases);

// Collects them. Files are made from the llama unless said otherwise.
class HostileMaker {
  public:
    explicit HostileMaker(const HostileBases& bases) : bases_(bases) {}

    const GgufImage& base(const std::string& architecture = "llama") const {
        return bases_.at(architecture);
    }
    void set_class(int number) { number_ = number; }
    void add(std::string name, std::string bytes, Outcome outcome = Outcome::refused) {
        out_.push_back({number_, std::move(name), std::move(bytes), outcome});
    }
    void add(HostileFile file) {
        file.number = number_;
        out_.push_back(std::move(file));
    }
    template <typename F>
    void changed(const std::string& name, Outcome outcome, F&& change) {
        GgufImage image = base();
        change(image);
        add(name, image.bytes(), outcome);
    }
    // One value set, or removed where it is empty.
    void with(const GgufImage& from, const std::string& key, const std::string& what,
              const std::string& value, Outcome outcome) {
        GgufImage image = from;
        image.set(key, value);
        add(key + " " + what, image.bytes(), outcome);
    }
    std::vector<HostileFile> take() { return std::move(out_); }

  private:
    const HostileBases& bases_;
    int number_ = 0;
    std::vector<HostileFile> out_;
};

// Parts of the list.
void add_value_files(HostileMaker& make);       // 2
void add_vocabulary_files(HostileMaker& make);  // 5
void add_template_files(HostileMaker& make);    // 6
void add_payload_files(HostileMaker& make);     // 9

// What counts and lengths are set to.
inline constexpr uint64_t hostile_limits[] = {1u << 31,   1ull << 32, 1ull << 62,
                                              1ull << 63, ~0ull - 31, ~0ull};

}  // namespace ridge::test
