/* Continues a text: cc continue.c $(pkg-config --cflags --libs ridge) -o continue
 *   ./continue MODEL.gguf "Once upon a time" [TOKENS] */
#include <ridge/ridge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(void) {
    fprintf(stderr, "%s\n", ridge_error());
    return 1;
}

int main(int argc, char** argv) {
    ridge_model* model = NULL;
    ridge_context* context = NULL;
    ridge_sampler* sampler = NULL;
    ridge_sampler_params sampling;
    int32_t* ids;
    int64_t n;
    long left = argc > 3 ? strtol(argv[3], NULL, 10) : 64;

    if (argc < 3) {
        fprintf(stderr, "usage: %s MODEL.gguf TEXT [TOKENS]\n", argv[0]);
        return 2;
    }
    if (ridge_model_open(argv[1], NULL, &model) != RIDGE_OK) return failed();
    if (ridge_context_create(model, NULL, &context) != RIDGE_OK) return failed();
    ridge_sampler_defaults(&sampling);
    sampling.temperature = 0; /* greedy */
    if (ridge_sampler_create(model, &sampling, &sampler) != RIDGE_OK) return failed();

    n = ridge_tokenize(model, argv[2], strlen(argv[2]), 1, 0, NULL, 0);
    if (n <= 0) return failed();
    ids = (int32_t*)malloc((size_t)n * sizeof *ids);
    if (ids == NULL) return 1;
    ridge_tokenize(model, argv[2], strlen(argv[2]), 1, 0, ids, (size_t)n);
    if (ridge_prompt(context, 0, ids, (size_t)n) < 0) return failed();

    while (left-- > 0) {
        ridge_token next = {0, -1, 0, 1};
        const char* text;
        size_t bytes;
        next.token = ridge_sample(sampler, ridge_logits(context, -1));
        if (next.token < 0) return failed();
        if (ridge_token_is_end(model, next.token)) break;
        text = ridge_token_bytes(model, next.token, &bytes);
        fwrite(text, 1, bytes, stdout);
        fflush(stdout);
        if (left > 0 && ridge_decode(context, &next, 1) != RIDGE_OK) return failed();
    }
    printf("\n");

    free(ids);
    ridge_sampler_free(sampler);
    ridge_context_free(context);
    ridge_model_free(model);
    return 0;
}
