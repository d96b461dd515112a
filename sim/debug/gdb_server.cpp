#include "sim/debug/gdb_server.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ridge::sim {
namespace {

using rv32::Hart;
using rv32::Stop;
using rv32::Touch;

// Register numbers as gdb knows them for RISC-V.
constexpr uint32_t pc_number = 32, f_base = 33, csr_base = 65, register_end = csr_base + 4096;
constexpr const char* error_reply = "E01";

std::string target_description() {
    std::string text =
        "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target version=\"1.0\">"
        "<architecture>riscv:rv32</architecture><feature name=\"org.gnu.gdb.riscv.cpu\">";
    for (int r = 0; r < 32; ++r)
        text += fmt::format("<reg name=\"x{}\" bitsize=\"32\" type=\"{}\" regnum=\"{}\"/>", r,
                            r == 1   ? "code_ptr"
                            : r == 2 ? "data_ptr"
                                     : "int",
                            r);
    text +=
        "<reg name=\"pc\" bitsize=\"32\" type=\"code_ptr\" regnum=\"32\"/></feature>"
        "<feature name=\"org.gnu.gdb.riscv.fpu\">";
    for (uint32_t r = 0; r < 32; ++r)
        text += fmt::format("<reg name=\"f{}\" bitsize=\"32\" type=\"ieee_single\" regnum=\"{}\"/>",
                            r, f_base + r);
    constexpr const char* status[] = {"fflags", "frm", "fcsr"};
    for (uint32_t c = 1; c <= 3; ++c)
        text += fmt::format("<reg name=\"{}\" bitsize=\"32\" type=\"int\" regnum=\"{}\"/>",
                            status[c - 1], csr_base + c);
    text += "</feature><feature name=\"org.gnu.gdb.riscv.csr\">";
    struct Csr {
        const char* name;
        uint32_t number;
    };
    for (const Csr& c :
         {Csr{"mstatus", 0x300}, Csr{"misa", 0x301}, Csr{"mie", 0x304}, Csr{"mtvec", 0x305},
          Csr{"mscratch", 0x340}, Csr{"mepc", 0x341}, Csr{"mcause", 0x342}, Csr{"mtval", 0x343},
          Csr{"mip", 0x344}, Csr{"mcycle", 0xb00}, Csr{"minstret", 0xb02}, Csr{"mcycleh", 0xb80},
          Csr{"minstreth", 0xb82}, Csr{"mhartid", 0xf14}})
        text += fmt::format("<reg name=\"{}\" bitsize=\"32\" type=\"int\" regnum=\"{}\"/>", c.name,
                            csr_base + c.number);
    return text + "</feature></target>";
}

// Part of `text` that a qXfer request ("offset,length" in hex at the end) asks for.
std::string slice(const std::string& text, const std::string& packet) {
    size_t at = packet.rfind(':') + 1;
    uint64_t offset = 0, length = 0;
    if (!take_number(packet, at, offset) || at >= packet.size() || packet[at++] != ',' ||
        !take_number(packet, at, length))
        return error_reply;
    if (offset >= text.size()) return "l";
    const std::string part = text.substr(offset, std::min<uint64_t>(length, 0x3000));
    return (offset + part.size() < text.size() ? "m" : "l") + part;
}

}  // namespace

Status GdbServer::serve(uint16_t port, const std::function<void(uint16_t)>& listening) {
    RIDGE_TRY(socket_.listen(port));
    if (listening) listening(socket_.port());
    RIDGE_TRY(socket_.accept());
    machine_.stop_at_ebreak = true;
    while (!over_) {
        const auto packet = socket_.receive();
        if (!packet) break;
        if (*packet == "\x03") continue;  // nothing runs
        if (*packet == "QStartNoAckMode") {
            if (!socket_.send("OK")) break;
            socket_.stop_acknowledging();
            continue;
        }
        if (*packet == "k") break;
        if (!socket_.send(answer(*packet))) break;
    }
    machine_.stop_at_ebreak = false;
    return {};
}

