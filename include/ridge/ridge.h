/* ridge.h: ridge as a library. C99 and C++.
 *
 * A model is a loaded file; a context runs it and holds sequences; a sampler picks tokens from
 * logits.
 *
 * Errors: functions that can fail return a ridge_status (0 is success) or a count that is negative
 * then (minus the status). ridge_error() is the sentence about the last failure on this thread.
 * Nothing is printed, nothing exits, no exception leaves the library, outputs are written on
 * success only unless said otherwise.
 * A null for a handle, or for a place or text that is needed, is RIDGE_INVALID_ARGUMENT: minus that
 * where a number is returned (also for facts), null where a pointer is. Functions that return
 * nothing do nothing then.
 *
 * Threads: a model's const functions (tokenizing, facts) may be called from any number of threads
 * at once. Contexts of one model share its team of threads, so at most one call that computes
 * (ridge_decode, ridge_prefill, ridge_prompt) may run on a model at a time; contexts and samplers
 * belong to one thread at a time. ridge_cancel may be called from anywhere.
 *
 * Structs begin with their size: fill them with their ..._defaults function, which sets it. A
 * library that is newer than its caller so knows which fields the caller has. */
#ifndef RIDGE_RIDGE_H
#define RIDGE_RIDGE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RIDGE_API __attribute__((visibility("default")))
#else
#define RIDGE_API
#endif

#define RIDGE_API_VERSION 1

typedef enum ridge_status {
    RIDGE_OK = 0,
    RIDGE_INVALID_ARGUMENT = 1, /* a value out of range, or one that contradicts another */
    RIDGE_NOT_FOUND = 2,        /* a file, tensor or key does not exist */
    RIDGE_IO = 3,               /* the operating system refused a read, write or map */
    RIDGE_BAD_FILE = 4,         /* a file or state breaks its format */
    RIDGE_UNSUPPORTED = 5,      /* well formed, but outside what ridge does */
    RIDGE_OUT_OF_MEMORY = 6,
    RIDGE_CANCELLED = 7, /* ridge_cancel */
    RIDGE_INTERNAL = 8   /* a mistake of ridge's own */
} ridge_status;

typedef struct ridge_model ridge_model;
typedef struct ridge_context ridge_context;
typedef struct ridge_sampler ridge_sampler;

/* The last failure on this thread, one sentence; "" before the first. Valid until the next one. */
RIDGE_API const char* ridge_error(void);
RIDGE_API const char* ridge_version(void); /* "0.1.0" */

/* What the library does besides its results: loading, choices. Level 0 is information, 1 a warning.
 * May be called from any thread. null: none (the default). */
typedef void (*ridge_log_fn)(void* user, int32_t level, const char* text);
RIDGE_API void ridge_set_log(ridge_log_fn log, void* user);

/* --- models ----------------------------------------------------------------------------------- */

typedef enum ridge_kv_type {
    RIDGE_KV_BF16 = 0,
    RIDGE_KV_F16 = 1,
    RIDGE_KV_F32 = 2,
    RIDGE_KV_INT8 = 3
} ridge_kv_type;

typedef struct ridge_model_params {
    size_t size;
    uint32_t threads;    /* 0: as many as the process may use of physical cores */
    uint32_t batch;      /* tokens that one ridge_decode may take (512) */
    uint32_t max_logits; /* of them with logits (64) */
    int32_t kv_type;     /* ridge_kv_type */
    int32_t embeddings;  /* not 0: ridge_embedding can be asked for */
    const char* kernels; /* null: the best for this machine; "avx512", "avx2", "ref" */
    /* Share of the loading that is done, 0 to 1; null: none. */
    void (*progress)(void* user, double share);
    void* progress_user;
} ridge_model_params;

RIDGE_API void ridge_model_defaults(ridge_model_params* params);
/* Opens a GGUF file. params may be null. Free the model after its contexts. */
RIDGE_API ridge_status ridge_model_open(const char* path, const ridge_model_params* params,
                                        ridge_model** model);
RIDGE_API void ridge_model_free(ridge_model* model); /* null is fine */

