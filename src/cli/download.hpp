// One file over HTTP, in pieces if need be: `ridge pull`.
#pragma once

#include <functional>
#include <string>

#include "base/status.hpp"

namespace ridge::cli {

struct Download {
    std::string url;     // http or https
    std::string path;    // where the file goes; PATH.part and PATH.part.tag until it is whole
    std::string sha256;  // expected; empty: what the server says of it, if it does
    std::string bearer;  // sent to the first host only; empty: none
    int retries = 5;     // after a connection that was cut without any new byte
    // Bytes there and in all (0: unknown), now and then; false stops.
    std::function<bool(uint64_t done, uint64_t total)> progress = {};
};

struct Downloaded {
    uint64_t bytes = 0, resumed_at = 0;
    std::string sha256;    // of the file
    bool checked = false;  // against an expected one
};

// Errors: not_found (404), io (network, disk, server), bad_file (another checksum, no GGUF in a
// .gguf), cancelled, unsupported (built without libcurl). A part that is whole so far stays for the
// next try, and is continued only when the server says that its file is still the same.
Result<Downloaded> download(const Download& what);

}  // namespace ridge::cli