std::string GdbServer::answer(const std::string& packet) {
    if (packet.empty()) return "";
    switch (packet[0]) {
        case '?':
            return stop_reply("", hart_);
        case 'g': {
            std::string all;
            for (uint32_t r = 0; r < csr_base; ++r) all += read_register(hart_, r);
            return all;
        }
        case 'G': {
            const auto bytes = from_hex(packet.substr(1));
            if (!bytes || bytes->size() < 4 * size_t{f_base}) return error_reply;
            for (uint32_t r = 0; r < csr_base && 4 * r + 4 <= bytes->size(); ++r) {
                uint32_t value = 0;
                std::copy_n(bytes->data() + 4 * r, 4, reinterpret_cast<char*>(&value));
                write_register(hart_, r, value);
            }
            return "OK";
        }
        case 'p': {
            size_t at = 1;
            uint64_t number = 0;
            if (!take_number(packet, at, number) || number >= register_end) return error_reply;
            return read_register(hart_, static_cast<uint32_t>(number));
        }
        case 'P': {
            size_t at = 1;
            uint64_t number = 0;
            if (!take_number(packet, at, number) || at >= packet.size() || packet[at] != '=')
                return error_reply;
            const auto bytes = from_hex(packet.substr(at + 1));
            if (!bytes || bytes->size() != 4 || number >= register_end) return error_reply;
            uint32_t value = 0;
            std::copy_n(bytes->data(), 4, reinterpret_cast<char*>(&value));
            return write_register(hart_, static_cast<uint32_t>(number), value) ? "OK" : error_reply;
        }
        case 'm':
            return read_memory(packet);
        case 'M':
            return write_memory(packet, false);
        case 'X':
            return write_memory(packet, true);
        case 'Z':
        case 'z':
            return point(packet);
        case 'H':
            choose(packet);
            return "OK";
        case 'T': {
            size_t at = 1;
            uint64_t thread = 0;
            const bool there =
                take_number(packet, at, thread) && thread >= 1 && thread <= machine_.harts.size();
            return there ? "OK" : error_reply;
        }
        case 'D':
            over_ = detached_ = true;
            return "OK";
        case 'c':
        case 's':
            return run(packet[0] == 's', hart_);
        case 'v':
            return resume(packet);
        case 'q':
            return query(packet);
        default:
            return "";
    }
}

std::string GdbServer::query(const std::string& packet) {
    if (packet.starts_with("qSupported"))
        return "PacketSize=8000;qXfer:features:read+;QStartNoAckMode+;swbreak+;hwbreak+;"
               "vContSupported+";
    if (packet.starts_with("qXfer:features:read:target.xml:"))
        return slice(target_description(), packet);
    if (packet == "qfThreadInfo") {
        std::string text = "m";
        for (size_t h = 0; h < machine_.harts.size(); ++h)
            text += fmt::format("{}{:x}", h ? "," : "", h + 1);
        return text;
    }
    if (packet == "qsThreadInfo") return "l";
    if (packet == "qC") return fmt::format("QC{:x}", hart_ + 1);
    if (packet.starts_with("qAttached")) return "1";
    return "";
}

void GdbServer::choose(const std::string& packet) {
    size_t at = 2;
    uint64_t thread = 0;
    if (packet.size() > 2 && packet[2] != '-' && take_number(packet, at, thread) && thread >= 1 &&
        thread <= machine_.harts.size())
        hart_ = static_cast<uint32_t>(thread - 1);
}

std::string GdbServer::resume(const std::string& packet) {
    if (packet == "vCont?") return "vCont;c;C;s;S";
    if (!packet.starts_with("vCont;")) return "";
    // The first action that steps decides; harts without one of their own go on in cycle order.
    for (size_t at = 5; at != std::string::npos && at + 1 < packet.size();
         at = packet.find(';', at + 1)) {
        const char action = packet[at + 1];
        if (action != 's' && action != 'S') continue;
        uint64_t thread = hart_ + 1;
        size_t colon = packet.find(':', at);
        if (colon != std::string::npos && colon < packet.find(';', at + 1))
            take_number(packet, ++colon, thread);
        const uint64_t count = machine_.harts.size();
        return run(true, static_cast<uint32_t>(std::clamp<uint64_t>(thread, 1, count) - 1));
    }
    return run(false, hart_);
}

