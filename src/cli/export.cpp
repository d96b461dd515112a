// ridge export: a model as the image that a board's firmware runs.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/boards.hpp"
#include "cli/common.hpp"
#include "cli/verbs.hpp"
#include "image/export.hpp"

namespace ridge::cli {
namespace {

struct ExportArgs {
    std::string model, board = "ai-max-395", out, calibration;
};

// Writes beside `path` and renames, so that no half image has that name; devices and pipes
// directly.
Status write_image(const std::string& path, const std::vector<uint8_t>& bytes) {
    struct stat info = {};
    const bool there = ::stat(path.c_str(), &info) == 0;
    const bool direct = there && !S_ISREG(info.st_mode);
    const std::string to = direct ? path : path + ".part";
    const auto cannot = [&](const char* what) {
        const int error = errno;
        if (!direct) ::unlink(to.c_str());
        return fail(ErrorCode::io,
                    fmt::format("the image cannot be {} '{}': {}; give another path with -o", what,
                                path, std::strerror(error)));
    };
    const int file = ::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) return cannot("created as");
    for (size_t done = 0; done < bytes.size();) {
        const ssize_t n = ::write(file, bytes.data() + done, bytes.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            ::close(file);
            return cannot("written to");
        }
        done += static_cast<size_t>(n);
    }
    if (::close(file) != 0) return cannot("written to");
    if (!direct && ::rename(to.c_str(), path.c_str()) != 0) return cannot("renamed to");
    return {};
}

int export_model(const ExportArgs& a) {
    const auto board = find_board_with_firmware(a.board);
    if (!board) return complain(board.error());
    const auto path = find_model(a.model);
    if (!path) return complain(path.error());
    const auto prompts = calibration_text(**board, a.calibration);
    if (!prompts) return complain(prompts.error());
    const auto file = GgufFile::open(*path);
    if (!file) return complain(file.error());
    const auto image = image::export_image(*file, *prompts);
    if (!image) return complain(image.error());
    if (const Status written = write_image(a.out, image->bytes); !written)
        return complain(written.error());
    fmt::print("{}\n", image->summary);
    return 0;
}

}  // namespace

void add_export(CLI::App& app, int& code) {
    auto a = std::make_shared<ExportArgs>();
    CLI::App* v = app.add_subcommand("export", "A model as the image that a board's firmware runs");
    v->add_option("model", a->model, "GGUF file, or the name of one in the model folder")
        ->required();
    v->add_option("--board", a->board, "the board; with firmware here: " + boards_with_firmware())
        ->capture_default_str();
    v->add_option("-o,--output", a->out, "the image to write, such as model.bin")->required();
    v->add_option(
        "--calibration-text", a->calibration,
        "prompts, one a line, from which ranges are taken (default: 200 that ship with the "
        "board; lines that begin with # are left out)");
    v->footer(
        "Says by how much a model does not fit. Image and firmware make a chip's flash; 'ridge "
        "run\n"
        "--board' does it all on the simulated chip.");
    v->callback([a, &code] { code = export_model(*a); });
}

}  // namespace ridge::cli
