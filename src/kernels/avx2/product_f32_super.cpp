// Products with f32 activations, instantiated: q2_k q3_k q4_k q5_k q6_k iq4_xs.
#include "kernels/avx2/product_f32.hpp"
#include "kernels/avx2/set.hpp"

namespace ridge::avx2 {

void product_f32_q2_k(const ProductArgs& p) {
    product_panel<DType::q2_k>(p);
}
void product_f32_q3_k(const ProductArgs& p) {
    product_panel<DType::q3_k>(p);
}
void product_f32_q4_k(const ProductArgs& p) {
    product_panel<DType::q4_k>(p);
}
void product_f32_q5_k(const ProductArgs& p) {
    product_panel<DType::q5_k>(p);
}
void product_f32_q6_k(const ProductArgs& p) {
    product_panel<DType::q6_k>(p);
}
void product_f32_iq4_xs(const ProductArgs& p) {
    product_panel<DType::iq4_xs>(p);
}

}  // namespace ridge::avx2
