// ridge pull: a model file over HTTP into the model folder.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/output_file.hpp"
#include "cli/common.hpp"
#include "cli/download.hpp"
#include "cli/names.hpp"
#include "cli/verbs.hpp"
#include "format/gguf_types.hpp"
#include "format/sha256.hpp"

namespace ridge::cli {
namespace {

namespace fs = std::filesystem;

struct PullArgs {
    std::string what, out, sha256;
    int retries = 5;
    bool json = false;
};

std::string setting(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

// Does every part of a hub's path keep to letters, digits, '.', '_' and '-', and name something?
bool is_plain(const std::string& part) {
    if (part.empty() || part == "." || part == "..") return false;
    for (const char c : part)
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
            c != '.' && c != '_' && c != '-')
            return false;
    return true;
}

// hf:owner/repo/file or hf:owner/repo/file@revision at the hub that RIDGE_HUB names.
Result<std::string> hub_url(std::string spec) {
    const auto bad = [&] {
        return fail(ErrorCode::invalid_argument, "'hf:" + spec +
                                                     "' is not of the form hf:owner/repo/file or "
                                                     "hf:owner/repo/file@revision");
    };
    std::string revision = "main", path = spec;
    if (const size_t at = path.find('@'); at != std::string::npos) {
        revision = path.substr(at + 1);
        path.resize(at);
        if (!is_plain(revision)) return bad();
    }
    std::vector<std::string> parts(1);
    for (const char c : path) {
        if (c == '/')
            parts.emplace_back();
        else
            parts.back() += c;
    }
    if (parts.size() < 3) return bad();
    std::string file;
    for (size_t i = 0; i < parts.size(); ++i) {
        if (!is_plain(parts[i])) return bad();
        if (i >= 2) file += "/" + parts[i];
    }
    std::string hub = setting("RIDGE_HUB");
    if (hub.empty())
        return fail(ErrorCode::invalid_argument,
                    "hf: needs the hub's address; set RIDGE_HUB to it, as in export "
                    "RIDGE_HUB=https://HOST");
    while (hub.ends_with('/')) hub.pop_back();
    return fmt::format("{}/{}/{}/resolve/{}{}", hub, parts[0], parts[1], revision, file);
}

// A name of catalog.json in the model folder: {"NAME": {"url": ..., "sha256": ...}}.
Result<std::string> catalog_url(const std::string& name, std::string& sha256) {
    const std::string path = model_folder() + "/catalog.json";
    const auto text = read_text(path);
    const nlohmann::json catalog =
        text ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json();
    if (!text || !catalog.is_object())
        return fail(ErrorCode::not_found,
                    fmt::format("'{}' is neither a URL nor hf:owner/repo/file, and there is no "
                                "usable '{}' of the form {{\"NAME\": {{\"url\": ..., "
                                "\"sha256\": ...}}}} to look it up in",
                                name, path));
    std::vector<std::string> names;
    for (const auto& [key, value] : catalog.items()) names.push_back(key);
    const auto entry = catalog.find(name);
    if (entry == catalog.end() || !entry->is_object() || !entry->contains("url") ||
        !(*entry)["url"].is_string()) {
        const std::string near = nearest_name(name, names);
        return fail(
            ErrorCode::not_found,
            fmt::format("'{}' names no '{}' with a url{}", path, name,
                        near.empty() || near == name ? "" : "; did you mean '" + near + "'?"));
    }
    if (sha256.empty() && entry->contains("sha256") && (*entry)["sha256"].is_string())
        sha256 = (*entry)["sha256"].get<std::string>();
    return (*entry)["url"].get<std::string>();
}

Result<std::string> url_of(PullArgs& a) {
    if (a.what.starts_with("http://") || a.what.starts_with("https://")) return a.what;
    if (a.what.starts_with("hf:")) return hub_url(a.what.substr(3));
    if (a.what.find("://") != std::string::npos)
        return fail(ErrorCode::invalid_argument,
                    "'" + a.what + "' is neither an http nor an https address");
    RIDGE_ASSIGN(std::string url, catalog_url(a.what, a.sha256));
    if (url.starts_with("hf:")) return hub_url(url.substr(3));
    return url;
}

// The last part of the address's path.
Result<std::string> file_name(const std::string& url) {
    const std::string path = url.substr(0, url.find_first_of("?#"));
    const std::string name = path.substr(path.rfind('/') + 1);
    if (!is_plain(name) || path.find("://") + 2 == path.rfind('/'))
        return fail(ErrorCode::invalid_argument,
                    "'" + url + "' names no file; say by -o what to call it");
    return name;
}

class Progress {
  public:
    bool operator()(uint64_t done, uint64_t total) {
        if (interrupted()) return false;
        const double now = seconds_now();
        if (!error_is_terminal() || now - last_ < 0.2) return true;
        if (last_ == 0.0) {
            begin_ = now;
            from_ = done;
        }
        last_ = now;
        const double rate =
            now > begin_ ? static_cast<double>(done - std::min(from_, done)) / (now - begin_) : 0.0;
        const std::string share =
            total > 0
                ? fmt::format("{:3.0f} %  {:.1f} of {:.1f} MB",
                              100.0 * static_cast<double>(done) / static_cast<double>(total),
                              static_cast<double>(done) / 1e6, static_cast<double>(total) / 1e6)
                : fmt::format("{:.1f} MB", static_cast<double>(done) / 1e6);
        fmt::print(stderr, "\r\033[K{}  {:.1f} MB/s", share, rate / 1e6);
        if (total > done && rate > 0.0)
            fmt::print(stderr, "  {:.0f} s left", static_cast<double>(total - done) / rate);
        std::fflush(stderr);
        return true;
    }

