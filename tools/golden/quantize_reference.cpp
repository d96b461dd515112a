// Measures llama.cpp's quantizers (ggml_quantize_chunk) on the inputs of
// tests/format/quantize_inputs.hpp and prints tests/data/quantize/reference.json. At development
// time only; built by hand against a llama.cpp tree P (commit in the notice beside the data):
//
//   g++ -std=c++20 -O2 -Itests -IP/ggml/include tools/golden/quantize_reference.cpp \
//       P/build/ggml/src/libggml-base.a -lpthread -lm -fopenmp -o /tmp/quantize_reference
//   /tmp/quantize_reference >tests/data/quantize/reference.json
#include <cmath>
#include <cstdio>
#include <vector>

#include "format/quantize_inputs.hpp"
#include "ggml.h"

int main() {
    using namespace ridge::test;
    const ggml_type types[] = {GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0,
                               GGML_TYPE_Q5_1, GGML_TYPE_Q8_0, GGML_TYPE_Q4_K,
                               GGML_TYPE_Q5_K, GGML_TYPE_Q6_K, GGML_TYPE_IQ4_NL};
    const char* names[] = {"Q4_0", "Q4_1", "Q5_0", "Q5_1",  "Q8_0",
                           "Q4_K", "Q5_K", "Q6_K", "IQ4_NL"};
    const std::vector<float> importance = quant_importance();
    std::printf("[");
    bool first = true;
    for (size_t t = 0; t < std::size(types); ++t)
        for (size_t kind = 0; kind < std::size(quant_inputs); ++kind)
            for (const bool weighted : {false, true}) {
                const std::vector<float> x = quant_input(kind);
                const float* w = weighted ? importance.data() : nullptr;
                std::vector<unsigned char> blocks(ggml_row_size(types[t], quant_columns) *
                                                  quant_rows);
                ggml_quantize_chunk(types[t], x.data(), blocks.data(), 0, quant_rows, quant_columns,
                                    w);
                std::vector<float> y(x.size());
                ggml_get_type_traits(types[t])->to_float(blocks.data(), y.data(),
                                                         static_cast<int64_t>(y.size()));
                std::printf(
                    "%s\n {\"type\": \"%s\", \"input\": \"%s\", \"importance\": %s, "
                    "\"error\": %.6e}",
                    first ? "" : ",", names[t], quant_inputs[kind], weighted ? "true" : "false",
                    std::sqrt(quant_error_squared(x, y, w)));
                first = false;
            }
    std::printf("\n]\n");
}
