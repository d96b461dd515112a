// ridge inspect --cpu: what this machine offers and which kernel each kind of weight gets.
#pragma once

#include <nlohmann/json.hpp>

#include "kernels/registry.hpp"

namespace ridge::cli {

// {"model", "features", "cores", "cpus", "caches", "sets": [...], "chosen_set", "products": [...]}.
// A product has weight, activations, kernel, preferred (what a model gets by default) and why.
nlohmann::ordered_json cpu_json(const KernelChoice& choice);
void print_cpu(const nlohmann::ordered_json& cpu);

const char* act_format_name(ActFormat format);

}  // namespace ridge::cli
