#!/usr/bin/env python3
"""Writes the text that ridge's own tiny models are trained on.

Every story is put together from the sentences below, which were written for
this project: no outside text is used. A story has a cast, a place and one of
the plots; each sentence is a template with alternatives, and what was chosen
early (a name, a thing, its colour, who helps) is kept to the end, so that a
model has something to remember and not only something to imitate.

    [a|b|c]   one of these, may be nested, may be empty
    {key}     a value of the story: {A} the hero, {he} {him} {his} {He} {His}
              the hero's pronouns, {B} {bhe} ... the friend's, {G} {ghe} ... a
              grown-up's, {obj} {col} {place} ... the props

Usage: corpus.py [--seed N] [--stories N] [--out FILE]   one story a line.
The text depends on the seed and the number of stories alone.
"""

import argparse
import hashlib
import random
import re
import sys

GIRLS = "Mia Lily Anna Rosa Ella Nora Zoe Lucy Ivy Maya".split()
BOYS = "Tom Ben Max Leo Sam Finn Jack Oscar Hugo Theo".split()
SHE_ANIMALS = "Dot Coco Hazel Tilly Pearl".split()
HE_ANIMALS = "Pip Bruno Otto Rusty Milo".split()
KINDS = "rabbit fox bear mouse duck cat dog frog owl pig".split()
COLOURS = "red blue green yellow white purple orange pink".split()
THINGS = "ball hat book doll drum scarf bell lamp key box bag shell cup spoon button blanket".split()
TOYS = "ball doll drum train boat puzzle robot truck".split()
PLACES = "park garden forest beach farm meadow river market library barn".split()
HIDING = ["under the bed", "behind the door", "in the kitchen", "under the table", "in the tall grass",
          "behind the old tree", "near the pond", "in the basket", "by the fence", "in the barn"]
FOODS = "apple cake pie bread soup cookie berry honey cheese pear".split()
GROWN = [("Mom", "she"), ("Dad", "he"), ("Grandma", "she"), ("Grandpa", "he")]
ADJ = "little small kind brave happy clever quiet curious".split()
WEATHER = "sunny warm windy bright quiet cool".split()

PRONOUNS = {
    "she": ("she", "her", "her", "hers"),
    "he": ("he", "him", "his", "his"),
}


def expand(text, env, rng):
    """Chooses among the alternatives of `text`, then fills in its values."""
    innermost = re.compile(r"\[([^\[\]]*)\]")
    while True:
        match = innermost.search(text)
        if match is None:
            break
        text = text[: match.start()] + rng.choice(match.group(1).split("|")) + text[match.end():]
    text = re.sub(r"\{(\w+)\}", lambda m: env[m.group(1)], text)
    text = re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", text)
    return re.sub(r"  +", " ", text).strip()


def add_person(env, rng, prefix, name, gender):
    """Puts a pronoun set into `env`: prefix "" gives {he}, "b" gives {bhe}."""
    subject, object_, possessive, _ = PRONOUNS[gender]
    for key, value in (("he", subject), ("him", object_), ("his", possessive)):
        env[prefix + key] = value
        env[prefix.upper() + key if prefix else key.capitalize()] = value.capitalize()
    env[{"": "A", "b": "B", "g": "G"}[prefix]] = name


def new_cast(rng):
    """Draws hero, friend, grown-up and props."""
    env = {}
    people = [(n, "she", "girl") for n in GIRLS] + [(n, "he", "boy") for n in BOYS]
    animals = [(n, "she", "") for n in SHE_ANIMALS] + [(n, "he", "") for n in HE_ANIMALS]
    hero_is_animal = rng.random() < 0.35
    name, gender, kind = rng.choice(animals if hero_is_animal else people)
    kinds = rng.sample(KINDS, 3)
    add_person(env, rng, "", name, gender)
    env["kind"] = kind or kinds[0]
    friend_is_animal = rng.random() < (0.8 if hero_is_animal else 0.3)
    pool = [p for p in (animals if friend_is_animal else people) if p[0] != name]
    name, gender, kind = rng.choice(pool)
    add_person(env, rng, "b", name, gender)
    env["bkind"] = kind or kinds[1]
    name, gender = rng.choice(GROWN)
    add_person(env, rng, "g", name, gender)
    env["adj"] = rng.choice(ADJ)
    env["badj"] = rng.choice([a for a in ADJ if a != env["adj"]])
    env["col"], env["col2"] = rng.sample(COLOURS, 2)
    env["obj"], env["obj2"] = rng.sample(THINGS, 2)
    env["toy"] = rng.choice(TOYS)
    env["place"], env["place2"] = rng.sample(PLACES, 2)
    env["hide1"], env["hide2"], env["hide3"] = rng.sample(HIDING, 3)
    env["food"], env["food2"] = rng.sample(FOODS, 2)
    env["pet"] = kinds[2]
    env["weather"] = rng.choice(WEATHER)
    return env


