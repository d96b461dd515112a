// ridge completion SHELL, ridge manual: shell completions and the manual page, written from the
// verbs' own options, so that they cannot fall behind them.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/common.hpp"
#include "cli/usage.hpp"
#include "cli/verbs.hpp"

namespace ridge::cli {
namespace {

struct Flag {
    std::vector<std::string> names;  // "--top-k", "-k"
    std::string about;
    bool takes_value;
};

struct Verb {
    std::string name, about;
    std::vector<Flag> flags;
    std::vector<std::string> positionals;
};

// Options of a verb, help without; descriptions as one line.
std::vector<Verb> verbs_of(const CLI::App& app) {
    std::vector<Verb> all;
    for (const CLI::App* v : app.get_subcommands({})) {
        if (v->get_group().empty()) continue;
        Verb verb{v->get_name(), v->get_description(), {}, {}};
        for (const CLI::Option* o : v->get_options()) {
            Flag f;
            for (const std::string& s : o->get_snames()) f.names.push_back("-" + s);
            for (const std::string& l : o->get_lnames()) f.names.push_back("--" + l);
            f.about = o->get_description();
            std::replace(f.about.begin(), f.about.end(), '\n', ' ');
            f.takes_value = o->get_items_expected_max() > 0;
            if (o->get_positional()) verb.positionals.push_back(place_name(*o));
            if (!f.names.empty()) verb.flags.push_back(f);
        }
        all.push_back(verb);
    }
    return all;
}

std::string names_of(const std::vector<Verb>& verbs) {
    std::string s;
    for (const Verb& v : verbs) s += (s.empty() ? "" : " ") + v.name;
    return s;
}

std::string flags_of(const Verb& v) {
    std::string s;
    for (const Flag& f : v.flags)
        for (const std::string& n : f.names) s += (s.empty() ? "" : " ") + n;
    return s;
}

// `text` inside single quotes of a shell.
std::string quoted(const std::string& text) {
    std::string s = "'";
    for (const char c : text) s += c == '\'' ? "'\\''" : std::string(1, c);
    return s + "'";
}

void print_bash(const std::vector<Verb>& verbs) {
    fmt::print(
        "_ridge() {{\n    local word=${{COMP_WORDS[COMP_CWORD]}} words\n"
        "    if [[ $COMP_CWORD -eq 1 ]]; then\n        words='{}'\n    else\n"
        "        case ${{COMP_WORDS[1]}} in\n",
        names_of(verbs));
    for (const Verb& v : verbs) fmt::print("            {}) words='{}' ;;\n", v.name, flags_of(v));
    fmt::print(
        "        esac\n    fi\n"
        "    if [[ $COMP_CWORD -gt 1 && $word != -* ]]; then\n"
        "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n    else\n"
        "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n    fi\n}}\n"
        "complete -o filenames -F _ridge ridge\n");
}

void print_zsh(const std::vector<Verb>& verbs) {
    fmt::print("#compdef ridge\n_ridge() {{\n    local -a verbs\n    verbs=(\n");
    for (const Verb& v : verbs) fmt::print("        {}\n", quoted(v.name + ":" + v.about));
    fmt::print(
        "    )\n    if (( CURRENT == 2 )); then\n        _describe verb verbs\n        return\n"
        "    fi\n    case $words[2] in\n");
    for (const Verb& v : verbs) {
        fmt::print("        {}) _arguments", v.name);
        for (const Flag& f : v.flags)
            for (const std::string& n : f.names) {
                std::string about = f.about;
                for (char& c : about)
                    if (c == '[' || c == ']' || c == ':') c = ' ';
                fmt::print(" {}",
                           quoted(n + "[" + about + "]" + (f.takes_value ? ":value:_files" : "")));
            }
        fmt::print(" '*:file:_files' ;;\n");
    }
    fmt::print("    esac\n}}\n_ridge \"$@\"\n");
}

void print_fish(const std::vector<Verb>& verbs) {
    for (const Verb& v : verbs) {
        fmt::print("complete -c ridge -n __fish_use_subcommand -f -a {} -d {}\n", v.name,
                   quoted(v.about));
        for (const Flag& f : v.flags)
            for (const std::string& n : f.names)
                fmt::print("complete -c ridge -n '__fish_seen_subcommand_from {}' {} {}{} -d {}\n",
                           v.name, n[1] == '-' ? "-l" : "-s", n.substr(n[1] == '-' ? 2 : 1),
                           f.takes_value ? " -r" : "", quoted(f.about));
    }
}

// Text in roff: no line begins with a control character, no backslash or hyphen is lost.
std::string roff(const std::string& text) {
    std::string s;
    for (const char c : text) {
        if (c == '\\')
            s += "\\e";
        else if (c == '-')
            s += "\\-";
        else if (c == '.' && s.empty())
            s += "\\&.";
        else if (c == '\'' && s.empty())
            s += "\\&'";
        else
            s += c;
    }
    return s;
}

void print_manual(const CLI::App& app) {
    fmt::print(".TH RIDGE 1 \"\" \"ridge " RIDGE_VERSION
               "\" \"User commands\"\n.SH NAME\n"
               "ridge \\- {}\n.SH SYNOPSIS\n.B ridge\n.I VERB\n[options]\n.SH VERBS\n",
               roff(app.get_description()));
    for (const Verb& v : verbs_of(app)) {
        fmt::print(".SS {}", roff(v.name));
        for (const std::string& p : v.positionals) fmt::print(" {}", roff(p));
        fmt::print("\n{}\n", roff(v.about));
        for (const Flag& f : v.flags) {
            std::string names;
            for (const std::string& n : f.names)
                names += (names.empty() ? "\\fB" : ", \\fB") + roff(n) + "\\fR";
            fmt::print(".TP\n{}{}\n{}\n", names, f.takes_value ? " \\fIVALUE\\fR" : "",
                       f.about.empty() ? "." : roff(f.about));
        }
    }
    fmt::print(
        ".SH ENVIRONMENT\n.TP\n\\fBRIDGE_MODELS\\fR\nfolder in which models are looked for "
        "(~/.cache/ridge)\n.TP\n\\fBRIDGE_KERNELS\\fR\nkernel set to use: avx512, avx2, ref\n"
        ".SH EXIT STATUS\n0 success, 1 failure (one sentence on standard error), 2 a command "
        "line that ridge does not understand or whose options do not go together, 130 stopped by "
        "Ctrl\\-C, 143 by SIGTERM, 129 by SIGHUP\n");
}

}  // namespace

void add_manual(CLI::App& app, int& code) {
    auto shell = std::make_shared<std::string>();
    CLI::App* v = app.add_subcommand("completion", "Completions for a shell: bash, zsh or fish");
    v->add_option("SHELL", *shell, "bash, zsh or fish")->required();
    v->callback([&app, shell, &code] {
        const std::vector<Verb> verbs = verbs_of(app);
        if (*shell == "bash")
            print_bash(verbs);
        else if (*shell == "zsh")
            print_zsh(verbs);
        else if (*shell == "fish")
            print_fish(verbs);
        else
            code = complain("there are no completions for '" + *shell + "': bash, zsh, fish");
    });
    CLI::App* manual = app.add_subcommand("manual", "The manual page, in roff");
    manual->callback([&app] { print_manual(app); });
}

}  // namespace ridge::cli
