// GBNF and its matcher: against a naive recursive matcher on random grammars, against trying each
// token alone, and what is refused.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "sample/gbnf.hpp"
#include "sample/grammar_matcher.hpp"
#include "sample/utf8_ranges.hpp"

namespace ridge {
namespace {

std::shared_ptr<const TokenTrie> trie_of(const std::vector<std::string>& tokens) {
    std::vector<std::string_view> views(tokens.begin(), tokens.end());
    return TokenTrie::of(views);
}
std::shared_ptr<const Grammar> grammar(std::string_view text) {
    auto g = Grammar::parse(text);
    EXPECT_TRUE(g.has_value()) << text << "\n" << g.error().message;
    return g ? *g : nullptr;
}
bool accepts(const std::shared_ptr<const Grammar>& g, std::string_view text) {
    GrammarMatcher m(g, trie_of({}));
    return m.accept_text(text).has_value() && m.complete();
}
bool begins(const std::shared_ptr<const Grammar>& g, std::string_view text) {
    return GrammarMatcher(g, trie_of({})).accept_text(text).has_value();
}

std::string utf8(uint32_t c) {
    std::string out;
    if (c < 0x80) return {static_cast<char>(c)};
    if (c < 0x800)
        out = {static_cast<char>(0xC0 | c >> 6)};
    else if (c < 0x10000)
        out = {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 63))};
    else
        out = {static_cast<char>(0xF0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 63)),
               static_cast<char>(0x80 | (c >> 6 & 63))};
    return out + static_cast<char>(0x80 | (c & 63));
}

TEST(Utf8Ranges, AreExactlyTheEncodings) {
    std::mt19937 engine(5);
    const auto random = [&] { return static_cast<uint32_t>(engine()); };
    const uint32_t borders[] = {0,      1,      0x7F,   0x80,    0x7FF,   0x800,   0xFFF,   0x1000,
                                0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x3FFFF, 0x40000, 0x10FFFF};
    for (int round = 0; round < 300; ++round) {
        uint32_t low = round % 2 == 0 ? borders[random() % 15] : random() % 0x110000;
        uint32_t high = round % 3 == 0 ? borders[random() % 15] : random() % 0x110000;
        if (low > high) std::swap(low, high);
        if (low <= 0xDFFF && high >= 0xD800) continue;
        const auto pieces = utf8_ranges(low, high);
        // As many texts as code points, and those at and around the borders are the right ones.
        uint64_t count = 0;
        for (const Utf8Range& p : pieces) {
            uint64_t product = 1;
            for (size_t i = 0; i < p.length; ++i) product *= p.high[i] - p.low[i] + 1u;
            count += product;
        }
        EXPECT_EQ(count, high - low + 1u);
        const auto within = [&](uint32_t c) {
            const std::string text = utf8(c);
            int found = 0;
            for (const Utf8Range& p : pieces) {
                bool all = p.length == text.size();
                for (size_t i = 0; all && i < p.length; ++i) {
                    const auto byte = static_cast<uint8_t>(text[i]);
                    all = byte >= p.low[i] && byte <= p.high[i];
                }
                found += all ? 1 : 0;
            }
            return found;
        };
        for (int i = 0; i < 50; ++i) EXPECT_EQ(within(low + random() % (high - low + 1)), 1);
        EXPECT_EQ(within(low), 1);
        EXPECT_EQ(within(high), 1);
        if (low > 0) {
            EXPECT_EQ(within(low - 1), 0);
        }
        if (high < 0x10FFFF) {
            EXPECT_EQ(within(high + 1), 0);
        }
    }
}

