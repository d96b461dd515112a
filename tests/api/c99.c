/* ridge.h is C99: this file need only compile, with every warning an error. */
#include <ridge/ridge.h>

int use(void);
int use(void) {
    ridge_model_params p;
    ridge_model_defaults(&p);
    return (int)(p.size + sizeof(ridge_token) + sizeof(ridge_context_params));
}
