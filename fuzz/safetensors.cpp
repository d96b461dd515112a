// Any bytes as the files beside GGUF that ridge reads: a safetensors file, whose tensors are then
// read whole, an importance matrix and a SentencePiece model.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "format/convert_vocab.hpp"
#include "format/imatrix.hpp"
#include "format/safetensors.hpp"
#include "memory_file.hpp"

using namespace ridge;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const fuzz::MemoryFile memory(data, size);
    if (const auto file = SafetensorsFile::open(memory.path())) {
        uint64_t total = 0;
        for (const SafeTensor& t : file->tensors()) {
            if (t.bytes > size || (t.bytes > 0 && t.data == nullptr)) std::abort();
            std::vector<uint8_t> bytes(t.bytes);
            if (!file->read(t.data, t.bytes, bytes.data())) std::abort();
            total += bytes.size();
        }
        if (total == UINT64_MAX) std::abort();  // keeps the work
    }
    if (const auto matrix = ImportanceMatrix::open(memory.path()))
        if (matrix->size() == 0) std::abort();
    convert::Vocabulary vocabulary(300);
    (void)convert::read_sentencepiece(memory.path(), vocabulary);
    if (vocabulary.tokens.size() != 300) std::abort();
    return 0;
}