TEST(Gbnf, ReadsWhatTheGuideShows) {
    const auto list = grammar("# a list\nroot ::= (\"- \" item)+\nitem ::= [^\\n]+ \"\\n\"\n");
    EXPECT_TRUE(accepts(list, "- one\n- two\n"));
    EXPECT_FALSE(accepts(list, "- one"));
    EXPECT_FALSE(begins(list, "x"));
    const auto chess = grammar(
        "root ::= (\n # the first\n \"1. \" move \" \" move \"\\n\"\n\n  ([1-9] [0-9]? \". \" move "
        "\" \" move \"\\n\")+\n)\n"
        "move ::= (pawn | nonpawn | castle) [+#]?\n"
        "nonpawn ::= [NBKQR] [a-h]? [1-8]? \"x\"? [a-h] [1-8]\n"
        "pawn ::= ([a-h] \"x\")? [a-h] [1-8] (\"=\" [NBKQR])?\n"
        "castle ::= \"O-O\" \"-O\"?");
    EXPECT_TRUE(accepts(chess, "1. e4 e5\n2. Nf3 Nc6\n3. O-O exd5=Q+\n"));
    EXPECT_FALSE(accepts(chess, "1. e4 e5\n"));
    EXPECT_FALSE(begins(chess, "1. e9"));
    const auto escapes =
        grammar("root ::= \"\\x41\\u00e9\\U0001F600\\\\\\\"\" [\\]\\[-] [a-] [-b] \"\\t\\r\"");
    EXPECT_TRUE(accepts(escapes, "A\xC3\xA9\xF0\x9F\x98\x80\\\"]--\t\r"));
    EXPECT_TRUE(accepts(escapes,
                        "A\xC3\xA9\xF0\x9F\x98\x80\\\"-a"
                        "b\t\r"));
    const auto alternatives =
        grammar("root ::= \"a\" |\n  \"b\" |\n\n # no more\n ending\r\nending ::= (\"c\"|)");
    for (const char* text : {"a", "b", "c", ""}) EXPECT_TRUE(accepts(alternatives, text)) << text;
    EXPECT_FALSE(begins(alternatives, "d"));
}

TEST(Gbnf, Repetitions) {
    struct Case {
        const char* text;
        std::set<size_t> counts;
    };
    const Case cases[] = {{"{3}", {3}},
                          {"{2,}", {2, 3, 4, 5, 6, 7}},
                          {"{0,2}", {0, 1, 2}},
                          {"{ 1 , 3 }", {1, 2, 3}},
                          {"{0}", {0}},
                          {"{0,0}", {0}},
                          {"*", {0, 1, 2, 3, 4, 5, 6, 7}},
                          {"+", {1, 2, 3, 4, 5, 6, 7}},
                          {"?", {0, 1}},
                          {"{2}{3}", {6}},
                          {"**", {0, 1, 2, 3, 4, 5, 6, 7}},
                          {"?+", {0, 1, 2, 3, 4, 5, 6, 7}}};
    for (const char* part : {"\"ab\"", "[a] [b]", "(\"a\" \"b\")", "ab", "(x y z)"})
        for (const Case& c : cases) {
            const bool two = std::string_view(part) == "[a] [b]";  // the class alone is repeated
            const auto g =
                grammar(std::string("root ::= ") + part + c.text +
                        "\nab ::= \"a\" \"b\"\nx ::= \"\" \ny ::= \"a\"\nz ::= x \"b\" x");
            for (size_t n = 0; n <= 7; ++n) {
                std::string text = two ? "a" : "";
                for (size_t i = 0; i < n; ++i) text += two ? "b" : "ab";
                EXPECT_EQ(accepts(g, text), c.counts.count(n) == 1) << part << c.text << " " << n;
            }
        }
    // Large bounds, of a part that is too large to be copied.
    const auto big = grammar("root ::= ([a-z\\u0100-\\uffff] \"-\" [0-9]){10,300}");
    std::string text;
    for (int i = 1; i <= 301; ++i) {
        text += "x-7";
        EXPECT_EQ(accepts(big, text), i >= 10 && i <= 300) << i;
    }
}

