// Hostile files of reliability-anchors.md section 2: headers (1), alignment (3), tensors (4),
// truncations (7), split files (8); the other classes are in files of their own.
#include "hostile_files.hpp"

#include <fmt/format.h>

#include "support/random_model.hpp"

namespace ridge::test {

using gguf::ValueType;

std::string HostileFile::write(const TempDir& dir) const {
    for (const auto& [other, content] : beside) dir.write(other, content);
    return dir.write(file, bytes);
}

HostileBases hostile_bases(const TempDir& dir) {
    HostileBases bases;
    for (const char* architecture : {"llama", "gemma2", "gemma3", "phi3", "qwen2", "qwen3"}) {
        ShapeConfig c = smallest_llama(architecture);
        c.architecture = architecture;
        if (c.architecture == "gemma3" || c.architecture == "gemma2") {
            c.sliding_window = 4;
            c.block_count = 2;
            c.sliding_window_pattern = 2;
            c.type = DType::q5_0;
        }
        bases[architecture] = GgufImage::read(write_model(dir, c));
    }
    return bases;
}

namespace {

void add_headers(HostileMaker& make) {
    const std::string whole = make.base().bytes();
    make.add("empty", "");
    for (size_t n = 1; n < 24; ++n)
        make.add(fmt::format("header cut at {}", n), whole.substr(0, n));
    make.add("wrong magic", "GGML" + whole.substr(4));
    make.add("big-endian magic", "FUGG" + whole.substr(4));
    for (const uint32_t version : {0u, 1u, 4u, 1u << 31})
        make.changed(fmt::format("version {}", version), Outcome::refused,
                     [&](GgufImage& i) { i.version = version; });
    for (const uint64_t n : hostile_limits) {
        make.add(fmt::format("tensor count {}", n), Bytes().header(n, 0).zeros(64).text());
        make.add(fmt::format("value count {}", n), Bytes().header(0, n).zeros(64).text());
    }
    make.add("counts of 1000", Bytes().header(1000, 1000).zeros(512).text());
    make.add("4 values in the room of 3", Bytes().header(0, 4).zeros(3 * 14).text());
}

void add_alignments(HostileMaker& make) {
    for (const uint32_t a : {0u, 1u, 3u, 48u, 1u << 31, ~0u})
        make.with(make.base(), "general.alignment", std::to_string(a), encoded(ValueType::u32, a),
                  Outcome::refused);
    make.changed("data section not where it belongs", Outcome::refused, [](GgufImage& i) {
        i.alignment = 1;
        i.set("general.name", encoded_string("moves the data section"));
        i.data.resize(i.data.size() - 64);
    });
}

void add_tensors(HostileMaker& make) {
    constexpr const char* q = "blk.0.attn_q.weight";
    const auto changed = [&](const std::string& name, auto&& change) {
        make.changed(name, Outcome::refused, change);
    };
    changed("duplicate tensor", [](GgufImage& i) { i.tensors.push_back(i.tensors[1]); });
    changed("tensor name of 65", [](GgufImage& i) { i.tensors[0].name = std::string(65, 'n'); });
    changed("empty tensor name", [](GgufImage& i) { i.tensors[0].name.clear(); });
    for (const uint64_t n : hostile_limits)
        make.add(fmt::format("tensor name of {}", n), Bytes().header(1, 0).put(n).zeros(64).text());
    for (const uint32_t n : {0u, 5u, 9u, ~0u})
        changed(fmt::format("{} dimensions", n), [&](GgufImage& i) { i.tensor(q).n_dims = n; });
    const auto shaped = [&](const std::vector<uint64_t>& dims) {
        changed(fmt::format("shape [{}]", fmt::join(dims, ", ")), [&](GgufImage& i) {
            i.tensor(q).dims = dims;
            i.tensor(q).n_dims = static_cast<uint32_t>(dims.size());
        });
    };
    shaped({0, 32});
    shaped({32, 0});
    shaped({32, 0, 0, 0});
    for (const uint64_t n : hostile_limits) {
        shaped({n, 32});
        shaped({32, n});
        shaped({n, n});
        shaped({32, n, n, n});
        changed(fmt::format("offset {}", n), [&](GgufImage& i) { i.tensor(q).offset = n; });
    }
    shaped({1u << 16, 1u << 15});             // elements wrap at 2^31
    shaped({1u << 16, 1u << 16});             // 2^32
    shaped({1ull << 32, 1ull << 31});         // 2^63
    shaped({1ull << 32, 1ull << 16, 65536});  // 2^64, to nothing
    shaped({32, 0x0800000000000001ull});      // 2^64, to 32
    shaped({31, 32});                         // not a multiple of the block
    for (const uint32_t type : {4u, 5u, 16u, 31u, 32u, 33u, 36u, 38u, 40u, 1000u, ~0u})
        changed(fmt::format("tensor type {}", type),
                [&](GgufImage& i) { i.tensor(q).type = type; });
    changed("offset unaligned", [&](GgufImage& i) { i.tensor(q).offset += 8; });
    changed("offset at the end", [&](GgufImage& i) { i.tensor(q).offset = i.data.size(); });
    make.changed("tensors that overlap", Outcome::either,
                 [&](GgufImage& i) { i.tensor(q).offset = 0; });
    shaped({32, 64});  // not the one the architecture wants
    changed("transposed", [&](GgufImage& i) { i.tensor("token_embd.weight").dims = {264, 32}; });
    changed("norm of another type", [&](GgufImage& i) { i.tensor("output_norm.weight").type = 1; });
    for (size_t t = 0; t < make.base().tensors.size(); ++t)
        changed("without " + make.base().tensors[t].name, [&](GgufImage& i) {
            i.tensors.erase(i.tensors.begin() + static_cast<std::ptrdiff_t>(t));
        });
    make.changed("tied and untied heads", Outcome::either, [](GgufImage& i) {
        i.tensors.push_back(i.tensor("token_embd.weight"));
        i.tensors.back().name = "output.weight";
    });
    changed("a tensor that nothing uses", [](GgufImage& i) {
        i.tensors.push_back(i.tensors[1]);
        i.tensors.back().name = "blk.0.attn_gate.weight";
    });
}

void add_truncations(HostileMaker& make) {
    const std::string whole = make.base().bytes();
    const size_t data = whole.size() - make.base().data.size();
    std::vector<size_t> borders = {24, data, whole.size()};
    size_t at = 24;
    for (const auto& [key, value] : make.base().values)
        borders.push_back(at += 8 + key.size() + value.size());
    for (const auto& t : make.base().tensors) {
        borders.push_back(at += 8 + t.name.size() + 4 + 8 * t.dims.size() + 12);
        borders.push_back(data + t.offset);
    }
    const auto cut = [&](size_t n) {  // the padding after the last tensor may be missing
        make.add(fmt::format("cut at {}", n), whole.substr(0, n),
                 n + 32 < whole.size() ? Outcome::refused : Outcome::either);
    };
    for (const size_t border : borders)
        for (const size_t n : {border - 1, border, border + 1})
            if (n < whole.size()) cut(n);
    for (size_t n = 4096; n < whole.size(); n += 4096) cut(n);
}

// The model in two parts: the first holds the values and half of the tensors.
void add_splits(HostileMaker& make) {
    const GgufImage& whole = make.base();
    const std::string first = "s-00001-of-00002.gguf", second = "s-00002-of-00002.gguf";
    const auto part = [&](uint16_t number, uint16_t count, int32_t total) {
        GgufImage image = whole;
        if (number != 0) image.values.clear();
        const auto middle = image.tensors.begin() + 3;
        image.tensors.erase(number == 0 ? middle : image.tensors.begin(),
                            number == 0 ? image.tensors.end() : middle);
        const uint64_t start = image.tensors.front().offset;
        for (auto& t : image.tensors) t.offset -= start;
        image.data = image.data.substr(start);
        image.set("split.no", encoded(ValueType::u16, number));
        image.set("split.count", encoded(ValueType::u16, count));
        image.set("split.tensors.count", encoded(ValueType::i32, total));
        return image.bytes();
    };
    const auto total = static_cast<int32_t>(whole.tensors.size());
    const auto split = [&](const std::string& name, Outcome outcome, const std::string& head,
                           std::vector<std::pair<std::string, std::string>> beside,
                           const std::string& file) {
        make.add({0, name, head, outcome, file, std::move(beside)});
    };
    const std::string head = part(0, 2, total), rest = part(1, 2, total);
    split("whole", Outcome::works, head, {{second, rest}}, first);
    split("the second part alone", Outcome::refused, rest, {}, second);
    split("no second part", Outcome::refused, head, {}, "t-00001-of-00002.gguf");
    split("the first part twice", Outcome::refused, head, {{second, head}}, first);
    split("another count", Outcome::refused, head, {{second, part(1, 3, total)}}, first);
    split("more tensors than there are", Outcome::refused, part(0, 2, total + 1),
          {{second, part(1, 2, total + 1)}}, first);
    split("a cut second part", Outcome::refused, head, {{second, rest.substr(0, 100)}}, first);
    split("an empty second part", Outcome::refused, head, {{second, ""}}, first);
    split("a name that says nothing", Outcome::refused, head, {{second, rest}}, "h.gguf");
    split("a name of three", Outcome::refused, head, {{second, rest}}, "s-00001-of-00003.gguf");
    split("65535 parts", Outcome::refused, part(0, 65535, total), {}, "s-00001-of-65535.gguf");
    // the other part is looked for beside the first, whatever the name holds
    split("a name with ..", Outcome::refused, head, {{second, rest}}, "..-00001-of-00002.gguf");
    make.with(whole, "split.count", "is text", encoded_string("../../etc"), Outcome::either);
}

}  // namespace

std::vector<HostileFile> hostile_files(const HostileBases& bases) {
    HostileMaker make(bases);
    const std::pair<int, void (*)(HostileMaker&)> parts[] = {
        {1, add_headers},     {2, add_value_files},      {3, add_alignments},
        {4, add_tensors},     {5, add_vocabulary_files}, {6, add_template_files},
        {7, add_truncations}, {8, add_splits},           {9, add_payload_files}};
    for (const auto& [number, add] : parts) {
        make.set_class(number);
        add(make);
    }
    return make.take();
}

}  // namespace ridge::test