std::string GdbServer::run(bool one_step, uint32_t hart) {
    constexpr uint32_t look_every = 2048;  // instructions between looks for Ctrl-C
    machine_.memory.last_hit = {};
    const uint64_t before = machine_.harts[hart].instret + machine_.harts[hart].traps;
    for (uint64_t n = 0;; ++n) {
        const Hart* const next = machine_.next_hart();
        // A breakpoint stops before its instruction, except where the program stands on it.
        if (n != 0 && next && breakpoints_.contains(next->pc)) {
            hart_ = next->id;
            return stop_reply("swbreak:;", hart_);
        }
        const uint32_t ran = next ? next->id : hart;
        machine_.step();
        if (machine_.stop == Stop::exit) {
            over_ = true;
            return fmt::format("W{:02x}", machine_.exit_code & 255);
        }
        if (machine_.memory.last_hit.hit) {
            hart_ = ran;
            const auto& hit = machine_.memory.last_hit;
            const char* const kind = hit.touch == Touch::read    ? "rwatch"
                                     : hit.touch == Touch::write ? "watch"
                                                                 : "awatch";
            return stop_reply(fmt::format("{}:{:x};", kind, hit.address), hart_);
        }
        if (machine_.stop != Stop::none) {
            hart_ = ran;
            return stop_reply("", hart_);
        }
        if (one_step && machine_.harts[hart].instret + machine_.harts[hart].traps != before) {
            hart_ = hart;
            return stop_reply("", hart_);
        }
        if (n % look_every == look_every - 1 && socket_.interrupted())
            return fmt::format("T02thread:{:x};", hart_ + 1);
    }
}

std::string GdbServer::stop_reply(const std::string& reason, uint32_t hart) const {
    return fmt::format("T05{}thread:{:x};", reason, hart + 1);
}

std::string GdbServer::read_register(uint32_t hart, uint32_t number) const {
    const Hart& h = machine_.harts[hart];
    if (number < 32) return to_hex(h.x[number]);
    if (number == pc_number) return to_hex(h.pc);
    if (number < csr_base) return to_hex(h.f[number - f_base]);
    uint32_t value = 0;
    switch (number - csr_base) {
        case 1:
            return to_hex(h.fflags);
        case 2:
            return to_hex(h.frm);
        case 3:
            return to_hex(h.frm << 5 | h.fflags);
        default:
            if (!machine_.read_csr(h, number - csr_base, value)) return error_reply;
            return to_hex(value);
    }
}

bool GdbServer::write_register(uint32_t hart, uint32_t number, uint32_t value) {
    Hart& h = machine_.harts[hart];
    if (number < 32)
        h.set_x(number, value);
    else if (number == pc_number)
        h.pc = value & ~1u;
    else if (number < csr_base)
        h.f[number - f_base] = value;
    else
        return machine_.write_csr(h, number - csr_base, value);
    return true;
}

std::string GdbServer::read_memory(const std::string& packet) const {
    size_t at = 1;
    uint64_t address = 0, length = 0;
    if (!take_number(packet, at, address) || at >= packet.size() || packet[at++] != ',' ||
        !take_number(packet, at, length) || length > 0x4000)
        return error_reply;
    std::string text;
    for (uint64_t i = 0; i < length; ++i) {
        uint8_t byte = 0;
        if (!machine_.peek(static_cast<uint32_t>(address + i), byte)) break;
        text += to_hex(&byte, 1);
    }
    return text.empty() && length != 0 ? error_reply : text;
}

std::string GdbServer::write_memory(const std::string& packet, bool binary) {
    size_t at = 1;
    uint64_t address = 0, length = 0;
    if (!take_number(packet, at, address) || at >= packet.size() || packet[at++] != ',' ||
        !take_number(packet, at, length) || at >= packet.size() || packet[at++] != ':')
        return error_reply;
    const auto bytes = binary ? std::optional(packet.substr(at)) : from_hex(packet.substr(at));
    if (!bytes || bytes->size() != length) return error_reply;
    if (length == 0) return "OK";
    const bool done = machine_.memory.write(static_cast<uint32_t>(address), bytes->data(), length);
    return done ? "OK" : error_reply;
}

std::string GdbServer::point(const std::string& packet) {
    const bool set = packet[0] == 'Z';
    size_t at = 3;
    uint64_t address = 0, length = 0;
    if (packet.size() < 4 || !take_number(packet, at, address) || at >= packet.size() ||
        packet[at++] != ',' || !take_number(packet, at, length))
        return error_reply;
    const auto where = static_cast<uint32_t>(address);
    const auto bytes = static_cast<uint32_t>(std::clamp<uint64_t>(length, 1, 4096));
    const auto watch = [&](Touch touch) {
        if (set)
            machine_.memory.watch(where, bytes, touch);
        else
            machine_.memory.unwatch(where, bytes, touch);
    };
    switch (packet[1]) {
        case '0':
        case '1':
            if (set)
                breakpoints_.insert(where);
            else
                breakpoints_.erase(where);
            return "OK";
        case '2':
            watch(Touch::write);
            return "OK";
        case '3':
            watch(Touch::read);
            return "OK";
        case '4':
            watch(Touch::both);
            return "OK";
        default:
            return "";
    }
}

}  // namespace ridge::sim
