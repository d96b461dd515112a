// Turns a stream of bytes into text, piece by piece, without ever splitting a code point.
//
// Tokens of a byte-level or byte-fall-back vocabulary may end in the middle of a code point. The
// stream holds such bytes back until the code point is whole. Bytes that cannot become one are
// replaced by U+FFFD as soon as that is certain, one for each maximal subpart, as the Unicode
// standard (3.9, "U+FFFD Substitution of Maximal Subparts") and the WHATWG decoder do; so the
// concatenation of all pieces does not depend on where the stream was cut.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ridge {

class Utf8Stream {
  public:
    // Takes more bytes, returns the text that is certain by now: well-formed UTF-8, maybe empty.
    std::string push(std::string_view bytes);

    // Ends the stream: an unfinished code point becomes U+FFFD. The object is as new afterwards.
    std::string finish();

    // Number of bytes held back (0 to 3).
    size_t pending() const { return held_.size(); }

  private:
    std::string held_;    // a proper prefix of a well-formed sequence
    uint8_t length_ = 0;  // of the whole sequence
    uint8_t low_ = 0;     // bounds of the next byte
    uint8_t high_ = 0;
};

}  // namespace ridge
