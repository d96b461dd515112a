// int8 products, instantiated: q2_k q3_k q4_k q5_k q6_k.
#include "kernels/avx2/product_q8.hpp"
#include "kernels/avx2/set.hpp"

namespace ridge::avx2 {

void product_q8_q2_k(const ProductArgs& p) {
    product_q8<DType::q2_k>(p);
}
void product_q8_q3_k(const ProductArgs& p) {
    product_q8<DType::q3_k>(p);
}
void product_q8_q4_k(const ProductArgs& p) {
    product_q8<DType::q4_k>(p);
}
void product_q8_q5_k(const ProductArgs& p) {
    product_q8<DType::q5_k>(p);
}
void product_q8_q6_k(const ProductArgs& p) {
    product_q8<DType::q6_k>(p);
}

}  // namespace ridge::avx2
