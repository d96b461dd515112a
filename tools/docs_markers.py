"""Generated sections of documents: what stands between <!-- NAME:begin --> and <!-- NAME:end -->."""


def bounds(text, name, path):
    begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
    first = text.find(begin)
    last = text.find(end)
    if text.count(begin) != 1 or text.count(end) != 1 or last < first:
        raise SystemExit(f"{path}: needs one line {begin.strip()} and, behind it, one {end}")
    return first + len(begin), last


def section(text, name, path="text"):
    first, last = bounds(text, name, path)
    return text[first:last]


def replaced(text, name, content, path="text"):
    first, last = bounds(text, name, path)
    return text[:first] + content + text[last:]


def replace_in(path, name, content):
    with open(path, encoding="utf-8") as file:
        text = replaced(file.read(), name, content, path)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
