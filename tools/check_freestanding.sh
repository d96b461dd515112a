#!/usr/bin/env bash
# Cross-compiles the freestanding part (cmake/freestanding.txt) for rv32imafc and looks at what the
# objects still need: only memory functions that a board supplies, integer helpers of libgcc, and
# each other. A soft-double helper is refused: boards have single precision only, and one stray
# double adds kilobytes and hundreds of cycles.
#
#   check_freestanding.sh [LIST [ROOT]]
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
list=${1:-$here/cmake/freestanding.txt}
root=$(cd "${2:-$here}" && pwd)
prefix=riscv64-unknown-elf-
# Plain rv32imafc: with _zicsr spelled out no multilib matches (esp32p4-pie.md, 4.2).
flags=(-std=c++20 -march=rv32imafc -mabi=ilp32f -O2 -ffreestanding -fno-exceptions -fno-rtti
    -fno-threadsafe-statics -fno-math-errno -ffp-contract=off -Wall -Wextra -Wconversion -Werror
    -I "$root/src")
allowed='^(mem(cpy|set|move|cmp)|__(mul|div|udiv|mod|umod|divmod|udivmod|ashl|ashr|lshr|clz|ctz|ffs|popcount|bswap|cmp|ucmp|neg)[sd]i[0-9]?|__(float|floatun)[sd]isf|__fix(uns)?sf[sd]i)$'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# Prints every file that the list names, once.
listed_files() {
    local pattern path
    while read -r pattern; do
        case $pattern in '' | '#'*) continue ;; esac
        compgen -G "$root/$pattern" >"$work/match" || {
            echo "check_freestanding: $list names $pattern, which is not there" >&2
            return 1
        }
        while read -r path; do echo "${path#"$root"/}"; done <"$work/match"
    done <"$list" | sort -u
}

# A header becomes a file of its own that includes nothing else.
compile() {
    local file=$1 object=$work/${1//\//.}.o input
    input=$root/$file
    if [[ $file == *.hpp || $file == *.h ]]; then
        input=$work/${file//\//.}.cpp
        printf '#include "%s"\n' "${file#src/}" >"$input"
    fi
    "${prefix}g++" "${flags[@]}" -c "$input" -o "$object" || {
        echo "check_freestanding: $file does not compile for rv32imafc without a C++ library"
        failed=1
    }
}

check_symbols() {
    "${prefix}nm" -g --defined-only "$work"/*.o | awk 'NF == 3 { print $3 }' | sort -u >"$work/defined"
    local object symbol
    for object in "$work"/*.o; do
        while read -r symbol; do
            if [[ ! $symbol =~ $allowed ]] && ! grep -qxF "$symbol" "$work/defined"; then
                echo "check_freestanding: $(basename "$object" .o) needs $(c++filt "$symbol"), which a board does not have"
                failed=1
            fi
        done < <("${prefix}nm" -u "$object" | awk '{ print $2 }')
        if "${prefix}objdump" -h "$object" | grep -q '\.init_array'; then
            echo "check_freestanding: $(basename "$object" .o) has a static constructor, which no board runs"
            failed=1
        fi
    done
}

command -v "${prefix}g++" >/dev/null || {
    echo "check_freestanding: ${prefix}g++ is missing: apt-get install gcc-riscv64-unknown-elf" >&2
    exit 1
}
files=$(listed_files)
count=0
for file in $files; do
    compile "$file"
    count=$((count + 1))
done
[[ $count -gt 0 ]] || { echo "check_freestanding: $list names no file" >&2; exit 1; }
[[ $failed -eq 0 ]] && check_symbols
echo "check_freestanding: $count files for rv32imafc, $([[ $failed -eq 0 ]] && echo all well || echo 'not all well')"
exit "$failed"