OPEN = [
    "Once upon a time, there was a {adj} {kind} named {A}. {A} lived in a [small|little|cozy|old] house [near|by] the {place}.",
    "Once upon a time, a {adj} {kind} named {A} lived [near|by] the {place}.",
    "There was once a {adj} {kind} [named|called] {A}. [{He} lived in a {col2} house [near|by] the {place}.|]",
    "{A} was a {adj} {kind}. [{He} lived with {G} in a [small|little|cozy] house.|Every day {he} played in the {place}.]",
]
FRIEND = [
    "{His} best friend was a {badj} {bkind} named {B}.",
    "{He} had a good friend, a {badj} {bkind} named {B}.",
    "{A} often played with {B}, a {badj} {bkind} who lived next door.",
]
HOBBY = [
    "{He} loved to [sing|dance|run|draw|read|climb trees|play outside|look at the stars|swim|tell stories].",
    "{He} liked {foods} and [long walks|warm days|funny songs|big hugs|old stories|soft pillows].",
    "{His} favorite color was {col}.",
    "[Every morning|Every evening] {he} said hello to the [birds|trees|sun|flowers|clouds].",
    "{G} [always said|often said] that {A} was a good {kind}.",
]
DAY = "One {weather} [day|morning|afternoon], "

# A plot is a list of sentences or of lists of alternatives for a sentence.
# None marks the place where the friend is introduced.
PLOTS = {
    "lost": [
        "{A} had a {col} {obj}. [{He} took it everywhere.|It was {his} favorite thing.|{G} had given it to {him}.]",
        DAY + "{A} [could not find|looked for] {his} {col} {obj}[.| and it was gone.] {He} felt [sad|very sad|worried].",
        ["\"Where is my {obj}?\" {he} [asked|cried].", "\"Oh no! My {obj} is gone,\" {he} said."],
        "{He} looked {hide1}, but it was not there. {He} looked {hide2}, but it was not there either.",
        [["Then {G} came in. \"[Do not cry|Do not worry],\" {ghe} said. \"[Where did you play yesterday?|Let us think. Where did you have it last?]\"",
          "{A} thought [hard|for a moment]. \"I played {hide3},\" {he} said.",
          "They went to look together. There, {hide3}, was the {col} {obj}!"],
         ["Then {B}, a {badj} {bkind}, came by. \"Why are you sad?\" {bhe} asked.",
          "\"I lost my {col} {obj},\" said {A}. \"I will help you,\" said {B}.",
          "They looked and looked. At last {B} shouted, \"I see it!\" The {obj} was {hide3}."],
         ["A little {pet} saw that {he} was sad. \"I saw something {col},\" said the {pet}. \"It is {hide3}.\"",
          "{A} ran to look. The {pet} was right! The {obj} was {hide3}."]],
        "{A} [hugged|held] {his} {obj} [and smiled|and laughed|tight]. \"Thank you!\" {he} said.",
        ["From that day on, {A} always put {his} {obj} [in a safe place|back in its box].", "That night {he} slept with the {obj} next to {his} bed."],
    ],
    "share": [
        None,
        DAY + "{A} [got|found] a new {col} {toy}. {He} was very happy.",
        "{B} came to [play|visit]. \"[Can I play with your {toy}?|May I try it?]\" {bhe} asked.",
        "\"No!\" said {A}. \"It is mine.\" [{B} was sad and went home.|{B} looked down and walked away.]",
        "{A} played alone[.| all day.] But [it was not fun|playing alone was not fun|soon {he} felt lonely].",
        ["{G} saw {him} and sat down. \"A {toy} is more fun with a friend,\" {ghe} said.", "{He} asked {G}, \"Why am I so sad?\" {G} smiled. \"Because good things are better when we share,\" {ghe} said."],
        "So {A} [ran|went] to {B}'s house. \"I am sorry,\" {he} said. \"[Let us play together.|You can have the first turn.]\"",
        "{B} smiled. They played with the {col} {toy} until [the sun went down|it was time for dinner].",
        ["{A} learned that sharing is [good|fun].", "After that day, {A} and {B} shared all their toys."],
    ],
    "fear": [
        [["{A} was afraid of the dark. [At night {he} hid under {his} blanket.|{He} thought there was a monster {hide1}.]",
          "One night the lights went out. \"Help!\" cried {A}. {G} came with a [little|small] lamp.",
          "\"Look,\" said {G}. \"[The dark is only the day with its eyes closed.|It is the same room as in the day.]\" {Ghe} held up the lamp, and {A} looked around.",
          "There was no monster. There was only {his} {col} {obj}. {A} [laughed|began to laugh].",
          "From then on, {A} was not afraid of the dark[.| any more.]"],
         ["{A} was afraid of the water. [When {his} friends swam in the river, {he} sat on the grass.|{He} never went into the pond.]",
          DAY + "{his} {col} {obj} fell into the pond. \"Oh no!\" cried {A}. It was not far, but {he} was scared.",
          "A {badj} {bkind} named {B} saw it. \"Take my hand,\" said {B}. \"We will go slowly.\"",
          "{A} put one foot in the water. It was [cool|nice]. {He} put in the other foot. Step by step, they got the {obj} back.",
          "\"I did it!\" shouted {A}. {He} was wet, but {he} was [proud|very proud]. The next day {he} asked {B} to go to the pond again."],
         ["{A} was afraid of [loud noises|thunder]. One day there was a big storm. Boom! went the sky.",
          "{A} ran to {G}. \"I am scared,\" {he} said. {G} gave {him} a [big|warm] hug.",
          "\"Let us count,\" said {G}. \"When the sky is bright, we count until the boom.\" So they counted. One, two, three, boom!",
          "The next time they counted to five. Then they counted to nine. \"The storm is going away,\" said {A}.",
          "Soon the sun came out, and there was a [big|beautiful] rainbow over the {place}. {A} was not scared any more."]],
    ],
    "kite": [
        "{A} had a {col} kite. [{G} had made it for {him}.|It had a long {col2} tail.]",
        "One windy day, {he} [took|carried] the kite to the {place}. The wind was strong, and the kite went up, up, up.",
        "But then the wind blew hard, and the kite got stuck in a [tall|big] tree. \"Oh no!\" said {A}.",
        ["{He} jumped, but the tree was too tall. {He} threw a stick, but it did not help.", "{He} tried to climb the tree, but the branches were too high."],
        [["A {bkind} named {B} came by. \"I can climb,\" said {B}. {Bhe} climbed up the tree and [got|took] the kite down.",
          "\"Thank you, {B}!\" said {A}. \"Do you want to fly it with me?\" \"Yes!\" said {B}."],
         ["{A} ran home to get {G}. {G} came with a long ladder and took the kite down.",
          "\"Thank you!\" said {A}. \"Next time, fly it far from the trees,\" said {G}. {A} nodded."],
         ["Just then a little bird sat down in the tree. \"Please help me,\" said {A}. The bird pulled the string, and the kite fell down.",
          "\"Thank you, little bird,\" said {A}. {He} gave the bird some bread."]],
        "All afternoon the {col} kite [danced|flew] in the sky. [It was a wonderful day.|{A} was very happy.]",
    ],
    "seed": [
        DAY + "{A} found a tiny seed [in the garden|on the road|in {his} pocket]. \"What will it be?\" {he} asked.",
        "\"Plant it and see,\" said {G}. So {A} [made|dug] a little hole, put the seed in it, and gave it some water.",
        "The next day {he} ran outside, but there was nothing. [{He} waited and waited.|Day after day, there was nothing.]",
        "\"It is not growing,\" said {A}. \"[Be patient|Wait a little],\" said {G}. \"Good things take time.\"",
        "So {A} gave it water every [day|morning]. [The sun was warm.|Then it rained.|{He} even sang to it.]",
        "One morning there was a small green leaf! \"Look! Look!\" {he} shouted.",
        ["The plant grew and grew. In the summer it had a big {col} flower. [Everyone|All {his} friends] came to see it.",
         "The plant grew and grew. In the fall there was a [big|huge] pumpkin. {G} made soup, and there was enough for everyone.",
         "The plant grew tall, and one day it was full of {col} berries. {A} shared them with {B} and {G}."],
        ["{A} was glad that {he} had waited.", "\"You were right,\" {he} told {G}. \"Good things take time.\""],
    ],
    "baby": [
        DAY + "{A} went for a walk in the {place}. {He} heard a [small|soft|tiny] sound. \"Peep! Peep!\"",
        [["{He} looked down and saw a baby bird. It had fallen from its nest.",
          "\"Poor little bird,\" said {A}. \"Where is your mother?\" The baby bird only [looked at {him}|said, \"Peep!\"].",
          "{A} looked up and saw the nest. It was high in a tree. {He} [went to get|called] {G}.",
          "{G} was tall. {Ghe} [gently|carefully] put the baby bird back in the nest.",
          "Soon the mother bird came home with a worm. She sang a [sweet|happy] song to say thank you."],
         ["Behind a bush sat a baby duck. It was all alone and it was cold.",
          "\"Are you lost?\" asked {A}. {He} put the little duck in {his} {col} hat to keep it warm.",
          "{He} walked to the pond, but there were no ducks. {He} walked to the river, and there {he} saw a mother duck. She was looking for her baby.",
          "\"Quack!\" said the mother duck. The baby jumped into the water and swam to her.",
          "{A} waved. \"Goodbye, little duck!\" [The ducks came to see {him} every day after that.|The mother duck waved her wing.]"]],
        ["{A} went home with a happy heart.", "That night {he} told {G} the story again and again.", "It feels good to help someone small."],
    ],
    "bake": [
        "It was {G}'s birthday. {A} wanted to make a {food} [cake|pie] for {ghim}.",
        None,
        "\"Will you help me?\" {A} asked {B}. \"Yes, let us bake!\" said {B}.",
        "They put flour, eggs, and milk in a big bowl. [{B} mixed and mixed.|They mixed until there was flour everywhere.]",
        [["But {A} made a mistake. {He} put in salt and not sugar! They tasted it. \"Yuck!\" said {B}.",
          "{A} wanted to cry. \"It is all wrong,\" {he} said. \"We can try again,\" said {B}.",
          "This time they tasted everything first. It was sweet and good."],
         ["Then the bowl fell on the floor. Crash! \"Oh no,\" said {A}. \"Now there will be no cake.\"",
          "\"Do not be sad,\" said {B}. \"We have more flour.\" They cleaned the floor and started again.",
          "This time they were very careful."]],
        "Soon the kitchen smelled [wonderful|very good]. When {G} came home, they shouted, \"Happy birthday!\"",
        "{G} [took a big bite|tasted it]. \"This is the best [cake|present] I ever had,\" {ghe} said[.| and gave them both a hug.]",
    ],
    "race": [
        None,
        "{B} was very fast. \"I am the fastest in the {place}!\" {bhe} said every day.",
        DAY + "there was a race. \"You can not win,\" {B} told {A}. \"You are too slow.\" But {A} wanted to try.",
        "One, two, three, go! {B} ran ahead. {A} ran as fast as {he} could.",
        [["{B} was so sure that {bhe} sat down to rest [under a tree|in the sun]. Soon {bhe} was asleep.",
          "{A} did not stop. {He} ran past the tree, past the pond, and over the hill.",
          "When {B} woke up, it was too late. {A} had won! Everyone [clapped|cheered].",
          "\"You did not give up,\" said {B}. \"You are a good runner.\" {A} smiled and shook {bhis} hand."],
         ["Then {B} fell over a stone. \"Ouch! My leg!\" {bhe} cried. {A} could run past {bhim} and win.",
          "But {A} stopped. \"Are you hurt?\" {he} asked. {He} helped {B} to stand up.",
          "They walked to the end together, hand in hand. Everyone [clapped|cheered] for them.",
          "\"You are not the fastest,\" said {B}, \"but you are the best friend.\""]],
    ],
    "school": [
        "It was the first day of school. {A} did not know anyone. {He} felt [shy|very shy].",
        "{He} sat alone [near the window|in the corner] and held {his} {col} {obj}.",
        "Then a {badj} {bkind} sat down next to {him}. \"Hello, I am {B},\" {bhe} said. \"What is your name?\"",
        "\"I am {A},\" {he} said [softly|in a small voice].",
        ["\"I like your {obj},\" said {B}. \"I have one too, but mine is {col2}.\"", "\"Do you like to [draw|sing|play ball]?\" asked {B}. \"Yes,\" said {A}, \"I do it all the time!\""],
        "They [laughed|talked] and shared {a_food}. After that they played in the yard.",
        "When {G} came to take {him} home, {A} was smiling. \"[How was school?|Did you have a good day?]\" asked {G}.",
        "\"It was [great|wonderful]!\" said {A}. \"I have a new friend!\"",
    ],
    "truth": [
        DAY + "{A} played with a ball in the house. {G} had said, \"Please do not play ball inside.\" But {A} [forgot|did not listen].",
        "{He} threw the ball too high. Crash! {G}'s {col} cup fell down and broke.",
        "{A} was scared. {He} hid the pieces {hide1}.",
        "Soon {G} came in. \"Where is my {col} cup?\" {ghe} asked.",
        ["\"I do not know,\" said {A}. But {his} tummy felt bad. {He} could not eat {his} dinner.", "{A} looked at the floor and said nothing. {He} felt [bad|very bad] inside."],
        "At last {he} went to {G}. \"I broke it,\" {he} said. \"I played with the ball. I am sorry.\"",
        "{G} was [quiet|sad] for a moment. Then {ghe} gave {him} a hug. \"Thank you for telling the truth,\" {ghe} said.",
        "They got some glue and fixed the cup together. [It did not look the same, but {G} liked it even more.|It had a crack, but it still worked.]",
        "{A} felt [light and happy|much better]. {He} never hid the truth again.",
    ],
    "rain": [
        None,
        "{A} and {B} wanted to play in the {place}. But it rained and rained.",
        "\"[This is no fun|I do not like rain],\" said {A}. They sat at the window and looked at the clouds.",
        ["Then {B} had an idea. \"Let us build a castle!\" {bhe} said.", "Then {G} came with some blankets. \"You can build a castle,\" {ghe} said."],
        "They took [chairs and blankets|boxes and pillows] and made a big castle. {A} was the [king|dragon], and {B} was the [knight|cook].",
        "They ate {a_food} in the castle and told [funny|long] stories.",
        "When they looked outside again, the rain had stopped. There was a rainbow [over the {place}|in the sky].",
        ["\"Do you want to go out now?\" asked {G}. \"No,\" they said. \"We like our castle!\"", "They ran outside and jumped in every puddle. Splash! [It was the best day.|They laughed and laughed.]"],
    ],
    "snow": [
        "One cold morning, {A} looked out of the window. Everything was white. \"Snow!\" {he} shouted.",
        "{He} put on {his} {col} hat and ran outside. {B}, a {badj} {bkind}, was there too.",
        "\"Let us make a snowman,\" said {B}. They [rolled|made] a big ball, then a smaller one, and then a [tiny|little] one.",
        "They used [stones|buttons] for the eyes. \"But he has no nose!\" said {A}.",
        ["{B} ran home and came back with a carrot. \"Here is a nose,\" {bhe} said.", "{G} came out with a carrot. \"Will this help?\" {ghe} asked."],
        "Now the snowman was [almost done|nearly ready]. \"He looks cold,\" said {A}. {He} gave the snowman {his} {col2} scarf.",
        "\"Now he is happy,\" said {B}. They danced around the snowman until [their feet were cold|it was dark].",
        ["Then they went inside and drank something warm.", "In the night it snowed again, and the snowman smiled at the moon."],
    ],
    "map": [
        DAY + "{A} found an old map {hide1}. There was a {col} cross on it.",
        "\"It is a treasure map!\" {he} told {B}, a {badj} {bkind}. \"Let us find the treasure,\" said {B}.",
        "First they walked [to the {place}|over the hill]. Then they went [past the pond|across the river]. [It was a long way.|They got tired, but they did not stop.]",
        "At the old tree they began to dig. They dug and dug. Then they hit something hard.",
        "It was a [little|big|heavy] box! {A} opened it slowly.",
        ["Inside there was a letter. It said, \"The real treasure is a friend who walks with you.\" {A} looked at {B}, and they both smiled.",
         "Inside there were [gold coins|shiny stones]. \"We are rich!\" said {B}. They gave half of them to {G} and shared the rest.",
         "Inside there was a {col2} {obj} and a lot of {foods}. They sat under the tree and ate them all."],
        ["They went home [tired and happy|as the sun went down].", "\"That was the best adventure,\" said {A}."],
    ],
    "night": [
        "It was late, but {A} could not sleep. {He} turned left. {He} turned right. {His} eyes stayed open.",
        "\"{G}, I can not sleep,\" {he} called. {G} came and sat on the bed.",
        ["\"Did you have some milk?\" asked {G}. {Ghe} brought a cup of warm milk. {A} drank it, but {he} was still awake.", "\"Is your pillow soft?\" asked {G}. {Ghe} shook the pillow. It was very soft, but {A} was still awake."],
        ["\"Then let us count the stars,\" said {G}. They looked out of the window. One star, two stars, three stars.", "\"Then I will sing you a song,\" said {G}. {Ghe} sang about the moon and the {place}."],
        "\"What do the [birds|rabbits|fish] do at night?\" asked {A}. \"They sleep,\" said {G}. \"The {pet} sleeps, the flowers sleep, and the {place} sleeps too.\"",
        "{A} [smiled|held {his} {col} {obj}]. {His} eyes got heavy. \"Good night, {G},\" {he} said.",
        "\"Good night, {A},\" said {G} [softly|and turned off the light]. And then {A} was asleep.",
    ],
    "bridge": [
        None,
        "They wanted to pick {foods} on the other side of the river. But there was no bridge.",
        "\"Let us build one,\" said {A}. {He} [found|got] a long board, but it was too short.",
        "\"[It will never work|We can not do it],\" said {B}. {A} did not give up.",
        ["A [big|strong] {pet} came by. \"I can carry stones,\" said the {pet}.", "{G} came by. \"I can bring some rope,\" said {G}."],
        "They all worked together. {A} held the board, {B} pulled, and [soon|by noon] there was a bridge.",
        "\"Who goes first?\" asked {B}. \"All of us!\" said {A}. They walked over the bridge [one by one|slowly]. It was strong.",
        "On the other side they picked a full basket of {foods} and [had a party|ate until they were full].",
        "\"Together we can do anything,\" said {A}.",
    ],
    "picnic": [
        None,
        DAY + "they went to the {place} for a picnic. {A} carried the basket.",
        "They sat down on a {col} blanket. {A} opened the basket. It was empty! \"Oh no! I forgot the food,\" {he} said.",
        "{A} was [sad|sorry]. \"It is all my fault,\" {he} said.",
        "But {B} [had an idea|smiled]. \"I have two [apples|pears] in my bag,\" {bhe} said. \"One for you and one for me.\"",
        ["A {pet} heard them. \"I have some {food2},\" said the {pet}. \"Can I sit with you?\"", "Then {G} came down the path with a big {food} pie. \"You forgot this,\" {ghe} said and laughed."],
        "So they all [sat in the sun|ate together]. They [sang songs|told stories] and looked at the clouds.",
        "\"This is the best picnic ever,\" said {A}. [\"It is good to have friends.\"|\"Thank you all.\"]",
    ],
    "boat": [
        "{A} made a little {col} boat out of [paper|wood]. {He} took it to the pond.",
        "{He} put the boat on the water and gave it a push. The boat went [far|out], and the wind took it away.",
        "\"Come back, little boat!\" called {A}. But the boat was in the middle of the pond.",
        [["A [frog|duck] sat on a leaf. \"Can you help me?\" asked {A}. \"If you say please,\" said the [green one|little animal].",
          "\"Please,\" said {A}. Splash! The animal jumped in and pushed the boat back to the grass."],
         ["{B}, a {badj} {bkind}, had a long stick. \"Let us try this,\" said {B}.",
          "They made little waves with the stick. Slowly, slowly the boat came back."]],
        "\"Thank you!\" said {A}. {He} tied a string to the boat. [Now it could not go away.|\"Now you can not run away,\" {he} told the boat.]",
        "All day long the {col} boat sailed on the pond. [At night {A} dreamed of the big sea.|{A} was a happy captain.]",
    ],
    "coin": [
        "{A} had [one coin|three coins]. {He} had saved for a long time to buy a {col} {toy}.",
        DAY + "{he} went to the market. There were [many people|so many things to see].",
        "On the way {he} saw an old {pet}. It was thin and hungry. \"[Please, I have not eaten today|I am so hungry],\" said the {pet}.",
        "{A} looked at {his} money. {He} thought about the {toy}. Then {he} bought {a_food} and gave it to the {pet}.",
        "\"Thank you,\" said the {pet}. \"You have a good heart.\" It ate [every bit|it all].",
        "{A} went home without a {toy}, but {he} [was not sad|felt warm inside].",
        ["The next morning there was a box at the door. In it was a {col} {toy}! On the box it said, \"From a friend.\"", "When {G} heard the story, {ghe} was proud. {Ghe} took some wood and made {him} a {col} {toy}."],
        "{A} [laughed with joy|was so happy]. {He} played with it [all day|every day], and {he} never forgot the {pet}.",
    ],
    "moon": [
        "{A} loved the moon. Every night {he} looked at it from {his} window. \"I want to touch it,\" {he} said.",
        "One night {he} climbed on a chair, but the moon was too high. {He} climbed on the roof, but the moon was still too high.",
        "{He} walked up the [hill|big hill] with {B}, a {badj} {bkind}. The moon was big and round, but it was still far away.",
        "\"[I will never touch the moon|It is no use],\" said {A} sadly. {B} thought for a while.",
        "\"Come with me,\" said {B}. {Bhe} took {him} to the pond. The water was [still|dark and still].",
        "There was the moon, right in the water! {A} put {his} hand in the pond. The moon [danced|broke into little lights] and then it was round again.",
        "\"I touched the moon!\" {he} [whispered|shouted]. {B} laughed. [They sat there until late.|Then they walked home under the stars.]",
    ],
    "greedy": [
        None,
        DAY + "they found a bush full of {col} berries in the {place}.",
        "\"Let us take some home and share them,\" said {B}. But {A} wanted them all. {He} ate and ate.",
        "\"You will be sick,\" said {B}. {A} did not listen. {He} ate [ten more|every berry on the bush].",
        "Soon {his} tummy hurt. \"Ow, ow, ow,\" {he} said. {He} could not walk.",
        ["{B} helped {him} home. {G} gave {him} some tea and put {him} to bed.", "{B} ran to get {G}. {G} carried {him} home and made some tea."],
        "\"I am sorry I ate them all,\" said {A}. \"[It is all right|I know],\" said {B}. \"[Next time we will share.|The berries will grow again.]\"",
        "The next week there were new berries. This time {A} gave half of them to {B}, and they tasted [better|even sweeter].",
    ],
    "party": [
        "It was {A}'s birthday. {He} woke up early. But nobody said, \"Happy birthday.\"",
        "{G} was busy. \"Good morning,\" {ghe} said, and that was all. {A} went to see {B}, a {badj} {bkind}, but {B} was not home.",
        "\"Everyone forgot me,\" said {A}. {He} sat alone in the {place} and felt [sad|very lonely].",
        "In the afternoon {he} walked home slowly. The house was dark and quiet. {A} opened the door.",
        "\"Surprise!\" All {his} friends were there! There were [balloons|{col} lights], a big cake, and {a_food}.",
        "\"Did you think we forgot?\" asked {B} and gave {him} a box. In it was a {col} {obj}.",
        "{A} laughed and [cried|danced] at the same time. \"This is the best birthday ever,\" {he} said.",
    ],
    "bike": [
        "{A} got a new {col} bike. {He} wanted to ride it right away.",
        "{He} sat on it and pushed, but the bike fell over. Bump! [{His} knee hurt.|{A} sat in the grass.]",
        "\"I can not do it,\" {he} said. \"[Nobody can do it the first time|Try again],\" said {G}. \"I will hold the bike.\"",
        "{A} tried again. {He} went a little way and fell again. {He} tried the next day and the day after that.",
        "{B}, a {badj} {bkind}, [watched|came to watch]. \"Look ahead, not down,\" said {B}.",
        "{A} looked ahead. {G} let go, but {A} did not fall. {He} [went faster and faster|rode all the way to the {place}].",
        "\"Look at me!\" {he} shouted. \"I can ride!\" Everyone [clapped|cheered].",
        ["{A} was glad that {he} did not give up.", "Now {he} rides {his} {col} bike every day."],
    ],
    "mess": [
        "{A}'s room was always a mess. There were toys on the bed and socks {hide1}.",
        "\"Please clean your room,\" said {G}. \"Later,\" said {A}. {He} always said later.",
        DAY + "{B} came to the door. \"[Let us play with your {col} {toy}|Bring your {col} {toy} to the {place}]!\" {bhe} said.",
        "{A} looked for the {toy}. {He} looked under the socks. {He} looked under the books. {He} could not find it.",
        "\"I need help,\" said {A}. So {B} and {A} cleaned the room together. They put the books on the shelf and the socks in the box.",
        "At last, under [a big pile|the very last sock], they found the {col} {toy}! And the room was clean, too.",
        "\"Now I know why {G} says it,\" said {A}. From then on {he} put {his} toys away every [night|evening].",
    ],
    "paint": [
        DAY + "{A} painted a picture. There was a {col} house, a tree, and a big yellow sun.",
        "It was for {G}. {A} worked on it [all morning|for a long time].",
        "Then {B}, a {badj} {bkind}, came running in and hit the table. A drop of {col2} paint fell on the picture. \"Oh no!\" cried {A}.",
        "\"I am so sorry,\" said {B}. {A} was [angry|upset]. {He} wanted to throw the picture away.",
        "But {B} looked at the {col2} spot. \"[It looks like a|I think it is a] [bird|butterfly|balloon],\" {bhe} said.",
        "{A} looked again. {B} was right! {He} gave it [a tail|two lines and a dot], and now it looked like it was flying over the house.",
        "When {G} saw the picture, {ghe} said, \"I love the part in the sky the most!\" {A} and {B} looked at each other and laughed.",
    ],
    "drum": [
        "{A} had a big {col} drum. Boom, boom, boom! {He} played it all day long.",
        "\"It is too loud,\" said {G}. \"I can not [sleep|read my book].\" \"It is too loud,\" said the {pet} next door.",
        "{A} was sad. {He} took {his} drum to the {place}, where nobody could hear it. Boom, boom, boom.",
        "But somebody did hear it. {B}, a {badj} {bkind}, came with a [little bell|flute]. \"Can I play with you?\" {bhe} asked.",
        "They played together, first slow and then fast. [It sounded good.|The birds sang along.] More and more friends came to listen.",
        "\"We should play at the market,\" said {B}. On Sunday they did, and everyone [danced|clapped].",
        "\"Now it is not too loud,\" said {G}. \"Now it is music!\"",
    ],
}

