// Products with f32 activations, instantiated: bf16 q4_0 q4_1 q5_0 q5_1 q8_0 iq4_nl mxfp4.
#include "kernels/avx2/product_f32.hpp"
#include "kernels/avx2/set.hpp"

namespace ridge::avx2 {

void product_f32_bf16(const ProductArgs& p) {
    product_panel<DType::bf16>(p);
}
void product_f32_q4_0(const ProductArgs& p) {
    product_panel<DType::q4_0>(p);
}
void product_f32_q4_1(const ProductArgs& p) {
    product_panel<DType::q4_1>(p);
}
void product_f32_q5_0(const ProductArgs& p) {
    product_panel<DType::q5_0>(p);
}
void product_f32_q5_1(const ProductArgs& p) {
    product_panel<DType::q5_1>(p);
}
void product_f32_q8_0(const ProductArgs& p) {
    product_panel<DType::q8_0>(p);
}
void product_f32_iq4_nl(const ProductArgs& p) {
    product_panel<DType::iq4_nl>(p);
}
void product_f32_mxfp4(const ProductArgs& p) {
    product_panel<DType::mxfp4>(p);
}

}  // namespace ridge::avx2
