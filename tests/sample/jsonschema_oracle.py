"""What Python's jsonschema says: reads {"cases": [{"schema", "texts", "instances"}]} from the file named,
prints one list a case: for each text "valid", "invalid" or "no JSON", then for each instance a pair of its
verdict and the ways json.dumps writes it."""
import json
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("jsonschema is not installed", file=sys.stderr)
    sys.exit(77)


def verdict(validator, text):
    try:
        value = json.loads(text)
    except ValueError:
        return "no JSON"
    return "valid" if validator.is_valid(value) else "invalid"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    out = []
    for case in cases:
        Draft202012Validator.check_schema(case["schema"])
        validator = Draft202012Validator(case["schema"], format_checker=Draft202012Validator.FORMAT_CHECKER)
        texts = [verdict(validator, text) for text in case["texts"]]
        # Without its package jsonschema lets every text of a format pass: no verdict then.
        named = case["schema"].get("format") if isinstance(case["schema"], dict) else None
        known = named is None or named in Draft202012Validator.FORMAT_CHECKER.checkers
        instances = [
            [validator.is_valid(value),
             [json.dumps(value, ensure_ascii=False), json.dumps(value, ensure_ascii=False, separators=(",", ":")),
              json.dumps(value, ensure_ascii=False, indent=2)]]
            for value in (case["instances"] if known else [])]
        out.append({"texts": texts, "instances": instances})
    json.dump(out, sys.stdout)


main()