TEST(Gbnf, ErrorsSayWhere) {
    const std::pair<std::string, std::vector<std::string>> cases[] = {
        {"", {"root"}},
        {"a ::= \"x\"", {"root"}},
        {"root ::= \"x", {"line 1, column 10", "not closed"}},
        {"root ::= [a", {"column 10", "not closed"}},
        {"root ::= [a-", {"not closed"}},
        {"root ::= [z-a]", {"column 11"}},
        {"root ::= []", {"no character"}},
        {"root ::= [^\\x00-\\U0010FFFF]", {"no character"}},
        {"root ::= (\"x\"", {"column 10", "not closed"}},
        {"root ::= \"x\")", {"column 13", ") closes no ("}},
        {"root ::= \"x\"\n  b ::= c", {"line 2, column 9", "'c' is not defined"}},
        {"root = \"x\"", {"column 6", "::="}},
        {"root ::= *", {"nothing stands before this *"}},
        {"root ::= \"a\" | +", {"nothing stands before this +"}},
        {"root ::= ({2})", {"nothing stands before this {"}},
        {"root ::= \"a\"{3,2}", {"column 13"}},
        {"root ::= \"a\"{x}", {"expected a number"}},
        {"root ::= \"a\"{2", {"expected , or }"}},
        {"root ::= \"a\"{1,1000001}", {"repetitions"}},
        {"root ::= \"a\"{99999999999999999999}", {"repetitions"}},
        {"root ::= \"\\q\"", {"escape"}},
        {"root ::= \"\\u12\"", {"4 hexadecimal digits"}},
        {"root ::= \"\\ud800\"", {"U+D800"}},
        {"root ::= \"\\UFFFFFFFF\"", {"U+FFFFFFFF"}},
        {"root ::= \"\\", {"escape"}},
        {"root ::= \"\xff\"", {"UTF-8"}},
        {"root ::= <think>", {"tokens"}},
        {"root ::= !<[7]>", {"tokens"}},
        {"root ::= \"a\" ~", {"column 14"}},
        {"root ::= \"a\"\nroot ::= \"b\"", {"line 2, column 1", "twice"}},
        {"root ::= \"a\" b\n\nb ::= b \"x\" | \"y\"",
         {"line 3, column 1", "left-recursive", "'b'"}},
        {"root ::= c \"x\" | \"y\"\nc ::= \"d\"? root", {"left-recursive"}},
        {"root ::= (\"\" | \"a\") root", {"can never end"}},
        {"root ::= (\"\" | \"a\") root | \"b\"", {"left-recursive"}},
        {"root ::= \"a\" b\nb ::= \"c\" b", {"can never end"}},
        {"root ::= \"a\"?*+?*+?*+?", {"8 repetitions"}},
        {"root ::= (((\"a\"{1000}){1000}){1000}", {"not closed"}},
        {"root ::= \"abcdefgh\"{600000}", {"states"}},
    };
    for (const auto& [text, parts] : cases) {
        const auto g = Grammar::parse(text);
        ASSERT_FALSE(g.has_value()) << text;
        EXPECT_EQ(g.error().code, ErrorCode::invalid_argument);
        for (const std::string& part : parts)
            EXPECT_NE(g.error().message.find(part), std::string::npos) << text << "\n"
                                                                       << g.error().message;
    }
    // Columns count code points.
    EXPECT_NE(Grammar::parse("root ::= \"\xC3\xA9\xC3\xA9\" ~").error().message.find("column 15"),
              std::string::npos);
}

TEST(Gbnf, DepthAndSizeAreBounded) {
    const auto nested = [](size_t n) {
        return "root ::= " + std::string(n, '(') + "\"a\"" + std::string(n, ')');
    };
    EXPECT_TRUE(accepts(grammar(nested(200)), "a"));
    for (const size_t n : {size_t{201}, size_t{100000}})
        EXPECT_NE(Grammar::parse(nested(n)).error().message.find("nested"), std::string::npos);
    EXPECT_NE(Grammar::parse("root ::= " + std::string(200000, '(')).error().message.find("nested"),
              std::string::npos);
    EXPECT_FALSE(Grammar::parse(std::string(gbnf::kMaxText + 1, ' ')).has_value());
    // A chain of 30000 rules is no deep recursion.
    std::string chain = "root ::= r0\n";
    for (int i = 0; i < 30000; ++i)
        chain += "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + "\n";
    chain += "r30000 ::= \"a\"\n";
    EXPECT_NE(grammar(chain), nullptr);
}

// --- against a naive matcher ---------------------------------------------------------------------

struct Part {
    char kind = 'c';  // c: class, r: rule, s: sequence, a: alternatives, *: repeat
    std::set<std::string> chars;
    size_t rule = 0, least = 0, most = 0;  // most 99: without end
    std::vector<Part> parts;
};
const std::vector<std::string> letters = {"a", "b", "\xC3\xA9"};

