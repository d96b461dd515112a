// Choosing tokens with a vocabulary at hand: grammars over its bytes and end tokens, breakers of
// DRY spelled by its tokens, and what is said where no token is left.
#include "sample/chooser.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/vocab_util.hpp"

namespace ridge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr int32_t kAb = 256, kEnd = 257, kTurn = 258;

// A token for each byte, "ab", and two that end an answer.
Tokenizer tokenizer() {
    auto vocab = test::byte_level_vocab("gpt-2");
    vocab.add("ab");
    vocab.merge("a b");
    vocab.data.eos = vocab.add("<|endoftext|>", TokenType::control);
    vocab.data.eot = vocab.add("<|im_end|>", TokenType::control);
    auto made = Tokenizer::create(vocab.data);
    if (!made) throw std::runtime_error(made.error().message);
    return std::move(*made);
}

TokenChooser chooser(const SamplerOptions& o, const char* gbnf, bool ends = true) {
    static const Tokenizer t = tokenizer();
    std::shared_ptr<const Grammar> grammar;
    if (gbnf != nullptr) grammar = *Grammar::parse(gbnf);
    auto made = TokenChooser::create(o, t, static_cast<uint32_t>(t.size()), grammar, ends);
    if (!made) throw std::runtime_error(made.error().message);
    return std::move(*made);
}

SamplerOptions greedy() {
    SamplerOptions o;
    o.temperature = 0.0f;
    return o;
}

// Logits that prefer these tokens, the first most.
std::vector<float> prefer(std::initializer_list<int32_t> ids) {
    std::vector<float> logits(259, 0.0f);
    float value = 100.0f;
    for (const int32_t id : ids) logits[static_cast<size_t>(id)] = value--;
    return logits;
}

TEST(TokenChooser, AGrammarsAnswerEndsByAnEndTokenOrOfItself) {
    TokenChooser c = chooser(greedy(), "root ::= \"ab\"+");
    EXPECT_EQ(*c.next(prefer({'x', kEnd, kAb})), kAb) << "not complete: no end, and no x";
    EXPECT_EQ(*c.next(prefer({'x', kTurn, kAb})), kTurn);
    EXPECT_EQ(*c.next(prefer({kAb})), -1) << "the answer is closed";
    // Without end tokens it goes on for as long as the grammar lets it.
    TokenChooser endless = chooser(greedy(), "root ::= \"a\" \"b\"?", false);
    EXPECT_EQ(*endless.next(prefer({kEnd, 'a'})), 'a');
    EXPECT_EQ(*endless.next(prefer({kEnd, 'b'})), 'b');
    EXPECT_EQ(*endless.next(prefer({kEnd})), -1) << "complete, and nothing may follow";
}

TEST(TokenChooser, WhereNoTokenIsLeftItSaysWhy) {
    SamplerOptions o = greedy();
    o.logit_bias = {{'a', -INFINITY}, {kAb, -INFINITY}};
    TokenChooser c = chooser(o, "root ::= \"ab\"");
    const auto none = c.next(prefer({}));
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(none.error().message, HasSubstr("no token of this vocabulary"));
    o.logit_bias.clear();
    for (int32_t id = 0; id < 259; ++id) o.logit_bias.emplace_back(id, -INFINITY);
    TokenChooser all = chooser(o, nullptr);
    const auto biased = all.next(prefer({}));
    ASSERT_FALSE(biased);
    EXPECT_THAT(biased.error().message, HasSubstr("the logit biases leave no token"));
    static const Tokenizer t = tokenizer();
    o.logit_bias = {{259, 1.0f}};
    EXPECT_FALSE(TokenChooser::create(o, t, 259, nullptr, true));
}

