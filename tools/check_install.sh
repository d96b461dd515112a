#!/usr/bin/env bash
# Makes the Debian package of a build, unpacks it into an empty root, and builds the example against
# what is in there: with pkg-config as C99 and as C++20, and with CMake; runs each on a tiny model; looks
# at manual, completions and exported symbols.
#
#   check_install.sh BUILD SOURCE
set -euo pipefail

build=$(cd "$1" && pwd)
source=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad() { echo "check_install: $*" >&2; exit 1; }

(cd "$build" && cpack -G DEB -B "$work/package" >"$work/cpack.log" 2>&1) || { tail -n 20 "$work/cpack.log" >&2; bad "cpack failed"; }
package=$(ls "$work"/package/ridge_*.deb)
root=$work/root
dpkg-deb -x "$package" "$root"
dpkg-deb -f "$package" Depends | grep -q libstdc++ || bad "the package does not name what it needs: $(dpkg-deb -f "$package" Depends)"

library=$(find "$root" -name 'libridge.so')
[[ -n $library ]] || bad "the package holds no libridge.so"
libdir=$(dirname "$library")
foreign=$(nm -D --defined-only "$library" | awk '{ print $3 }' | grep -v '^ridge_' || true)
[[ -z $foreign ]] || bad "libridge.so exports more than the API: $(head -n 3 <<<"$foreign")"
# Every function that the header declares is there.
for name in $(grep -oE '\bridge_[a-z_]+\(' "$root/usr/include/ridge/ridge.h" | tr -d '(' | sort -u); do
    nm -D --defined-only "$library" | grep -qw "$name" || bad "$name is declared and not exported"
done

export PKG_CONFIG_PATH=$libdir/pkgconfig LD_LIBRARY_PATH=$libdir
strict=(-Wall -Wextra -Wpedantic -Wconversion -Werror)
read -ra flags < <(pkg-config --cflags --libs ridge)
example=$root/usr/share/doc/ridge/examples/continue.c
[[ $(wc -l <"$example") -lt 80 ]] || bad "the example has 80 lines or more"
gcc -std=c99 "${strict[@]}" "$example" "${flags[@]}" -o "$work/continue"
g++ -std=c++20 "${strict[@]}" -x c++ "$example" -x none "${flags[@]}" -o "$work/continue_cpp"
gcc -std=c99 "${strict[@]}" "${flags[@]}" -c "$source/tests/api/c99.c" -o "$work/c99.o"
printf '#include <ridge/ridge.hpp>\n' >"$work/use.cpp"
g++ -std=c++20 "${strict[@]}" "${flags[@]}" -c "$work/use.cpp" -o "$work/use.o"

mkdir "$work/cmake"
cat >"$work/cmake/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.20)
project(use C)
find_package(ridge 0.1 REQUIRED)
add_executable(continue $example)
target_link_libraries(continue ridge::ridge)
CMAKE
cmake -S "$work/cmake" -B "$work/cmake/build" -DCMAKE_PREFIX_PATH="$root/usr" >"$work/cmake.log" 2>&1 &&
    cmake --build "$work/cmake/build" >>"$work/cmake.log" 2>&1 || { tail -n 20 "$work/cmake.log" >&2; bad "the CMake package does not work"; }

model=$source/models/tiny-f32.gguf
want=$("$root/usr/bin/ridge" run "$model" -p 'Once upon a time' -n 40)
for program in "$work/continue" "$work/continue_cpp" "$work/cmake/build/continue"; do
    got=$("$program" "$model" 'Once upon a time' 40)
    [[ $got == "$want" ]] || bad "the example says '$got', ridge run '$want'"
done
"$work/continue" /no/such.gguf text 2>"$work/error" && bad "a model that is not there is no error"
grep -q /no/such.gguf "$work/error" || bad "the example's error does not name the file"

bash -n "$root/usr/share/bash-completion/completions/ridge"
# shellcheck disable=SC1090
words=$(bash -c 'source "$1"; COMP_WORDS=(ridge ""); COMP_CWORD=1; _ridge; echo "${COMPREPLY[*]}"' _ \
    "$root/usr/share/bash-completion/completions/ridge")
[[ " $words " == *" run "* && " $words " == *" bench "* ]] || bad "the completions offer '$words'"
for verb in $words; do
    "$root/usr/bin/ridge" "$verb" --help >/dev/null || bad "ridge $verb --help fails"
done
manual=$(find "$root" -name 'ridge.1*')
[[ -n $manual ]] || bad "there is no manual page"
if command -v groff >/dev/null; then
    warnings=$(groff -man -Tutf8 -ww -z "$manual" 2>&1)
    [[ -z $warnings ]] || bad "the manual page: $(head -n 3 <<<"$warnings")"
fi
echo "check_install: $(basename "$package"), $(stat -c %s "$package") bytes, all well"
