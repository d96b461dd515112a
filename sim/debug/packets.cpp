#include "sim/debug/packets.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace ridge::sim {
namespace {
constexpr size_t longest = 65536;

int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}
}  // namespace

std::string to_hex(const uint8_t* data, size_t size) {
    std::string text;
    for (size_t i = 0; i < size; ++i) text += fmt::format("{:02x}", data[i]);
    return text;
}

std::string to_hex(uint32_t word) {
    uint8_t bytes[4];
    std::memcpy(bytes, &word, 4);
    return to_hex(bytes, 4);
}

std::optional<std::string> from_hex(const std::string& text) {
    if (text.size() % 2) return std::nullopt;
    std::string bytes;
    for (size_t i = 0; i < text.size(); i += 2) {
        const int high = digit(text[i]), low = digit(text[i + 1]);
        if (high < 0 || low < 0) return std::nullopt;
        bytes.push_back(static_cast<char>(high * 16 + low));
    }
    return bytes;
}

bool take_number(const std::string& text, size_t& at, uint64_t& value) {
    const size_t begin = at;
    value = 0;
    while (at < text.size() && at - begin < 16 && digit(text[at]) >= 0)
        value = value * 16 + static_cast<uint64_t>(digit(text[at++]));
    return at > begin;
}

PacketSocket::~PacketSocket() {
    if (socket_ >= 0) close(socket_);
    if (listener_ >= 0) close(listener_);
}

Status PacketSocket::listen(uint16_t port) {
    const auto failed = [&](const char* what) {
        return fail(ErrorCode::io,
                    fmt::format("port {} on 127.0.0.1 {}: {}", port, what, std::strerror(errno)));
    };
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener_ < 0) return failed("has no socket");
    const int on = 1;
    setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
        return failed("cannot be used");
    if (::listen(listener_, 1) != 0) return failed("cannot listen");
    socklen_t size = sizeof address;
    if (getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
        return failed("has no name");
    port_ = ntohs(address.sin_port);
    return {};
}

Status PacketSocket::accept() {
    do {
        socket_ = ::accept(listener_, nullptr, nullptr);
    } while (socket_ < 0 && errno == EINTR);
    if (socket_ < 0)
        return fail(ErrorCode::io, fmt::format("port {}: {}", port_, std::strerror(errno)));
    const int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return {};
}

int PacketSocket::get(bool wait) {
    if (at_ == buffer_.size()) {
        char chunk[4096];
        ssize_t n = 0;
        do {
            n = recv(socket_, chunk, sizeof chunk, wait ? 0 : MSG_DONTWAIT);
        } while (n < 0 && errno == EINTR);
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return -2;
        if (n <= 0) return -1;
        buffer_.assign(chunk, static_cast<size_t>(n));
        at_ = 0;
    }
    return static_cast<unsigned char>(buffer_[at_++]);
}

bool PacketSocket::interrupted() {
    const int byte = get(false);
    if (byte == -2) return false;
    if (byte == 3 || byte == -1) return true;
    --at_;  // the beginning of a packet: for receive()
    return false;
}

std::optional<std::string> PacketSocket::receive() {
    while (true) {
        int byte = get(true);
        if (byte < 0) return std::nullopt;
        if (byte == 3) return "\x03";
        if (byte != '$') continue;  // acknowledgements, noise
        std::string data;
        unsigned sum = 0;
        while ((byte = get(true)) >= 0 && byte != '#' && data.size() < longest) {
            sum += static_cast<unsigned>(byte);
            if (byte == '}') {  // escaped
                const int next = get(true);
                if (next < 0) return std::nullopt;
                sum += static_cast<unsigned>(next);
                byte = next ^ 0x20;
            }
            data.push_back(static_cast<char>(byte));
        }
        if (byte != '#') return std::nullopt;
        const int high = get(true), low = get(true);
        if (high < 0 || low < 0) return std::nullopt;
        const bool good = digit(static_cast<char>(high)) * 16 + digit(static_cast<char>(low)) ==
                          static_cast<int>(sum & 255);
        if (acknowledge_ && ::send(socket_, good ? "+" : "-", 1, MSG_NOSIGNAL) != 1)
            return std::nullopt;
        if (good) return data;
    }
}

bool PacketSocket::send(const std::string& data) {
    unsigned sum = 0;
    for (const char c : data) sum += static_cast<unsigned char>(c);
    const std::string packet = fmt::format("${}#{:02x}", data, sum & 255);
    size_t sent = 0;
    while (sent < packet.size()) {
        const ssize_t n = ::send(socket_, packet.data() + sent, packet.size() - sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        sent += static_cast<size_t>(n);
    }
    return true;
}

}  // namespace ridge::sim