RIDGE_API int32_t ridge_model_vocabulary(const ridge_model* model); /* number of tokens */
RIDGE_API int32_t ridge_model_hidden(const ridge_model* model);     /* width of embeddings */
RIDGE_API int32_t ridge_model_context(const ridge_model* model); /* positions it was trained for */
RIDGE_API const char* ridge_model_architecture(const ridge_model* model);
RIDGE_API const char* ridge_model_kernels(const ridge_model* model); /* the set in use */
/* A text of the file's metadata, e.g. "general.name"; null where there is none. */
RIDGE_API const char* ridge_model_text(const ridge_model* model, const char* key);

/* --- tokens ------------------------------------------------------------------------------------
 */

/* Text to ids. Writes at most `capacity` ids and returns how many there are: more than `capacity`
 * where they did not fit (call again with room). add_special: BOS and EOS where the file asks for
 * them. parse_special: control tokens written out in the text become their ids; only for text of
 * your own, never for a user's. */
RIDGE_API int64_t ridge_tokenize(const ridge_model* model, const char* text, size_t bytes,
                                 int32_t add_special, int32_t parse_special, int32_t* ids,
                                 size_t capacity);
/* The bytes of one token, not ended by zero, possibly part of a character; none for control tokens.
 * Valid as long as the model. */
RIDGE_API const char* ridge_token_bytes(const ridge_model* model, int32_t token, size_t* bytes);
/* Ids to text, as ridge_tokenize counts and cuts. */
RIDGE_API int64_t ridge_detokenize(const ridge_model* model, const int32_t* ids, size_t n,
                                   char* text, size_t capacity);
RIDGE_API int32_t ridge_token_is_end(const ridge_model* model, int32_t token);
RIDGE_API int32_t ridge_token_bos(const ridge_model* model); /* -1: none */
RIDGE_API int32_t ridge_token_eos(const ridge_model* model);

/* --- contexts ----------------------------------------------------------------------------------
 */

typedef struct ridge_context_params {
    size_t size;
    uint32_t context;         /* positions of a sequence; 0: the model's, at most 4096 */
    uint32_t sequences;       /* 1 to 32 */
    uint32_t threads_prefill; /* 0: the model's */
    uint32_t threads_decode;
} ridge_context_params;

RIDGE_API void ridge_context_defaults(ridge_context_params* params);
RIDGE_API ridge_status ridge_context_create(ridge_model* model, const ridge_context_params* params,
                                            ridge_context** context);
RIDGE_API void ridge_context_free(ridge_context* context);

/* One token of a batch. A sequence's tokens take its next positions in order. */
typedef struct ridge_token {
    uint32_t sequence;
    int32_t position; /* -1, or the position expected: another one is an error */
    int32_t token;
    int32_t logits; /* not 0: its logits are wanted */
} ridge_token;

/* Computes a batch of at most `batch` tokens (of the model's parameters), in any order of
 * sequences. Logits and embeddings then belong to the batch's indices. On failure no sequence is
 * changed. */
RIDGE_API ridge_status ridge_decode(ridge_context* context, const ridge_token* tokens, size_t n);
/* Appends any number of tokens to a sequence, in batches; the last one's logits are then
 * ridge_logits(context, -1). Cancelled, it keeps the batches that were done. */
RIDGE_API ridge_status ridge_prefill(ridge_context* context, uint32_t sequence,
                                     const int32_t* tokens, size_t n);
/* Makes the sequence hold exactly these tokens, keeping what prefix it already has. Returns how
 * many tokens were computed, or minus a status. Logits as ridge_prefill. */
RIDGE_API int64_t ridge_prompt(ridge_context* context, uint32_t sequence, const int32_t* tokens,
                               size_t n);
/* Logits of batch index i (one that asked for them; -1: the last that did): as many floats as there
 * are tokens in the vocabulary; valid until the next computing call. null: no such logits. */
RIDGE_API float* ridge_logits(ridge_context* context, int64_t i);
/* Hidden state behind the final norm of batch index i into out[ridge_model_hidden]. The model must
 * have been opened with `embeddings`. */
