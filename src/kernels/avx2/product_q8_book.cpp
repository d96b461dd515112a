// int8 products, instantiated: iq4_nl iq4_xs mxfp4.
#include "kernels/avx2/product_q8.hpp"
#include "kernels/avx2/set.hpp"

namespace ridge::avx2 {

void product_q8_iq4_nl(const ProductArgs& p) {
    product_q8<DType::iq4_nl>(p);
}
void product_q8_iq4_xs(const ProductArgs& p) {
    product_q8<DType::iq4_xs>(p);
}
void product_q8_mxfp4(const ProductArgs& p) {
    product_q8<DType::mxfp4>(p);
}

}  // namespace ridge::avx2