struct RandomGrammar {
    std::mt19937 random;
    std::vector<Part> rules;
    explicit RandomGrammar(uint32_t seed) : random(seed) {
        const size_t n = 1 + random() % 4;
        for (size_t i = 0; i < n; ++i) rules.push_back(part(n, 3));
    }
    Part part(size_t n, int depth) {
        Part p;
        const auto roll = random() % (depth == 0 ? 5 : 12);
        if (roll < 3) {
            for (const std::string& l : letters)
                if (random() % 2 == 0) p.chars.insert(l);
            if (p.chars.empty()) p.chars.insert(letters[random() % 3]);
        } else if (roll < 5) {
            p.kind = 'r';
            p.rule = random() % n;
        } else if (roll < 8) {
            p.kind = 's';
            for (auto k = random() % 4; k > 0; --k) p.parts.push_back(part(n, depth - 1));
        } else if (roll < 10) {
            p.kind = 'a';
            for (auto k = 1 + random() % 3; k > 0; --k) p.parts.push_back(part(n, depth - 1));
        } else {
            p.kind = '*';
            p.parts.push_back(part(n, depth - 1));
            p.least = random() % 3;
            p.most = random() % 2 == 0 ? 99 : p.least + random() % 3;
        }
        return p;
    }
    static std::string text(const Part& p) {
        std::string out;
        if (p.kind == 'c') {
            for (const std::string& l : p.chars) out += l;
            return "[" + out + "]";
        }
        if (p.kind == 'r') return p.rule == 0 ? "root" : "r" + std::to_string(p.rule);
        for (const Part& x : p.parts)
            out += (out.empty() ? "" : p.kind == 'a' ? " | " : " ") + text(x);
        if (p.parts.empty()) out = "\"\"";
        out = "(" + out + ")";
        if (p.kind != '*') return out;
        if (p.most == 99 && p.least < 2) return out + (p.least == 0 ? "*" : "+");
        return out + "{" + std::to_string(p.least) + "," +
               (p.most == 99 ? "" : std::to_string(p.most)) + "}";
    }
    std::string text() const {
        std::string out;
        for (size_t i = 0; i < rules.size(); ++i)
            out += (i == 0 ? "root" : "r" + std::to_string(i)) + " ::= " + text(rules[i]) + "\n";
        return out;
    }
};

// Where a match that begins at `from` may end. `open` is set where the input ran out while more was
// wanted: since every rule has a finite text, the input then is a beginning.
struct Naive {
    const RandomGrammar& g;
    const std::vector<std::string>& input;
    bool open = false;
    std::map<std::pair<const Part*, size_t>, std::set<size_t>> known;
    std::set<size_t> ends(const Part& p, size_t from) {
        const auto found = known.find({&p, from});
        if (found != known.end()) return found->second;
        return known[{&p, from}] = find_ends(p, from);
    }
    std::set<size_t> find_ends(const Part& p, size_t from) {
        if (p.kind == 'c') {
            if (from == input.size()) {
                open = true;
                return {};
            }
            return p.chars.count(input[from]) == 1 ? std::set<size_t>{from + 1}
                                                   : std::set<size_t>{};
        }
        if (p.kind == 'r') {
            // Grammars that get here are not left-recursive: this ends.
            return ends(g.rules[p.rule], from);
        }
        if (p.kind == 'a') {
            std::set<size_t> out;
            for (const Part& x : p.parts) out.merge(ends(x, from));
            return out;
        }
        std::set<size_t> at = {from};
        if (p.kind == 's') {
            for (const Part& x : p.parts) {
                std::set<size_t> next;
                for (const size_t i : at) next.merge(ends(x, i));
                at = next;
            }
            return at;
        }
        std::set<size_t> out;
        if (p.least == 0) out.insert(from);
        for (size_t k = 1; k <= std::min<size_t>(p.most, input.size() + 4) && !at.empty(); ++k) {
            std::set<size_t> next;
            for (const size_t i : at) next.merge(ends(p.parts[0], i));
            at = next;
            if (k >= p.least) out.insert(at.begin(), at.end());
        }
        return out;
    }
};