CLOSE = ["They lived happily ever after.", "And so the day ended well.", "The end.", "Everyone was happy.", "What a good day it was."]


def flatten(part, env, rng, out):
    """Appends the chosen sentences of one part of a plot to `out`."""
    if part is None:
        out.append(expand(rng.choice(FRIEND), env, rng))
    elif isinstance(part, str):
        out.append(expand(part, env, rng))
    else:
        chosen = rng.choice(part)
        if isinstance(chosen, str):
            out.append(expand(chosen, env, rng))
        else:
            for sentence in chosen:
                out.append(expand(sentence, env, rng))


def story(rng):
    """Returns one story as a single line."""
    env = new_cast(rng)
    mass = {"bread", "soup", "honey", "cheese"}
    for key in ("food", "food2"):
        env["a_" + key] = ("some " if env[key] in mass else "a ") + env[key]
    env["food2"] = env["food2"] if env["food2"] in mass else {"berry": "berries"}.get(env["food2"], env["food2"] + "s")
    env["foods"] = rng.choice(["apples", "berries", "pears", "nuts", "plums"])
    name = rng.choice(sorted(PLOTS))
    if name == "bake":
        env["food"] = rng.choice(["apple", "pear", "berry", "honey"])
    out = [expand(rng.choice(OPEN), env, rng)]
    if rng.random() < 0.35:
        out.append(expand(rng.choice(HOBBY), env, rng))
    for part in PLOTS[name]:
        flatten(part, env, rng, out)
    if rng.random() < 0.25:
        out.append(rng.choice(CLOSE))
    return expand(" ".join(out), env, rng)


def generate(seed, count):
    """Returns `count` stories; the same for the same seed on every machine."""
    rng = random.Random(seed)
    return [story(rng) for _ in range(count)]


def main():
    parser = argparse.ArgumentParser(description="Write the training text of ridge's tiny models.")
    parser.add_argument("--seed", type=int, default=395)
    parser.add_argument("--stories", type=int, default=6000)
    parser.add_argument("--out", default="-")
    args = parser.parse_args()
    text = "\n".join(generate(args.seed, args.stories)) + "\n"
    if args.out == "-":
        sys.stdout.write(text)
    else:
        with open(args.out, "w", encoding="ascii") as file:
            file.write(text)
    digest = hashlib.sha256(text.encode("ascii")).hexdigest()
    print(f"{args.stories} stories, {len(text)} bytes, sha256 {digest}", file=sys.stderr)


if __name__ == "__main__":
    main()
