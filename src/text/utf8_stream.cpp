#include "text/utf8_stream.hpp"

#include "text/unicode.hpp"

namespace ridge {
std::string Utf8Stream::push(std::string_view bytes) {
    std::string out;
    for (const char c : bytes) {
        const auto byte = static_cast<uint8_t>(c);
        if (!held_.empty()) {
            if (byte >= low_ && byte <= high_) {
                held_.push_back(c);
                low_ = 0x80;
                high_ = 0xBF;
                if (held_.size() == length_) {
                    out += held_;
                    held_.clear();
                }
                continue;
            }
            out += text::kReplacement;  // what was held is over; this byte begins anew
            held_.clear();
        }
        const text::LeadByte lead = text::lead_byte(byte);
        if (lead.length == 1) {
            out.push_back(c);
        } else if (lead.length == 0) {
            out += text::kReplacement;
        } else {
            held_.push_back(c);
            length_ = lead.length;
            low_ = lead.low;
            high_ = lead.high;
        }
    }
    return out;
}

std::string Utf8Stream::finish() {
    if (held_.empty()) return {};
    held_.clear();
    return std::string(text::kReplacement);
}

}  // namespace ridge
