// Any bytes as a model file: opened, described, its tokenizer used, its model loaded and run over
// three tokens. Whatever is wrong with the file must end in a status.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "format/gguf.hpp"
#include "memory_file.hpp"
#include "runtime/model.hpp"
#include "text/tokenizer.hpp"
#include "text/vocab.hpp"

namespace {

using namespace ridge;

void describe(const GgufFile& file) {
    size_t length = 0;
    for (const std::string& key : file.keys()) length += file.describe(key).size();
    for (const TensorInfo& tensor : file.tensors()) length += tensor.name.size();
    if (length == SIZE_MAX) std::abort();  // keeps the work
}

void use_tokenizer(const GgufFile& file) {
    const Result<VocabData> vocab = read_vocab(file);
    if (!vocab) return;
    const Result<Tokenizer> tokenizer = Tokenizer::create(*vocab);
    if (!tokenizer) return;
    const std::vector<int32_t> ids =
        tokenizer->encode("<s> Once upon\ta time, 1234\xe2\x80\xa6\xff", true, true);
    for (const int32_t id : ids)
        if (id < 0 || id >= tokenizer->size()) std::abort();
    (void)tokenizer->decode(ids);
}

void run_model(const std::string& path) {
    ModelOptions options;
    options.threads = 1;
    options.chunk = 4;
    options.max_logits = 1;
    options.vocabulary = false;
    const Result<std::unique_ptr<Model>> model = Model::load(path, options);
    if (!model) return;
    ContextOptions small;
    small.context = 8;
    const Result<std::unique_ptr<Context>> context = Context::create(**model, small);
    if (!context) return;
    const std::vector<int32_t> tokens = {1, 0, 1};
    (void)(*context)->prefill(0, tokens);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const fuzz::MemoryFile memory(data, size);
    const Result<GgufFile> file = GgufFile::open(memory.path());
    if (!file) return 0;
    describe(*file);
    use_tokenizer(*file);
    run_model(memory.path());
    return 0;
}
