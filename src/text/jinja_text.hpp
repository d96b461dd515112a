// Text inside a chat template: UTF-8 that remembers, byte by byte, where it came from.
//
// What a template writes itself may spell control tokens; what came in with messages, tools or
// variables never does. Every operation (slice, replace, join, case, ...) keeps the origin of each
// byte, so that "<|im_start|>" put together from a message stays letters however it got there.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::jinja {

class Text {
  public:
    // `end` is where the run ends; it begins where the one before it ends.
    struct Run {
        size_t end;
        bool user;
    };

    Text() = default;
    Text(std::string bytes, bool user);

    const std::string& bytes() const { return bytes_; }
    size_t size() const { return bytes_.size(); }
    bool empty() const { return bytes_.empty(); }
    const std::vector<Run>& runs() const { return runs_; }

    void append(std::string_view bytes, bool user);
    void append(const Text& other) { append(other, 0, other.size()); }
    // Bytes [begin, end) of `other`, which is not this text.
    void append(const Text& other, size_t begin, size_t end);
    Text slice(size_t begin, size_t end) const;
    // Whether any byte came from outside the template.
    bool has_user() const;

  private:
    std::string bytes_;
    std::vector<Run> runs_;
};

// Positions in Python count code points, here bytes. `s` is well-formed UTF-8.
size_t count_code_points(std::string_view s);
// Byte offset of code point `n`; s.size() where there are fewer.
size_t byte_offset(std::string_view s, size_t n);
// What str.isspace() takes: Unicode's White_Space and the separators 1C to 1F.
bool is_python_space(uint32_t code_point);
// The value of what str.isdecimal() takes; -1 of all else. str.isdigit() and str.isnumeric() take
// more (jinja_digits.cpp).
int decimal_value(uint32_t code_point);
bool is_digit(uint32_t code_point);
bool is_numeric(uint32_t code_point);
// First byte that is no white space, and the end of the last one; begin == end where there is none.
struct Span {
    size_t begin;
    size_t end;
};
Span stripped(std::string_view s, bool left, bool right);
// The same for the code points that `set` lists.
Span stripped(std::string_view s, std::string_view set, bool left, bool right);

enum class Case { lower, upper, capitalize, title };
// str.lower(), upper(), capitalize() and title(), special casing included.
Text change_case(const Text& text, Case to);
bool is_lower(std::string_view s);  // str.islower()
bool is_upper(std::string_view s);  // str.isupper()

// Finds `what` in `s` from `from` on; npos where it is not. Linear in the worst case.
size_t find(std::string_view s, std::string_view what, size_t from = 0);

}  // namespace ridge::jinja
