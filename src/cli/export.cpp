// ridge export: a model as the image that a board's firmware runs.
#include <fmt/format.h>

#include "base/output_file.hpp"
#include "cli/boards.hpp"
#include "cli/common.hpp"
#include "cli/verbs.hpp"
#include "image/export.hpp"

namespace ridge::cli {
namespace {

struct ExportArgs {
    std::string model, board = "ai-max-395", out, calibration;
};

int export_model(const ExportArgs& a) {
    const auto board = find_board_with_firmware(a.board);
    if (!board) return complain(board.error());
    const auto path = find_model(a.model);
    if (!path) return complain(path.error());
    const auto prompts = calibration_text(**board, a.calibration);
    if (!prompts) return complain(prompts.error());
    const auto file = GgufFile::open(*path);
    if (!file) return complain(file.error());
    std::vector<std::string> inputs = file->paths();
    inputs.push_back(a.calibration);
    if (const Status apart = no_input(a.out, inputs); !apart) return complain(apart.error());
    const auto image = image::export_image(*file, *prompts);
    if (!image) return complain(image.error());
    const std::string_view bytes(reinterpret_cast<const char*>(image->bytes.data()),
                                 image->bytes.size());
    if (const Status written = write_file(a.out, bytes); !written) return complain(written.error());
    fmt::print("{}\n", image->summary);
    return 0;
}

}  // namespace

void add_export(CLI::App& app, int& code) {
    auto a = std::make_shared<ExportArgs>();
    CLI::App* v = app.add_subcommand("export", "A model as the image that a board's firmware runs");
    add_model_option(*v, a->model);
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
