// PCRE2 as the oracle: splits text by the patterns that the tokenizers publish.
#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::test {

class Regex {
  public:
    explicit Regex(const std::string& pattern) {
        int error = 0;
        PCRE2_SIZE at = 0;
        code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                  PCRE2_UTF | PCRE2_UCP, &error, &at, nullptr));
        if (!code_) throw std::runtime_error("pattern " + pattern + " does not compile");
        pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);  // where there is one
        match_.reset(pcre2_match_data_create_from_pattern(code_.get(), nullptr));
    }

    // First match at or after `from`: begin and end, or false.
    bool search(std::string_view text, size_t from, size_t& begin, size_t& end) {
        // Whether the text is well-formed is looked at once, not again at every match.
        const uint32_t checked = from == 0 ? 0 : PCRE2_NO_UTF_CHECK;
        int found = match(text, from, checked);
        if (found == PCRE2_ERROR_JIT_STACKLIMIT) found = match(text, from, checked | PCRE2_NO_JIT);
        if (found == PCRE2_ERROR_NOMATCH) return false;
        if (found < 0) throw std::runtime_error("pcre2_match fails");
        const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(match_.get());
        begin = ends[0];
        end = ends[1];
        return true;
    }

    // The number of the capture group that takes part in a match at the start, or 0.
    uint32_t group(std::string_view text) {
        const int found = match(text, 0, PCRE2_ANCHORED | PCRE2_NO_JIT);
        return found < 2 ? 0 : static_cast<uint32_t>(found - 1);
    }

    // The matches and what lies between them.
    std::vector<std::string> split(const std::string& text) {
        std::vector<std::string> pieces;
        size_t at = 0;
        size_t begin = 0;
        size_t end = 0;
        while (at < text.size() && search(text, at, begin, end)) {
            if (begin > at) pieces.push_back(text.substr(at, begin - at));
            pieces.push_back(text.substr(begin, end - begin));
            at = end;
        }
        if (at < text.size()) pieces.push_back(text.substr(at));
        return pieces;
    }

  private:
    int match(std::string_view text, size_t from, uint32_t options) {
        return pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                           from, options, match_.get(), nullptr);
    }

    struct Free {
        void operator()(pcre2_code* p) const { pcre2_code_free(p); }
        void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
    };
    std::unique_ptr<pcre2_code, Free> code_;
    std::unique_ptr<pcre2_match_data, Free> match_;
};

}  // namespace ridge::test