TEST(GrammarMatcher, AgreesWithANaiveMatcher) {
    std::vector<std::vector<std::string>> inputs = {{}};
    for (size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i].size() < 5)
            for (const std::string& l : letters) {
                inputs.push_back(inputs[i]);
                inputs.back().push_back(l);
            }
    size_t used = 0, matched = 0, begun = 0;
    for (uint32_t seed = 0; seed < 4000; ++seed) {
        const RandomGrammar random(seed);
        const auto g = Grammar::parse(random.text());
        if (!g) {
            const std::string& m = g.error().message;
            ASSERT_TRUE(m.find("left-recursive") != std::string::npos ||
                        m.find("never end") != std::string::npos)
                << m;
            continue;
        }
        ++used;
        GrammarMatcher m(*g, trie_of({}));
        for (size_t i = seed % 2; i < inputs.size(); i += 2) {
            std::string text;
            for (const std::string& l : inputs[i]) text += l;
            Naive naive{random, inputs[i], false, {}};
            const bool full = naive.ends(random.rules[0], 0).count(inputs[i].size()) == 1;
            m.reset();
            const bool began = m.accept_text(text).has_value();
            ASSERT_EQ(began && m.complete(), full) << random.text() << "\"" << text << "\"";
            ASSERT_EQ(began, full || naive.open) << random.text() << "\"" << text << "\"";
            matched += full ? 1 : 0;
            begun += began ? 1 : 0;
        }
    }
    EXPECT_GT(used, 1000u);
    EXPECT_GT(matched, 10000u);
    EXPECT_GT(begun, matched + 4000u);
}

TEST(GrammarMatcher, MaskIsWhatEachTokenAloneSays) {
    std::vector<std::string> tokens = {"a",
                                       "b",
                                       "ab",
                                       "ba",
                                       "aaa",
                                       "abab",
                                       "",
                                       "\xC3",
                                       "\xA9",
                                       "\xC3\xA9",
                                       "a\xC3",
                                       "\xA9"
                                       "b",
                                       "\xC3\xA9\xC3\xA9",
                                       "bb",
                                       "a",
                                       "\xFF",
                                       "aaaaaaaa",
                                       "c",
                                       "\xC3\xA9"
                                       "a\xC3\xA9",
                                       "abababab"};
    for (uint32_t i = 0; i < 200; ++i) {  // enough below one node for the short cut
        std::string token;
        std::mt19937 random(i);
        for (auto k = 1 + random() % 7; k > 0; --k) token += letters[random() % 3];
        tokens.push_back(token);
    }
    const auto trie = trie_of(tokens);
    size_t allowed = 0;
    for (uint32_t seed = 0; seed < 400; ++seed) {
        const RandomGrammar random(seed);
        const auto g = Grammar::parse(random.text());
        if (!g) continue;
        GrammarMatcher m(*g, trie);
        std::string text;
        for (int length = 0; length < 4; ++length) {
            const auto mask = m.mask();
            ASSERT_TRUE(mask.has_value());
            std::vector<int32_t> set;
            for (size_t id = 0; id < tokens.size(); ++id) {
                const bool bit = ((*mask)[id / 64] >> (id % 64) & 1) != 0;
                const bool want = !tokens[id].empty() && begins(*g, text + tokens[id]);
                ASSERT_EQ(bit, want) << random.text() << text << " + " << tokens[id];
                if (bit) set.push_back(static_cast<int32_t>(id));
            }
            allowed += set.size();
            if (set.empty()) break;
            const int32_t id = set[(seed * 7 + static_cast<uint32_t>(length)) % set.size()];
            ASSERT_TRUE(m.accept(id).has_value());
            text += tokens[static_cast<size_t>(id)];
            // What is refused changes nothing.
            ASSERT_FALSE(m.accept(15).has_value());
            ASSERT_FALSE(m.accept(6).has_value());
            ASSERT_FALSE(m.accept(-1).has_value());
            ASSERT_FALSE(m.accept(5000).has_value());
        }
    }
    EXPECT_GT(allowed, 10000u);
}

