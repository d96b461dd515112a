// Checkpoints of llama2.c (the "version 0" export, f32) with their tokenizer.bin, as GGUF.
#pragma once

#include <string>

#include "base/status.hpp"

namespace ridge {

// Reads a checkpoint and its tokenizer and writes a GGUF of architecture llama with F32 weights and
// a SentencePiece vocabulary. llama2.c rotates adjacent pairs, as llama GGUFs do, so rows keep
// their order. Errors: those of opening files; bad_file (sizes that do not add up), unsupported
// (the newer exports, which start with "ak42"), io.
Status convert_llama2c(const std::string& checkpoint, const std::string& tokenizer,
                       const std::string& out);

}  // namespace ridge
