// The framing of gdb's remote serial protocol: $data#checksum, acknowledged with + until both sides
// agree to do without.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.hpp"

namespace ridge::sim {

std::string to_hex(const uint8_t* data, size_t size);
std::string to_hex(uint32_t little_endian_word);
// Bytes of a hexadecimal text; nothing where it is none.
std::optional<std::string> from_hex(const std::string& text);
// A number at `at`, which moves behind it; false where there is none.
bool take_number(const std::string& text, size_t& at, uint64_t& value);

// One connection on a local port. Packets longer than 64 KiB are refused.
class PacketSocket {
  public:
    PacketSocket() = default;
    ~PacketSocket();
    PacketSocket(const PacketSocket&) = delete;
    PacketSocket& operator=(const PacketSocket&) = delete;

    // Listens on 127.0.0.1; port 0 takes a free one. Error: io.
    Status listen(uint16_t port);
    uint16_t port() const { return port_; }
    Status accept();  // waits for one debugger

    // The next packet, or "\x03" for an interrupt; nothing when the connection is gone.
    std::optional<std::string> receive();
    bool interrupted();  // has the other side sent Ctrl-C? does not wait
    bool send(const std::string& data);
    void stop_acknowledging() { acknowledge_ = false; }

  private:
    int get(bool wait);  // a byte, -1: gone, -2: nothing there
    int listener_ = -1, socket_ = -1;
    uint16_t port_ = 0;
    bool acknowledge_ = true;
    std::string buffer_;
    size_t at_ = 0;
};

}  // namespace ridge::sim
