// A GGUF model quantized as a whole: `ridge quantize`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "format/quant_plan.hpp"

namespace ridge {

struct QuantizeOptions {
    std::string target = "Q4_K_M";  // find_quant_target
    std::string importance;         // file of an importance matrix, or empty
    bool pure = false;              // one type for all matrices
    bool allow_requantize = false;  // take quantized matrices too
    unsigned threads = 1;
    // Called now and then, from any thread but never twice at once, with the share that is done;
    // false stops: the error is then `cancelled`.
    std::function<bool(double share)> progress = {};
};

struct QuantizeReport {
    struct Tensor {
        std::string name;
        DType from, to;
        DType wanted;  // another than `to` where its block does not divide the columns
        uint64_t columns;
        bool weighted;
    };
    std::vector<Tensor> tensors;
    uint64_t bytes_in = 0, bytes_out = 0;  // of tensors
    uint64_t weights = 0;
};

// What quantize_model() would do; reads metadata only. Errors: those of opening; invalid_argument
// (unknown target, an importance of another size); unsupported (mixture of experts, quantized
// input without allow_requantize).
Result<QuantizeReport> plan_model(const std::string& in, const QuantizeOptions& options);

// Reads `in` (all its parts) and writes one file `out`, which exists only once it is complete.
// Errors, beside those: invalid_argument (`out` is a file that is read), bad_file (a weight that is
// not finite), io, cancelled.
Result<QuantizeReport> quantize_model(const std::string& in, const std::string& out,
                                      const QuantizeOptions& options);

}  // namespace ridge
