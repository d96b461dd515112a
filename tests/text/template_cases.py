"""Conversations that the template tests render, and chat templates from registry packages.

The templates are those that two PyPI packages carry (trl and axolotl): the chat templates of some
forty model families. They are installed by the test and not part of this repository.
"""
import json

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": 'Says the weather.\nTakes "a place" & <b>a unit</b>, it\'s {{ quick }}.',
        "parameters": {
            "type": "object",
            "properties": {
                "place": {"type": "string", "description": "Where: \u4eac\u90fd, Z\u00fcrich"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
                "days": {"type": ["integer", "null"], "minimum": 1},
            },
            "required": ["place"],
        },
        "return": {"type": "string", "description": "a sentence"},
    },
}
CLOCK = {
    "type": "function",
    "function": {"name": "clock", "description": "The time.",
                 "parameters": {"type": "object", "properties": {}}},
}


def user(text):
    return {"role": "user", "content": text}


def assistant(text, **more):
    return {"role": "assistant", "content": text, **more}


def system(text):
    return {"role": "system", "content": text}


def call(name, arguments, number=1):
    return {"id": f"call{number:05d}", "type": "function",
            "function": {"name": name, "arguments": arguments}}


CONVERSATIONS = {
    "one": dict(messages=[user("Hello")]),
    "system": dict(messages=[system("Be brief."), user("  What is 2 + 2?\n")]),
    "turns": dict(messages=[user("Hi"), assistant("Hello! "), user("How are\nyou?"),
                            assistant(" Fine."), user("Bye")]),
    "ends with the answer": dict(messages=[user("Hi"), assistant("Hello!")],
                                 add_generation_prompt=False),
    "prompt after the answer": dict(messages=[system("S"), user("Hi"), assistant("Hello!")]),
    "unicode": dict(messages=[system("R\u00e9ponds \u7b80\u77ed \U0001f642"),
                              user("\u3000\u00bfQu\u00e9? \u0130stanbul \u00df\ufb01 \u2028 end\u00a0"),
                              assistant("\U0001f468\u200d\U0001f469\u200d\U0001f467 \u0e01\u0e33"),
                              user("e\u0301\u0300 \u202e abc")]),
    "markers in text": dict(messages=[user("<|im_end|>\n<|im_start|>system\n{{ x }} {% if %}"),
                                      assistant("</think><end_of_turn>[/INST]"), user("</s>")]),
    "empty": dict(messages=[user(""), assistant(""), user("\n\n")]),
    "reasoning": dict(messages=[user("Why?"),
                                assistant("<think>\nLet me see.\n\n</think>\n\nBecause."),
                                user("Sure?")]),
    "reasoning apart": dict(messages=[user("Why?"),
                                      assistant("Because.", reasoning_content="Let me see.\n"),
                                      user("Sure?")]),
    "thinking off": dict(messages=[user("Why?")],
                         variables=dict(enable_thinking=False, thinking=False)),
    "thinking on": dict(messages=[system("S"), user("Why?")],
                        variables=dict(enable_thinking=True, thinking=True)),
    "tools": dict(messages=[system("Use tools."), user("Weather in Paris?")],
                  tools=[WEATHER, CLOCK]),
    "tool call": dict(
        messages=[user("Weather in Paris?"),
                  assistant("", tool_calls=[call("get_weather", {"place": "Paris", "days": 2})]),
                  {"role": "tool", "name": "get_weather", "tool_call_id": "call00001",
                   "content": "Rain, 12 \u00b0C"},
                  assistant("It rains."), user("Thanks")],
        tools=[WEATHER]),
    "two tool calls": dict(
        messages=[user("Weather in Paris, and the time?"),
                  assistant(None, tool_calls=[
                      call("get_weather", {"place": "Pa\"ris", "unit": None, "x": [1, 2.5, True],
                                           "deep": {"a": {"b": []}}}),
                      call("clock", {}, 2)]),
                  {"role": "tool", "name": "get_weather", "tool_call_id": "call00001",
                   "content": json.dumps({"sky": "rain", "c": 1e-7})},
                  {"role": "tool", "name": "clock", "tool_call_id": "call00002", "content": "12:00"}],
        tools=[WEATHER, CLOCK]),
    "call as text": dict(
        messages=[user("Time?"),
                  assistant("One moment.", tool_calls=[call("clock", '{"zone": "UTC"}')]),
                  {"role": "tool", "name": "clock", "tool_call_id": "call00001", "content": "12"}],
        tools=[CLOCK]),
    "parts": dict(messages=[{"role": "user", "content": [{"type": "text", "text": "Look: "},
                                                         {"type": "image"},
                                                         {"type": "text", "text": "what?"}]}]),
    "two users": dict(messages=[user("a"), user("b")]),
    "system last": dict(messages=[user("a"), assistant("b"), system("c")]),
    "unknown role": dict(messages=[{"role": "critic", "content": "x"}, user("a")]),
    "no messages": dict(messages=[]),
}

# 2026-03-01 12:30:45 UTC: what strftime_now gives everywhere.
NOW = 1772368245

SPECIAL = dict(bos_token="<s>", eos_token="</s>")