TEST(TokenChooser, ThePromptCountsForPenaltiesNotForTheGrammar) {
    SamplerOptions o = greedy();
    o.repeat_penalty = 4.0f;
    TokenChooser c = chooser(o, "root ::= [a-z]+");
    const std::vector<int32_t> prompt = {'1', '2', 'x', -5, 4000};
    c.accept_prompt(prompt);
    // x stood in the prompt: 100 / 4 lies below 99. Then y was chosen and is below z.
    EXPECT_EQ(*c.next(prefer({'x', 'y', 'z'})), 'y');
    EXPECT_EQ(*c.next(prefer({'y', 'x', 'z'})), 'z');
}

TEST(Breakers, AreFoundInsideTokensAndAcrossThem) {
    const Tokenizer t = tokenizer();
    const auto found = DryPenalty::find_breakers(t, {"b", "abc", "", "im_"});
    // "b" stands in the tokens b and ab; "abc" begins with the tokens a (then bc) and ab (then c),
    // and stands in none whole. A control token counts by its name: <|im_end|> holds "im_".
    ASSERT_EQ(found.count('b'), 1u);
    EXPECT_THAT(found.at('b'), ElementsAre(IsEmpty()));
    EXPECT_THAT(found.at(kAb), UnorderedElementsAre(IsEmpty(), ElementsAre('c')));
    EXPECT_THAT(found.at('a'), ElementsAre(ElementsAre('b', 'c')));
    EXPECT_THAT(found.at(kTurn), ElementsAre(IsEmpty()));
    EXPECT_THAT(found.at('i'), ElementsAre(ElementsAre('m', '_')));
    EXPECT_EQ(found.count('c'), 0u);
    EXPECT_EQ(found.count(kEnd), 0u);
    // Long ones are cut to 40 bytes, tails to 20 tokens (as llama.cpp cuts them).
    const auto longest = DryPenalty::find_breakers(t, {std::string(60, 'q')});
    ASSERT_EQ(longest.count('q'), 1u);
    EXPECT_THAT(longest.at('q'), ElementsAre(std::vector<int32_t>(20, 'q')));
}

// What repeats is counted back to the last breaker only, also where it takes several tokens.
TEST(Breakers, StopTheCountOfWhatRepeats) {
    static const Tokenizer t = tokenizer();
    const auto lost = [&](const std::vector<std::string>& breakers, const std::string& history) {
        SamplerOptions o = greedy();
        o.temperature = 1.0f;
        o.stages = {SamplerStage::dry};
        o.dry_multiplier = 1.0f;
        o.dry_base = 2.0f;
        o.dry_allowed_length = 1;
        o.dry_breakers = breakers;
        auto s = Sampler::create(o, static_cast<uint32_t>(t.size()), &t);
        EXPECT_TRUE(s) << (s ? "" : s.error().message);
        for (const char ch : history) s->accept(ch);
        (void)s->sample(std::vector<float>(259, 0.0f));
        double best = 0.0, own = 0.0;
        for (const Candidate& c : s->candidates()) {
            best = std::max(best, static_cast<double>(c.p));
            if (c.id == '!') own = static_cast<double>(c.p);
        }
        return std::log(best / own);  // how much lower "!" lies than the others
    };
    // wxyz repeats before "!": length 4, which costs 2^(4-1); a breaker leaves a part of it.
    EXPECT_NEAR(lost({}, "wxyz!..wxyz"), 8.0, 1e-3);
    EXPECT_NEAR(lost({"x"}, "wxyz!..wxyz"), 2.0, 1e-3) << "yz is left";
    EXPECT_NEAR(lost({"xy"}, "wxyz!..wxyz"), 1.0, 1e-3) << "z is left";
    EXPECT_NEAR(lost({"xq"}, "wxyz!..wxyz"), 8.0, 1e-3) << "x is no breaker without q";
    EXPECT_NEAR(lost({"yzq"}, "wxyz!..wxyz"), 8.0, 1e-3) << "not written to its end";
    EXPECT_NEAR(lost({"z"}, "wxyz!..wxyz"), 0.0, 1e-3) << "nothing is left";
    EXPECT_NEAR(lost({"!"}, "wxyz!wxyz"), 0.0, 1e-3) << "a breaker is never punished";
}

}  // namespace
}  // namespace ridge
