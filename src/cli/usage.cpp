#include "cli/usage.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string_view>
#include <vector>

#include "cli/common.hpp"
#include "cli/names.hpp"
#include "cli/verbs.hpp"

namespace ridge::cli {
namespace {

std::string upper(std::string text) {
    for (char& c : text)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return text;
}

// "OUT", "--prompt", "MODEL or --model".
std::string shown(const CLI::Option& option) {
    if (option.get_lnames().empty() && option.get_snames().empty()) return place_name(option);
    return (option.get_positional() ? place_name(option) + " or " : std::string()) +
           option.get_name();
}

// "-o OUTPUT" of -o,--output.
std::string with_value(const CLI::Option& option) {
    const auto& longs = option.get_lnames();
    const auto& shorts = option.get_snames();
    return fmt::format("{} {}", shorts.empty() ? "--" + longs[0] : "-" + shorts[0],
                       upper(longs.empty() ? "value" : longs[0]));
}

std::vector<std::string> verb_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* verb : app.get_subcommands({})) names.push_back(verb->get_name());
    return names;
}

class HelpFormatter : public CLI::Formatter {
  public:
    HelpFormatter() { label("SUBCOMMAND", "VERB"); }
    std::string make_usage(const CLI::App* app, std::string name) const override {
        if (app->get_parent() == nullptr) return Formatter::make_usage(app, name);
        return "Usage: " + usage_line(*app) + "\n";
    }
    std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
        return is_positional ? place_name(*option) : Formatter::make_option_name(option, false);
    }
};

// CLI11's sentences, and the names of options in them.
class Explainer {
  public:
    Explainer(const CLI::App& app, const CLI::ParseError& error)
        : app_(app),
          verb_(app.get_subcommands().empty() ? app : *app.get_subcommands().front()),
          kind_(error.get_name()),
          what_(error.what()) {}

    std::string sentence() const {
        // CLI11 looks for what is left over last; "ridge --colour run" lacks no model first of all.
        if (const auto extras = app_.remaining(); !extras.empty()) return unexpected(app_, extras);
        if (what_.starts_with("The following argument"))
            return unexpected(verb_, verb_.remaining());
        if (kind_ == "RequiredError") return missing();
        if (kind_ == "ArgumentMismatch") return mismatch();
        if (kind_ == "ConversionError") return no_value();
        if (kind_ == "ValidationError") return wrong_value();
        for (const auto& [word, form] : {std::pair{" excludes ", "give {} or {}, not both: {}"},
                                         {" requires ", "{} needs {}: {}"}})
            if (const size_t at = what_.find(word); at != std::string::npos)
                return fmt::format(fmt::runtime(form), one_name(what_.substr(0, at)),
                                   one_name(what_.substr(at + std::string_view(word).size())),
                                   usage_line(verb_));
        return what_ + see_help();
    }

  private:
    std::string see_help(const CLI::App& in) const {
        return &in == &app_ ? "; 'ridge help' lists what there is"
                            : "; 'ridge help " + in.get_name() + "' lists its options";
    }
    std::string see_help() const { return see_help(verb_); }
    const CLI::Option* find(const std::string& name) const {
        for (const CLI::Option* o : verb_.get_options())
            if (o->get_name() == name) return o;
        return nullptr;
    }
    std::string named(const std::string& name) const {
        const CLI::Option* o = find(name);
        return o == nullptr ? name : shown(*o);
    }
    // Without "or", for sentences that have their own.
    std::string one_name(const std::string& name) const {
        const CLI::Option* o = find(name);
        return o != nullptr && o->get_positional() ? place_name(*o) : name;
    }
    // What stands in front of `mark`; all where there is none.
    std::string before(std::string_view mark) const { return what_.substr(0, what_.find(mark)); }

    std::string missing() const {
        if (&verb_ == &app_)
            return fmt::format("give a verb: {}; 'ridge help' says what each does",
                               fmt::join(verb_names(app_), ", "));
        const std::string name = before(" is required");
        const CLI::Option* o = find(name);
        const std::string what = o == nullptr          ? name
                                 : name == "--model"   ? "a model, in its place or by -m"
                                 : o->get_positional() ? place_name(*o)
                                                       : with_value(*o);
        return fmt::format("{} {}: {}", name == "--model" ? "give" : "missing", what,
                           usage_line(verb_));
    }

    std::string mismatch() const {
        constexpr std::string_view received = " received ";
        const std::string name = named(before(": "));
        if (const size_t at = what_.find(received); at != std::string::npos)
            return fmt::format("{} may be given once, not {} times: {}", name,
                               what_.substr(at + received.size()), usage_line(verb_));
        if (what_.ends_with(" missing"))
            return fmt::format("{} stands without its value{}", name, see_help());
        return what_ + see_help();
    }

