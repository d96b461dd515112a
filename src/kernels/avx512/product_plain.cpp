// Products of F32, F16 and BF16 weights read straight from their packed pairs.
#include "kernels/avx512/product_plain.hpp"

#include "kernels/avx512/set.hpp"

namespace ridge::avx512 {

void product_f32_f32(const ProductArgs& p) {
    product_plain<F32Step<float>>(p, p.k);
}
void product_f32_f16(const ProductArgs& p) {
    product_plain<F32Step<uint16_t>>(p, p.k);
}
void product_bf16_bf16(const ProductArgs& p) {
    product_plain<Bf16Step>(p, (p.k + 1) / 2);
}

}  // namespace ridge::avx512
