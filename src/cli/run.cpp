#include <chrono>
#include <cstdio>

#include "cli/verbs.hpp"
#include "runtime/model.hpp"
#include "sample/sampler.hpp"

namespace ridge::cli {
namespace {
struct Args { std::string model, prompt, act="q8", kernels; unsigned n = 64, threads = 0; bool chat=false; };
double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
int run(const Args& a) {
    ModelOptions o; o.f32_activations = a.act == "f32"; o.threads = a.threads; o.kernels=a.kernels;
    double t0 = now();
    auto m = Model::load(a.model, o);
    if (!m) { std::fprintf(stderr, "ridge: %s\n", m.error().message.c_str()); return 1; }
    auto c = Context::create(**m, {});
    if (!c) { std::fprintf(stderr, "ridge: %s\n", c.error().message.c_str()); return 1; }
    double t1 = now();
    std::fprintf(stderr, "load %.3f s\n", t1 - t0);
    auto ids = (*m)->tokenizer().encode(a.prompt, true, a.chat);
    auto s = (*c)->prompt(0, ids);
    if (!s) { std::fprintf(stderr, "ridge: %s\n", s.error().message.c_str()); return 1; }
    double t2 = now();
    unsigned made = 0;
    for (; made < a.n; ++made) {
        int32_t id = Sampler::greedy((*c)->logits(0));
        if ((*m)->tokenizer().is_end(id)) break;
        std::string b((*m)->tokenizer().bytes(id));
        std::fwrite(b.data(), 1, b.size(), stdout); std::fflush(stdout);
        Row r{0, id, true};
        auto st = (*c)->pass({&r, 1});
        if (!st) { std::fprintf(stderr, "ridge: %s\n", st.error().message.c_str()); return 1; }
    }
    double t3 = now();
    std::fprintf(stderr, "\nprefill %zu tokens %.1f t/s, decode %u tokens %.1f t/s, %.1f GB/s\n", ids.size(), double(ids.size())/(t2-t1), made, made/(t3-t2), double((*m)->bytes_per_token())*made/(t3-t2)/1e9);
    return 0;
}
}
void add_run(CLI::App& app, int& code) {
    auto a = std::make_shared<Args>();
    CLI::App* v = app.add_subcommand("run", "continue a prompt");
    v->add_option("model", a->model)->required();
    v->add_option("-p", a->prompt);
    v->add_option("-n", a->n);
    v->add_option("-t", a->threads);
    v->add_option("--activations", a->act);
    v->add_option("--kernels", a->kernels);
    v->add_flag("--special", a->chat);
    v->callback([a, &code] { code = run(*a); });
}
}