  private:
    double begin_ = 0.0, last_ = 0.0;
    uint64_t from_ = 0;
};

// Is the file that has the name already the one to get, as far as its sum or its beginning says?
Status is_what_was_asked(const PullArgs& a, const Download& what) {
    RIDGE_TRY(may_replace(what.path));
    if (!a.sha256.empty()) {
        RIDGE_ASSIGN(const std::string sum, sha256_of_file(what.path));
        std::string wanted = a.sha256;
        for (char& c : wanted) c = static_cast<char>(c >= 'A' && c <= 'F' ? c | 32 : c);
        if (sum == wanted) return {};
        return fail(ErrorCode::bad_file, "'" + what.path + "' is there with another SHA-256, " +
                                             sum + "; remove it to get it anew");
    }
    const auto name = file_name(what.url);
    const bool model = what.path.ends_with(".gguf") || (name && name->ends_with(".gguf"));
    std::ifstream in(what.path, std::ios::binary);
    uint32_t word = 0;
    in.read(reinterpret_cast<char*>(&word), sizeof word);
    if (model ? word == gguf::magic : in.gcount() > 0) return {};
    return fail(ErrorCode::bad_file,
                fmt::format("'{}' is there, but {}; remove it or say by -o where to write",
                            what.path, model ? "is no GGUF file" : "is empty or cannot be read"));
}

int pull(PullArgs& a) {
    if (!a.sha256.empty() && !is_sha256(a.sha256))
        return complain("--sha256 takes 64 hexadecimal digits");
    const auto url = url_of(a);
    if (!url) return complain(url.error());
    Download what;
    what.url = *url;
    what.sha256 = a.sha256;
    what.retries = a.retries;
    if (const std::string hub = setting("RIDGE_HUB");
        !hub.empty() && what.url.starts_with(hub + (hub.ends_with('/') ? "" : "/")))
        what.bearer = setting("RIDGE_HUB_TOKEN");
    what.path = a.out;
    std::error_code error;
    if (what.path.empty() || fs::is_directory(what.path, error)) {
        const auto name = file_name(what.url);
        if (!name) return complain(name.error());
        const std::string folder = what.path.empty() ? model_folder() : what.path;
        if (folder.empty()) return complain("there is no model folder; say by -o where to write");
        fs::create_directories(folder, error);
        what.path = folder + (folder.ends_with('/') ? "" : "/") + *name;
    }
    if (fs::exists(what.path, error)) {
        if (const Status same = is_what_was_asked(a, what); !same) return complain(same.error());
        fmt::print("{} is there already\n", what.path);
        return 0;
    }
    catch_interrupts();
    what.progress = Progress();
    const auto got = download(what);
    if (error_is_terminal()) fmt::print(stderr, "\r\033[K");
    if (!got) {
        if (got.error().code != ErrorCode::cancelled) return complain(got.error());
        complain("stopped; the same command goes on from here");
        return interrupt_code();
    }
    fmt::print("{}: {:.1f} MB{}, SHA-256 {} ({})\n", what.path,
               static_cast<double>(got->bytes) / 1e6,
               got->resumed_at > 0 ? fmt::format(" (from byte {} on)", got->resumed_at) : "",
               got->sha256, got->checked ? "as expected" : "nothing to check it against");
    return 0;
}

}  // namespace

void add_pull(CLI::App& app, int& code) {
    auto a = std::make_shared<PullArgs>();
    CLI::App* v = app.add_subcommand("pull", "Get a model file over the network");
    v->add_option("what", a->what,
                  "URL, hf:owner/repo/file[@revision] at the hub that RIDGE_HUB names, or a name "
                  "in catalog.json of the model folder")
        ->required();
    v->add_option("-o,--out", a->out,
                  "file or folder to write (default: its name, in the model folder)");
    v->add_option("--sha256", a->sha256, "what the file must have");
    v->add_option("--retries", a->retries, "tries after a connection that brought nothing (5)")
        ->check(CLI::Range(0, 100));
    v->callback([a, &code] { code = pull(*a); });
}

}  // namespace ridge::cli
