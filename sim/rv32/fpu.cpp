#include "sim/rv32/fpu.hpp"

#include <bit>
#include <cmath>

namespace ridge::rv32 {
namespace {

constexpr uint32_t sign_bit = 0x80000000u;
constexpr uint32_t infinity = 0x7f800000u;

bool is_nan(uint32_t a) {
    return (a & ~sign_bit) > infinity;
}
bool is_signaling(uint32_t a) {
    return is_nan(a) && !(a & 0x00400000u);
}
bool is_inf(uint32_t a) {
    return (a & ~sign_bit) == infinity;
}
bool is_zero(uint32_t a) {
    return (a & ~sign_bit) == 0;
}

// A finite, nonzero number: sig * 2^exp with the leading one of sig at bit 23.
struct Parts {
    bool sign;
    int exp;
    uint64_t sig;
};

Parts unpack(uint32_t a) {
    const int biased = static_cast<int>(a >> 23) & 0xff;
    uint64_t sig = a & 0x7fffffu;
    int exp = biased - 150;
    if (biased == 0) {
        const int shift = std::countl_zero(static_cast<uint32_t>(sig)) - 8;
        sig <<= shift;
        exp = -149 - shift;
    } else {
        sig |= 0x800000u;
    }
    return {(a & sign_bit) != 0, exp, sig};
}

uint64_t shift_right_jam(uint64_t value, int by) {
    if (by <= 0) return value;
    if (by > 63) return value != 0;
    return (value >> by) | ((value << (64 - by)) != 0);
}

// (sig >> drop) rounded; `inexact` says whether anything was lost.
uint64_t round_at(uint64_t sig, int drop, bool sign, uint32_t rm, bool& inexact) {
    if (drop > 63) {
        inexact = sig != 0;
        return inexact && ((rm == rdn && sign) || (rm == rup && !sign)) ? 1 : 0;
    }
    const uint64_t kept = sig >> drop;
    const uint64_t lost = sig & ((uint64_t{1} << drop) - 1);
    const uint64_t half = drop > 0 ? uint64_t{1} << (drop - 1) : 0;
    inexact = lost != 0;
    if (!inexact) return kept;
    switch (rm) {
        case rne:
            return kept + (lost > half || (lost == half && (kept & 1)));
        case rdn:
            return kept + (sign ? 1 : 0);
        case rup:
            return kept + (sign ? 0 : 1);
        case rmm:
            return kept + (lost >= half);
        default:
            return kept;
    }
}

// sig * 2^exp, sig nonzero with a sticky lowest bit, as a number of the format.
uint32_t round_pack(bool sign, int exp, uint64_t sig, uint32_t rm, uint32_t& fflags) {
    const int shift = std::countl_zero(sig) - 1;  // leading one to bit 62
    sig <<= shift;
    const int lead = exp - shift + 62;  // exponent of the leading one
    const uint32_t s = sign ? sign_bit : 0;
    bool inexact = false;
    if (lead < -126) {
        // Tiny unless rounding with an unbounded exponent reaches 2^-126.
        bool ignored = false;
        const bool tiny = lead < -127 || round_at(sig, 39, sign, rm, ignored) >> 24 == 0;
        const uint64_t kept = round_at(sig, 39 - 126 - lead, sign, rm, inexact);
        if (inexact) fflags |= flag_nx | (tiny ? flag_uf : 0);
        return s | static_cast<uint32_t>(kept);  // a carry makes the smallest normal number
    }
    const uint64_t kept = round_at(sig, 39, sign, rm, inexact);
    const int biased = lead + 127 + (kept >> 24 ? 1 : 0);
    if (biased >= 255) {
        fflags |= flag_of | flag_nx;
        const bool to_max = rm == rtz || (rm == rdn && !sign) || (rm == rup && sign);
        return s | (to_max ? infinity - 1 : infinity);
    }
    if (inexact) fflags |= flag_nx;
    const uint32_t fraction = kept >> 24 ? 0 : static_cast<uint32_t>(kept) & 0x7fffffu;
    return s | static_cast<uint32_t>(biased) << 23 | fraction;
}

uint32_t nan_of(uint32_t a, uint32_t b, uint32_t& fflags) {
    if (is_signaling(a) || is_signaling(b)) fflags |= flag_nv;
    return canonical_nan;
}

uint32_t invalid(uint32_t& fflags) {
    fflags |= flag_nv;
    return canonical_nan;
}

uint32_t zero_of_sum(bool sign_a, bool sign_b, uint32_t rm) {
    if (sign_a == sign_b) return sign_a ? sign_bit : 0;
    return rm == rdn ? sign_bit : 0;
}

// a + b for numbers in 64-bit form, each with a leading one at bit 60 or 61.
uint32_t add_parts(Parts a, Parts b, uint32_t rm, uint32_t& fflags) {
    if (a.exp < b.exp) {
        const Parts t = a;
        a = b;
        b = t;
    }
    b.sig = shift_right_jam(b.sig, a.exp - b.exp);
    if (a.sign == b.sign) return round_pack(a.sign, a.exp, a.sig + b.sig, rm, fflags);
    if (a.sig == b.sig) return rm == rdn ? sign_bit : 0;
    if (a.sig > b.sig) return round_pack(a.sign, a.exp, a.sig - b.sig, rm, fflags);
    return round_pack(b.sign, a.exp, b.sig - a.sig, rm, fflags);
}

// Host arithmetic is right to the bit where rounding is to nearest, inexact is flagged already, and
// operands and result are normal: then no flag can change. `wide` keeps the result away from the
// underflow threshold.
bool plain(uint32_t a) {
    const uint32_t e = (a >> 23) & 0xff;
    return e != 0 && e != 255;
}
bool host_may(uint32_t rm, uint32_t fflags) {
    return rm == rne && (fflags & flag_nx);
}
bool wide(uint32_t a) {
    const uint32_t e = (a >> 23) & 0xff;
    return e > 1 && e != 255;
}
float as_float(uint32_t a) {
    return std::bit_cast<float>(a);
}

uint32_t convert_to_integer(uint32_t a, bool is_signed, uint32_t rm, uint32_t& fflags) {
    const bool sign = (a & sign_bit) != 0;
    const uint32_t most = is_signed ? 0x7fffffffu : 0xffffffffu;
    const uint32_t least = is_signed ? 0x80000000u : 0;
    if (is_nan(a) || is_inf(a)) {
        fflags |= flag_nv;
        return is_nan(a) || !sign ? most : least;
    }
    if (is_zero(a)) return 0;
    const Parts p = unpack(a);
    bool inexact = false;
    uint64_t magnitude = 0;
    if (p.exp >= 40) {
        magnitude = ~uint64_t{0};
    } else if (p.exp >= 0) {
        magnitude = p.sig << p.exp;
    } else {
        magnitude = round_at(p.sig, -p.exp, sign, rm, inexact);
    }
    const uint64_t limit = sign ? (is_signed ? 0x80000000u : 0) : most;
    if (magnitude > limit) {
        fflags |= flag_nv;
        return sign ? least : most;
    }
    if (inexact) fflags |= flag_nx;
    const auto value = static_cast<uint32_t>(magnitude);
    return sign ? 0 - value : value;
}

}  // namespace

uint32_t f32_add(uint32_t a, uint32_t b, uint32_t rm, uint32_t& fflags) {
    if (host_may(rm, fflags) && plain(a) && plain(b)) {
        const auto r = std::bit_cast<uint32_t>(as_float(a) + as_float(b));
        if (wide(r)) return r;
    }
    if (is_nan(a) || is_nan(b)) return nan_of(a, b, fflags);
    if (is_inf(a)) return is_inf(b) && a != b ? invalid(fflags) : a;
    if (is_inf(b)) return b;
    if (is_zero(a)) return is_zero(b) ? zero_of_sum(a >> 31, b >> 31, rm) : b;
    if (is_zero(b)) return a;
    Parts x = unpack(a), y = unpack(b);
    x.sig <<= 37, x.exp -= 37;
    y.sig <<= 37, y.exp -= 37;
    return add_parts(x, y, rm, fflags);
}

uint32_t f32_mul(uint32_t a, uint32_t b, uint32_t rm, uint32_t& fflags) {
    if (host_may(rm, fflags) && plain(a) && plain(b)) {
        const auto r = std::bit_cast<uint32_t>(as_float(a) * as_float(b));
        if (wide(r)) return r;
    }
    const uint32_t sign = (a ^ b) & sign_bit;
    if (is_nan(a) || is_nan(b)) return nan_of(a, b, fflags);
    if (is_inf(a) || is_inf(b)) return is_zero(a) || is_zero(b) ? invalid(fflags) : sign | infinity;
    if (is_zero(a) || is_zero(b)) return sign;
    const Parts x = unpack(a), y = unpack(b);
    return round_pack(sign != 0, x.exp + y.exp, x.sig * y.sig, rm, fflags);
}

uint32_t f32_div(uint32_t a, uint32_t b, uint32_t rm, uint32_t& fflags) {
    const uint32_t sign = (a ^ b) & sign_bit;
    if (is_nan(a) || is_nan(b)) return nan_of(a, b, fflags);
    if (is_inf(a)) return is_inf(b) ? invalid(fflags) : sign | infinity;
    if (is_inf(b)) return sign;
    if (is_zero(b)) {
        if (is_zero(a)) return invalid(fflags);
        fflags |= flag_dz;
        return sign | infinity;
    }
    if (is_zero(a)) return sign;
    const Parts x = unpack(a), y = unpack(b);
    const uint64_t numerator = x.sig << 38;
    const uint64_t quotient = numerator / y.sig;
    const bool rest = numerator % y.sig != 0;
    return round_pack(sign != 0, x.exp - 39 - y.exp, quotient << 1 | (rest ? 1u : 0u), rm, fflags);
}

uint32_t f32_sqrt(uint32_t a, uint32_t rm, uint32_t& fflags) {
    if (is_nan(a)) return nan_of(a, a, fflags);
    if (is_zero(a)) return a;
    if (a & sign_bit) return invalid(fflags);
    if (is_inf(a)) return a;
    Parts x = unpack(a);
    const int shift = (x.exp & 1) ? 37 : 38;  // leaves an even exponent
    const uint64_t n = x.sig << shift;
    x.exp -= shift;
    auto root = static_cast<uint64_t>(std::sqrt(static_cast<double>(n)));
    while (root * root > n) --root;
    while ((root + 1) * (root + 1) <= n) ++root;
    const bool rest = root * root != n;
    return round_pack(false, x.exp / 2 - 1, root << 1 | (rest ? 1u : 0u), rm, fflags);
}

uint32_t f32_fma(uint32_t a, uint32_t b, uint32_t c, uint32_t rm, uint32_t& fflags) {
    if (host_may(rm, fflags) && plain(a) && plain(b) && plain(c)) {
        const auto r = std::bit_cast<uint32_t>(std::fma(as_float(a), as_float(b), as_float(c)));
        if (wide(r)) return r;
    }
    const uint32_t sign = (a ^ b) & sign_bit;
    const bool inf_times_zero = (is_inf(a) && is_zero(b)) || (is_zero(a) && is_inf(b));
    if (inf_times_zero) return invalid(fflags);  // also beside a quiet NaN
    if (is_nan(a) || is_nan(b) || is_nan(c)) {
        if (is_signaling(a) || is_signaling(b) || is_signaling(c)) fflags |= flag_nv;
        return canonical_nan;
    }
    if (is_inf(a) || is_inf(b))
        return is_inf(c) && (c & sign_bit) != sign ? invalid(fflags) : sign | infinity;
    if (is_inf(c)) return c;
    if (is_zero(a) || is_zero(b)) return is_zero(c) ? zero_of_sum(sign != 0, c >> 31, rm) : c;
    const Parts x = unpack(a), y = unpack(b);
    if (is_zero(c)) return round_pack(sign != 0, x.exp + y.exp, x.sig * y.sig, rm, fflags);
    // The product has 14 free bits below it, the addend 37: what a shift loses into the sticky bit
    // lies so far below the other number's last place that cancellation cannot reach it.
    Parts product{sign != 0, x.exp + y.exp - 14, (x.sig * y.sig) << 14};
    Parts addend = unpack(c);
    addend.sig <<= 37, addend.exp -= 37;
    return add_parts(product, addend, rm, fflags);
}

uint32_t f32_min(uint32_t a, uint32_t b, uint32_t& fflags) {
    if (is_signaling(a) || is_signaling(b)) fflags |= flag_nv;
    if (is_nan(a)) return is_nan(b) ? canonical_nan : b;
    if (is_nan(b)) return a;
    uint32_t ignored = 0;
    const bool less = f32_lt(a, b, ignored) || (is_zero(a) && is_zero(b) && (a & sign_bit));
    return less ? a : b;
}

uint32_t f32_max(uint32_t a, uint32_t b, uint32_t& fflags) {
    if (is_signaling(a) || is_signaling(b)) fflags |= flag_nv;
    if (is_nan(a)) return is_nan(b) ? canonical_nan : b;
    if (is_nan(b)) return a;
    uint32_t ignored = 0;
    const bool more = f32_lt(b, a, ignored) || (is_zero(a) && is_zero(b) && (b & sign_bit));
    return more ? a : b;
}

bool f32_eq(uint32_t a, uint32_t b, uint32_t& fflags) {
    if (is_nan(a) || is_nan(b)) {
        if (is_signaling(a) || is_signaling(b)) fflags |= flag_nv;
        return false;
    }
    return a == b || (is_zero(a) && is_zero(b));
}

bool f32_lt(uint32_t a, uint32_t b, uint32_t& fflags) {
    if (is_nan(a) || is_nan(b)) {
        fflags |= flag_nv;
        return false;
    }
    if (is_zero(a) && is_zero(b)) return false;
    const bool sa = a >> 31, sb = b >> 31;
    if (sa != sb) return sa;
    return sa ? a > b : a < b;
}

bool f32_le(uint32_t a, uint32_t b, uint32_t& fflags) {
    if (is_nan(a) || is_nan(b)) {
        fflags |= flag_nv;
        return false;
    }
    return f32_lt(a, b, fflags) || f32_eq(a, b, fflags);
}

uint32_t f32_to_i32(uint32_t a, uint32_t rm, uint32_t& fflags) {
    return convert_to_integer(a, true, rm, fflags);
}
uint32_t f32_to_u32(uint32_t a, uint32_t rm, uint32_t& fflags) {
    return convert_to_integer(a, false, rm, fflags);
}

uint32_t i32_to_f32(uint32_t a, uint32_t rm, uint32_t& fflags) {
    const bool sign = a >> 31;
    if (a == 0) return 0;
    return round_pack(sign, 0, sign ? 0u - a : a, rm, fflags);
}
uint32_t u32_to_f32(uint32_t a, uint32_t rm, uint32_t& fflags) {
    return a == 0 ? 0 : round_pack(false, 0, a, rm, fflags);
}

uint32_t f32_classify(uint32_t a) {
    const bool sign = a >> 31;
    const uint32_t exp = (a >> 23) & 0xff;
    if (is_nan(a)) return is_signaling(a) ? 1u << 8 : 1u << 9;
    if (exp == 255) return sign ? 1u << 0 : 1u << 7;
    if (is_zero(a)) return sign ? 1u << 3 : 1u << 4;
    if (exp == 0) return sign ? 1u << 2 : 1u << 5;
    return sign ? 1u << 1 : 1u << 6;
}

}  // namespace ridge::rv32