RIDGE_API ridge_status ridge_embedding(ridge_context* context, int64_t i, float* out);
/* Gives up the running (or the next) computing call on this context, which then returns
 * RIDGE_CANCELLED. Safe in signal handlers and on any thread. */
RIDGE_API void ridge_cancel(ridge_context* context);

RIDGE_API int32_t ridge_sequence_length(const ridge_context* context, uint32_t sequence);
/* Its tokens, as ridge_tokenize counts and cuts. */
RIDGE_API int64_t ridge_sequence_tokens(const ridge_context* context, uint32_t sequence,
                                        int32_t* ids, size_t capacity);
/* Shortens a sequence to at most `length` positions; returns the length it has then: 0 where a
 * sliding window has lost what would be needed. */
RIDGE_API int64_t ridge_sequence_trim(ridge_context* context, uint32_t sequence, uint32_t length);
/* Makes `to` a copy of the first `length` positions of `from` (UINT32_MAX: all); returns as trim.
 * Forking a conversation is a copy: it costs the bytes of the cache. */
RIDGE_API int64_t ridge_sequence_copy(ridge_context* context, uint32_t from, uint32_t to,
                                      uint32_t length);

/* A sequence's state as bytes, as ridge_tokenize counts and cuts. */
RIDGE_API int64_t ridge_state_save(const ridge_context* context, uint32_t sequence, void* bytes,
                                   size_t capacity);
/* Takes it back, into a context on the same model with the same kind of cache. Hostile bytes give
 * RIDGE_BAD_FILE. */
RIDGE_API ridge_status ridge_state_load(ridge_context* context, uint32_t sequence,
                                        const void* bytes, size_t n);

/* --- samplers ----------------------------------------------------------------------------------
 */

typedef struct ridge_token_bias {
    int32_t token;
    float bias; /* added to the logit; -INFINITY: never */
} ridge_token_bias;

/* The stages run in llama.cpp's default order; docs/sampling.md says what each does. */
typedef struct ridge_sampler_params {
    size_t size;
    float temperature; /* 0: greedy */
    float top_p, min_p;
    int32_t top_k;
    uint64_t seed;
    float top_n_sigma, typical_p, xtc_probability, xtc_threshold;
    float dynatemp_range, dynatemp_exponent;
    int32_t penalty_last_n;
    float repeat_penalty, frequency_penalty, presence_penalty;
    float dry_multiplier, dry_base;
    int32_t dry_allowed_length, dry_penalty_last_n;
    int32_t mirostat; /* 0 or 2 */
    float mirostat_tau, mirostat_eta;
    const ridge_token_bias* bias; /* null: none */
    size_t n_bias;
    const char* grammar;     /* GBNF that the answer must follow; null: none */
    const char* json_schema; /* or a JSON schema; not both */
} ridge_sampler_params;

#define RIDGE_SAMPLE_DONE (-1000)

RIDGE_API void ridge_sampler_defaults(ridge_sampler_params* params); /* llama.cpp's */
RIDGE_API ridge_status ridge_sampler_create(const ridge_model* model,
                                            const ridge_sampler_params* params,
                                            ridge_sampler** sampler);
RIDGE_API void ridge_sampler_free(ridge_sampler* sampler);
/* The penalties take a prompt into account; a grammar is for the answer alone. */
RIDGE_API void ridge_sampler_prompt(ridge_sampler* sampler, const int32_t* tokens, size_t n);
/* The next token from logits (as many as the model's vocabulary), already taken into account; or
 * minus a status: RIDGE_INVALID_ARGUMENT where grammar and biases leave no token.
 * RIDGE_SAMPLE_DONE: the grammar's text is complete and the vocabulary has no token to say so. */
RIDGE_API int32_t ridge_sample(ridge_sampler* sampler, const float* logits);
/* Natural logarithms of softmax(logits): of the n best tokens, best first, and of `token`. */
RIDGE_API ridge_status ridge_log_probabilities(const ridge_model* model, const float* logits,
                                               int32_t token, float* of_token, int32_t* best,
                                               float* of_best, size_t n);

#ifdef __cplusplus
}
#endif
#endif