    std::string no_value() const {  // "Could not convert: NAME = VALUE"
        constexpr std::string_view start = "Could not convert: ", equals = " = ";
        const size_t at = what_.find(equals);
        if (!what_.starts_with(start) || at == std::string::npos) return what_ + see_help();
        const std::string name = what_.substr(start.size(), at - start.size());
        const std::string value = what_.substr(at + equals.size());
        const CLI::Option* o = find(name);
        if (o != nullptr && o->get_items_expected_max() == 0)
            return fmt::format("{} takes no value such as '{}'{}", named(name), value, see_help());
        return fmt::format("{} takes a number, not '{}'{}", named(name), value, see_help());
    }

    // "NAME: Value 9 not in range 1 to 2", "NAME: x not in {a,b}"
    std::string wrong_value() const {
        const std::string name = before(": ");
        std::string rest = what_.substr(std::min(what_.size(), name.size() + 2));
        for (const std::string_view mark : {" not in range ", " not in "}) {
            const size_t at = rest.find(mark);
            if (at == std::string::npos) continue;
            std::string value = rest.substr(0, at), good = rest.substr(at + mark.size());
            if (value.starts_with("Value ")) value.erase(0, 6);
            if (good.starts_with('{')) {
                good = "one of " + good.substr(1, good.size() - 2);
                for (size_t i = good.find(','); i != std::string::npos; i = good.find(',', i + 1))
                    good.insert(i + 1, " ");
            }
            return fmt::format("{} takes {}, not '{}'{}", named(name), good, value, see_help());
        }
        return fmt::format("{}: {}{}", named(name), rest, see_help());
    }

    std::string unexpected(const CLI::App& in, const std::vector<std::string>& extras) const {
        if (extras.empty()) return what_ + see_help();
        const std::string& first = extras.front();
        const std::string program = &in == &app_ ? "ridge" : "ridge " + in.get_name();
        if (first.starts_with('-')) {
            std::vector<std::string> options;
            for (const CLI::Option* o : in.get_options())
                for (const std::string& name : o->get_lnames()) options.push_back("--" + name);
            const std::string near = nearest_name(first.substr(0, first.find('=')), options);
            return fmt::format("'{}' has no option '{}'{}{}", program, first,
                               near.empty() ? "" : " (did you mean '" + near + "'?)", see_help(in));
        }
        const CLI::Option* prompt = in.get_option_no_throw("--prompt");
        return fmt::format(
            "there is no place for '{}'{}: {}", first,
            prompt != nullptr && !prompt->get_positional() ? " (a prompt is given by -p)" : "",
            usage_line(verb_));
    }

    const CLI::App& app_;
    const CLI::App& verb_;  // the program where no verb was found
    std::string kind_, what_;
};

}  // namespace

const CLI::App* find_verb(const CLI::App& app, const std::string& name) {
    for (const CLI::App* verb : app.get_subcommands({}))
        if (verb->get_name() == name) return verb;
    return nullptr;
}

std::string place_name(const CLI::Option& option) {
    return upper(option.get_name(true));
}

std::string usage_line(const CLI::App& verb) {
    if (verb.get_parent() == nullptr) return "ridge VERB [options]";
    std::string line = "ridge " + verb.get_name(), options;
    for (const CLI::Option* o : verb.get_options()) {
        if (o->get_positional()) {
            const bool many = o->get_items_expected_max() >= CLI::detail::expected_max_vector_size;
            const std::string word = place_name(*o) + (many ? "..." : "");
            line += o->get_required() ? " " + word : " [" + word + "]";
        } else if (o->get_required()) {
            options += " " + with_value(*o);
        }
    }
    return line + options + " [options]";
}

std::shared_ptr<CLI::Formatter> help_formatter() {
    return std::make_shared<HelpFormatter>();
}

std::string explain(const CLI::App& app, const CLI::ParseError& error) {
    return Explainer(app, error).sentence();
}

std::string unknown_verb(const CLI::App& app, const std::string& name) {
    const std::vector<std::string> verbs = verb_names(app);
    const std::string near = nearest_name(name, verbs);
    return fmt::format("there is no verb '{}'{}; the verbs are {}", name,
                       near.empty() ? "" : " (did you mean '" + near + "'?)",
                       fmt::join(verbs, ", "));
}

void add_help(CLI::App& app, int& code) {
    auto name = std::make_shared<std::string>();
    CLI::App* v = app.add_subcommand("help", "The list of verbs, or the options of one");
    v->add_option("verb", *name, "a verb");
    v->callback([&app, name, &code] {
        const CLI::App* verb = name->empty() ? &app : find_verb(app, *name);
        if (verb == nullptr) {
            code = refuse(unknown_verb(app, *name));
            return;
        }
        // The program's own help() would be that of the verb that is running, this one.
        const std::string text = app.get_formatter()->make_help(
            verb, verb == &app ? app.get_name() : "", CLI::AppFormatMode::Normal);
        std::fwrite(text.data(), 1, text.size(), stdout);
    });
}

}  // namespace ridge::cli
