// Products with f32 activations, instantiated: quantized types and BF16.
#include "kernels/avx512/product_f32.hpp"
#include "kernels/avx512/set.hpp"

namespace ridge::avx512 {

void product_f32_q4_0(const ProductArgs& p) {
    product_panel_f32<DType::q4_0>(p);
}
void product_f32_q4_1(const ProductArgs& p) {
    product_panel_f32<DType::q4_1>(p);
}
void product_f32_q5_0(const ProductArgs& p) {
    product_panel_f32<DType::q5_0>(p);
}
void product_f32_q5_1(const ProductArgs& p) {
    product_panel_f32<DType::q5_1>(p);
}
void product_f32_q8_0(const ProductArgs& p) {
    product_panel_f32<DType::q8_0>(p);
}
void product_f32_q2_k(const ProductArgs& p) {
    product_panel_f32<DType::q2_k>(p);
}
void product_f32_q3_k(const ProductArgs& p) {
    product_panel_f32<DType::q3_k>(p);
}
void product_f32_q4_k(const ProductArgs& p) {
    product_panel_f32<DType::q4_k>(p);
}
void product_f32_q5_k(const ProductArgs& p) {
    product_panel_f32<DType::q5_k>(p);
}
void product_f32_q6_k(const ProductArgs& p) {
    product_panel_f32<DType::q6_k>(p);
}
void product_f32_iq4_nl(const ProductArgs& p) {
    product_panel_f32<DType::iq4_nl>(p);
}
void product_f32_iq4_xs(const ProductArgs& p) {
    product_panel_f32<DType::iq4_xs>(p);
}
void product_f32_mxfp4(const ProductArgs& p) {
    product_panel_f32<DType::mxfp4>(p);
}
void product_f32_bf16(const ProductArgs& p) {
    product_panel_f32<DType::bf16>(p);
}

}  // namespace ridge::avx512
