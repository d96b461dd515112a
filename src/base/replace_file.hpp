// What a program is about to replace by renaming another file onto it.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/status.hpp"

namespace ridge {

// May a new file take the name `path`? It may where there is nothing or a regular file. Renaming
// onto a device or a pipe (/dev/null, /dev/full) would put a plain file in its place. Errors: io.
inline Status may_replace(const std::string& path) {
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return {};
    return fail(ErrorCode::io,
                "'" + path + "' " +
                    (S_ISDIR(info.st_mode) ? "is a directory" : "is no regular file") +
                    "; give the name of a file");
}

}  // namespace ridge
