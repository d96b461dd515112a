#!/bin/sh
# Builds the firmware: build.sh OUT.elf [-Dname=value ...]; the library without main: OUT.a. RIDGE_SOURCE_DIR: the repository (default:
# where this script lies), RISCV_CXX: the compiler. Flags are those of the report, with what bare metal
# needs (docs/boards/ai-max-395.md). The objects lie beside OUT.elf until it is linked.
set -eu
[ $# -ge 1 ] || { echo "usage: build.sh OUT.elf|OUT.a [-Dname=value ...]" >&2; exit 2; }
out=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
root=${RIDGE_SOURCE_DIR:-$(cd "$here/../../.." && pwd)}
cxx=${RISCV_CXX:-riscv64-unknown-elf-g++}
machine="-march=rv32imafc -mabi=ilp32f -mcmodel=medany"
flags="-std=c++20 -O3 $machine -fno-tree-vectorize -ffreestanding -fno-exceptions -fno-rtti
    -fno-math-errno -fno-threadsafe-statics -ffunction-sections -fdata-sections
    -Wall -Wextra -Wconversion -Werror -I$root -I$root/src"
objects=$out.objects
rm -rf "$objects"
mkdir -p "$objects"
list=
for source in start.S traps.S main.cpp prefill.cpp image_check.cpp port_soc.cpp memory_functions.cpp \
    kernels/embed.cpp kernels/ring.cpp kernels/prepare.cpp kernels/qkv.cpp kernels/attend.cpp \
    kernels/attend_unfused.cpp \
    kernels/out.cpp kernels/ffn.cpp kernels/head.cpp; do
    object=$objects/$(basename "$source").o
    case $source in
        *.S) $cxx $machine -I"$root" -c "$here/$source" -o "$object" ;;
        *) $cxx $flags "$@" -c "$here/$source" -o "$object" ;;
    esac
    list="$list $object"
done
case $out in
    *.a)
        rm -f "$out" "$objects/main.cpp.o" "$objects/start.S.o"
        $cxx $machine -nostdlib -r "$objects"/*.o -o "$objects/prefill.o"
        "${cxx%g++}gcc-ar" rcs "$out" "$objects/prefill.o"
        rm -rf "$objects"
        exit 0
        ;;
esac
$cxx $machine -nostdlib -nostartfiles -Wl,--gc-sections -Wl,--fatal-warnings \
    -Wl,--no-warn-rwx-segments -T "$here/soc.ld" $list -lgcc -o "$out"
rm -rf "$objects"
