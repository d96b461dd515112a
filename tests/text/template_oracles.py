"""Two independent readers of chat templates: Python's jinja2, set up as transformers sets it up,
and npm's @huggingface/jinja. Both take the requests of tools/render_template.cpp and answer with
the text, or None where the template fails."""
import datetime
import json
import os
import pathlib
import subprocess


def variables_of(request):
    """What transformers hands to a template, of a request."""
    now = datetime.datetime.fromtimestamp(request.get("now", 0), datetime.timezone.utc)
    variables = dict(strftime_now=now.strftime, messages=request.get("messages", []), tools=request.get("tools"),
                     documents=None, add_generation_prompt=request.get("add_generation_prompt", True),
                     bos_token=request.get("bos_token", ""), eos_token=request.get("eos_token", ""))
    variables.update(request.get("variables") or {})
    return variables


class Jinja2:
    name = "jinja2"

    def __init__(self):
        import jinja2
        import jinja2.ext
        import jinja2.sandbox

        class Generation(jinja2.ext.Extension):
            """{% generation %}: transformers marks the assistant's tokens with it."""
            tags = {"generation"}

            def parse(self, parser):
                line = next(parser.stream).lineno
                body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
                return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

            def _body(self, caller):
                return caller()

        def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
            return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                              sort_keys=sort_keys)

        def raise_exception(message):
            raise jinja2.exceptions.TemplateError(message)

        self.environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
        self.environment.filters["tojson"] = tojson
        self.environment.globals["raise_exception"] = raise_exception
        self.templates = {}

    def render(self, request):
        try:
            source = request["template"]
            template = self.templates.get(source) or self.environment.from_string(source)
            self.templates[source] = template
            return template.render(**variables_of(request)), None
        except Exception as error:  # whatever a template may do
            return None, f"{type(error).__name__}: {error}"


SCRIPT = """
import { Template } from 'MODULE';
import { createInterface } from 'node:readline';
let now = 0;  // of the request: strftime_now tells the same day on every day
globalThis.Date = class extends Date {
  constructor(...given) { super(...(given.length ? given : [1000 * now])); }
};
for await (const line of createInterface({ input: process.stdin })) {
  const r = JSON.parse(line);
  now = r.now ?? 0;
  let out;
  try {
    const t = new Template(r.template);
    out = { text: t.render({ messages: r.messages ?? [], tools: r.tools ?? null, documents: null,
      add_generation_prompt: r.add_generation_prompt ?? true, bos_token: r.bos_token ?? '',
      eos_token: r.eos_token ?? '', ...(r.variables ?? {}) }) };
  } catch (e) { out = { error: String(e) }; }
  console.log(JSON.stringify(out));
}
"""


class HuggingFace:
    name = "@huggingface/jinja"

    def __init__(self, node, package, folder):
        """`node`: the command; `package`: its folder, with package.json; the script lands in `folder`."""
        about = json.loads((pathlib.Path(package) / "package.json").read_text(encoding="utf-8"))
        script = pathlib.Path(folder) / "render.mjs"
        script.write_text(SCRIPT.replace("MODULE", (pathlib.Path(package) / about["module"]).resolve().as_uri()),
                          encoding="utf-8")
        self.process = subprocess.Popen([*node, str(script)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, encoding="utf-8",
                                        env={**os.environ, "TZ": "UTC"})

    def render(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        return answer.get("text"), answer.get("error")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Ridge:
    name = "ridge"

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, encoding="utf-8", env={"TZ": "UTC"})

    def answer(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"render_template died at {request['template']!r}")
        return json.loads(line)

    def render(self, request):
        answer = self.answer(request)
        return answer.get("text"), answer.get("error")

    def close(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            raise SystemExit(f"render_template ended with code {self.process.returncode}")