TEST(GrammarMatcher, MasksOfWideClasses) {
    // Long runs of any character, whole and broken: what the walk takes at once must be right.
    const std::vector<std::string> pieces = {
        "a",    "x",    "e",        "\xC3\xA9",     "\xE6\x97\xA5", "\xF0\x9F\x98\x80",
        "\xE6", "\x97", "\xF0\x9F", "\xED\xA0\x80", "\xC0\xAF",     "\""};
    std::mt19937 random(9);
    std::vector<std::string> tokens;
    for (int i = 0; i < 3000; ++i) {
        std::string token;
        for (auto k = 1 + random() % 6; k > 0; --k)
            token += pieces[random() % (i % 2 == 0 ? 6 : pieces.size())];
        tokens.push_back(token);
    }
    const auto trie = trie_of(tokens);
    for (const char* text :
         {"root ::= .*", "root ::= [^x]{0,5} \"x\"?", "root ::= \"\\\"\" [^\"]{2,9} \"\\\"\"",
          "root ::= ([^x\\u0100-\\uffff] | \"xx\"){3,}", "root ::= [a\\u0080-\\U0010FFFF]{4} .*"}) {
        const auto g = grammar(text);
        for (const std::string start : {"", "\"", "a", "\"a\xE6", "aaa\xF0"}) {
            GrammarMatcher m(g, trie);
            if (!m.accept_text(start)) continue;
            const auto mask = m.mask();
            ASSERT_TRUE(mask.has_value());
            for (size_t id = 0; id < tokens.size(); ++id)
                ASSERT_EQ(((*mask)[id / 64] >> (id % 64) & 1) != 0, begins(g, start + tokens[id]))
                    << text << " after " << start << ": " << tokens[id];
        }
    }
}

TEST(GrammarMatcher, HalfACodePointIsAllowedWhereItCanBecomeOneOfTheClass) {
    const auto trie = trie_of({"\xE3", "\xE3\x81", "\xE3\x81\x82", "\x82", "\xE4", "\xC3", "\x81"});
    GrammarMatcher m(grammar("root ::= [\\u3041-\\u309f]+"), trie);
    EXPECT_EQ((*m.mask())[0], 0b0000111u);
    ASSERT_TRUE(m.accept(1).has_value());
    EXPECT_FALSE(m.complete());
    EXPECT_EQ((*m.mask())[0], 0b1001000u);  // U+3042 and U+3041
    ASSERT_TRUE(m.accept(3).has_value());
    EXPECT_TRUE(m.complete());
}

TEST(GrammarMatcher, AmbiguityDoesNotExplode) {
    const std::pair<const char*, const char*> cases[] = {
        {"root ::= s\ns ::= \"a\" s \"b\" | \"a\" s \"c\" | \"a\" s s | \"d\"", "a"},
        {"root ::= (\"a\"* \"a\"*)* \"b\"", "a"},
        {"root ::= (((\"a\"?)*)+)* (\"a\" | \"a\" \"a\")* \"b\"", "a"},
        {"root ::= e\ne ::= t (\"+\" e)? | t (\"+\" t)*\nt ::= \"a\" | \"(\" e \")\"", "(a+"},
        {"root ::= x{0,50} x{0,50} x{0,50}\nx ::= \"a\" | \"a\" \"a\"", "a"},
    };
    for (const auto& [text, piece] : cases) {
        GrammarMatcher m(grammar(text), trie_of({"a", "b", "aaaa"}));
        for (int i = 0; i < 60; ++i) {
            ASSERT_TRUE(m.accept_text(piece).has_value()) << text << " " << i;
            ASSERT_TRUE(m.mask().has_value());
        }
    }
}

TEST(GrammarMatcher, LongTextsKeepTheirMemory) {
    GrammarMatcher m(grammar("root ::= v\nv ::= \"[\" (v (\",\" v)*)? \"]\" | [0-9]+"),
                     trie_of({"[", "]", ",", "1", "[["}));
    for (int i = 0; i < 20000; ++i) ASSERT_TRUE(m.accept_text("[").has_value());
    for (int i = 0; i < 20000; ++i)
        ASSERT_TRUE(m.accept_text(i == 0 ? "1]" : i % 3 == 0 ? ",1]" : "]").has_value()) << i;
    EXPECT_TRUE(m.complete());
    EXPECT_FALSE(m.accept_text("]").has_value());
    m.reset();
    EXPECT_TRUE(m.accept_text("[]").has_value());
}

TEST(GrammarMatcher, EndTokensCloseTheAnswer) {
    // A trie of a tokenizer has end tokens; here the closing is that of complete().
    GrammarMatcher m(grammar("root ::= \"ab\""), trie_of({"a", "b"}));
    EXPECT_FALSE(m.complete());
    ASSERT_TRUE(m.accept(0).has_value());
    ASSERT_TRUE(m.accept(1).has_value());
    EXPECT_TRUE(m.complete());
    EXPECT_EQ((*m.mask())[0], 0u);
}

}  // namespace
}  // namespace ridge
