// int8 products, instantiated: q4_0 q4_1 q5_0 q5_1 q8_0.
#include "kernels/avx2/product_q8.hpp"
#include "kernels/avx2/set.hpp"

namespace ridge::avx2 {

void product_q8_q4_0(const ProductArgs& p) {
    product_q8<DType::q4_0>(p);
}
void product_q8_q4_1(const ProductArgs& p) {
    product_q8<DType::q4_1>(p);
}
void product_q8_q5_0(const ProductArgs& p) {
    product_q8<DType::q5_0>(p);
}
void product_q8_q5_1(const ProductArgs& p) {
    product_q8<DType::q5_1>(p);
}
void product_q8_q8_0(const ProductArgs& p) {
    product_q8<DType::q8_0>(p);
}

}  // namespace ridge::avx2
