// Single figures of the report, one case a run: the word at the start of flash says which. Prints
// "NAME CYCLES [COUNT]" lines in decimal; tools/board_bench.py runs the cases and knows their
// names.
#include "boards/ai-max-395/soc.h"

#include <stdint.h>

namespace {

inline volatile uint32_t& reg(uint32_t address) {
    return *reinterpret_cast<volatile uint32_t*>(address);
}

// Low words are enough: no case runs for two seconds.
inline uint32_t cycle() {
    uint32_t c;
    __asm__ volatile("csrr %0, mcycle" : "=r"(c)::"memory");
    return c;
}

void print(const char* text) {
    for (; *text; ++text) reg(UART_BASE) = static_cast<uint8_t>(*text);
}
void print(uint32_t value) {
    char digits[11];
    int n = 0;
    do digits[n++] = static_cast<char>('0' + value % 10);
    while (value /= 10);
    while (n > 0) reg(UART_BASE) = static_cast<uint8_t>(digits[--n]);
}
void result(const char* name, uint32_t cycles, uint32_t count = 1) {
    print(name);
    print(" ");
    print(cycles);
    print(" ");
    print(count);
    print("\n");
}

// The twelve stores of a launch; operands transposed as the firmware's are: K has `n` rows.
inline void launch(uint32_t q, uint32_t k, uint32_t o, uint32_t m, uint32_t n, uint32_t depth) {
    reg(MAU_BASE + MAU_CTRL) = MAU_CTRL_TRANSPOSE_B;
    reg(MAU_BASE + MAU_Q_ADDR) = q;
    reg(MAU_BASE + MAU_Q_STRIDE) = 2 * depth;
    reg(MAU_BASE + MAU_K_ADDR) = k;
    reg(MAU_BASE + MAU_K_STRIDE) = 2 * depth;
    reg(MAU_BASE + MAU_O_ADDR) = o;
    reg(MAU_BASE + MAU_O_STRIDE) = 4 * n;
    reg(MAU_BASE + MAU_DIM_M_N) = m | n << 16;
    reg(MAU_BASE + MAU_DIM_K) = depth;
    reg(MAU_BASE + MAU_SHIFT) = MAU_NO_SHIFT;
    reg(MAU_BASE + MAU_CLAMP) = 0;
    reg(MAU_BASE + MAU_START) = 1;
}
inline void mau_wait() {
    while (reg(MAU_BASE + MAU_STATUS) & MAU_STATUS_BUSY) {
    }
}
inline void copy(uint32_t channel, uint32_t from, uint32_t to, uint32_t bytes) {
    const uint32_t c = DMA_CHANNEL(channel);
    reg(c + DMA_SRC) = from;
    reg(c + DMA_DST) = to;
    reg(c + DMA_LEN) = bytes;
    reg(c + DMA_ROWS) = 0;
    reg(c + DMA_CTRL) = DMA_CTRL_START;
}
inline void dma_wait(uint32_t channel) {
    while (reg(DMA_CHANNEL(channel) + DMA_STATUS) & DMA_STATUS_BUSY) {
    }
}

constexpr uint32_t operands = SOC_FLASH_BASE + 65536;  // what is copied and multiplied

void fill_operands() {
    for (uint32_t i = 0; i < 2; ++i) {
        copy(0, operands, i ? SOC_KT_BUFFER : SOC_Q_BUFFER, 8192);
        dma_wait(0);
    }
}
void warm_up() {
    for (int i = 0; i < 4; ++i) {
        launch(SOC_Q_BUFFER, SOC_KT_BUFFER, SOC_OUTPUT_CACHE, 8, 8, 128);
        mau_wait();
    }
}

void one_launch(const char* name, uint32_t q, uint32_t k, uint32_t m, uint32_t n) {
    const uint32_t begin = cycle();
    launch(q, k, SOC_OUTPUT_CACHE, m, n, 128);
    mau_wait();
    result(name, cycle() - begin);
}

// An 8 x 128 x 8 tile cold and warm, its configuration, and its operands in one bank or in two.
void mau_case() {
    fill_operands();
    one_launch("tile_cold", SOC_Q_BUFFER, SOC_KT_BUFFER, 8, 8);
    warm_up();
    one_launch("tile_warm", SOC_Q_BUFFER, SOC_KT_BUFFER, 8, 8);
    one_launch("tile_same_bank", SOC_Q_BUFFER, SOC_Q_BUFFER + 2048, 8, 8);
    one_launch("tile_far_banks", SOC_Q_BUFFER, SOC_KV_RING, 8, 8);
    uint32_t taken = 0;
    for (int round = 0; round < 2; ++round) {  // the second with a warm instruction cache
        const uint32_t begin = cycle();
        launch(SOC_Q_BUFFER, SOC_KT_BUFFER, SOC_OUTPUT_CACHE, 8, 8, 128);
        taken = cycle() - begin;
        mau_wait();
    }
    result("configure", taken, 12);
}

void dma_case() {
    uint32_t begin = cycle();
    copy(0, operands, SOC_Q_BUFFER, 2048);
    dma_wait(0);
    result("dma_2k", cycle() - begin);
    begin = cycle();
    copy(0, operands, SOC_WEIGHTS, 16384);
    dma_wait(0);
    result("dma_16k", cycle() - begin);
    begin = cycle();
    copy(0, operands, SOC_Q_BUFFER, 8192);
    dma_wait(0);
    copy(1, operands, SOC_KT_BUFFER, 8192);
    dma_wait(1);
    result("two_in_turn", cycle() - begin);
    begin = cycle();
    copy(0, operands, SOC_Q_BUFFER, 8192);
    copy(1, operands, SOC_KT_BUFFER, 8192);
    dma_wait(0);
    dma_wait(1);
    result("two_at_once", cycle() - begin);
}

// The report's block table: scores of 32 rows in tiles of `m`, depth 128, both operands loaded for
// each tile. In turn: load, then multiply. Doubled: the next tile is loaded while one is
// multiplied.
void tiles_case(uint32_t m, bool doubled) {
    fill_operands();
    warm_up();
    const uint32_t side = 32 / m, count = side * side, bytes = m * 256;
    uint32_t begin = cycle(), loading = 0;
    if (!doubled) {
        for (uint32_t t = 0; t < count; ++t) {
            const uint32_t from = cycle();
            copy(0, operands + t / side * bytes, SOC_Q_BUFFER, bytes);
            copy(1, operands + 8192 + t % side * bytes, SOC_KT_BUFFER, bytes);
            dma_wait(0);
            dma_wait(1);
            loading += cycle() - from;
            launch(SOC_Q_BUFFER, SOC_KT_BUFFER, SOC_OUTPUT_CACHE, m, m, 128);
            mau_wait();
        }
        result("tiles", cycle() - begin, count);
        result("loading", loading, count);
        return;
    }
    for (uint32_t t = 0; t <= count; ++t) {
        const uint32_t half = (t & 1) * 4096, other = 4096 - half;
        if (t < count) {
            copy(0, operands + t / side * bytes, SOC_Q_BUFFER + half, bytes);
            copy(1, operands + 8192 + t % side * bytes, SOC_KT_BUFFER + half, bytes);
        }
        if (t > 0) launch(SOC_Q_BUFFER + other, SOC_KT_BUFFER + other, SOC_OUTPUT_CACHE, m, m, 128);
        if (t < count) {
            dma_wait(0);
            dma_wait(1);
        }
        if (t > 0) mau_wait();
    }
    result("tiles", cycle() - begin, count);
}

// Instructions the report counts: a ring index by % and by &, table reads alone and beside another
// bank, a word from flash. 256 of each, less an empty loop's time.
template <typename F>
uint32_t looped(F body) {
    uint32_t begin = cycle();
    for (uint32_t i = 0; i < 256; ++i) __asm__ volatile("" : "+r"(i));
    const uint32_t empty = cycle() - begin;
    begin = cycle();
    for (uint32_t i = 0; i < 256; ++i) {
        __asm__ volatile("" : "+r"(i));
        body(i);
    }
    return cycle() - begin - empty;
}
inline void read_half(uint32_t address) {
    uint32_t value;
    __asm__ volatile("lh %0, 0(%1)" : "=r"(value) : "r"(address) : "memory");
}

void cpu_case() {
    const uint32_t slots = reg(SOC_FLASH_BASE + 4);  // 128, but the compiler does not know
    for (uint32_t i = 0; i < 64; ++i) reg(SOC_ROPE + 4 * i) = i;
    for (int round = 0; round < 2; ++round) {  // the second with a warm instruction cache
        uint32_t r = 0;
        const uint32_t by_rem = looped([&](uint32_t i) {
            __asm__ volatile("remu %0, %1, %2" : "=r"(r) : "r"(i), "r"(slots));
        });
        const uint32_t by_and = looped([&](uint32_t i) {
            __asm__ volatile("andi %0, %1, 0x7f" : "=r"(r) : "r"(i));
        });
        uint32_t table = SOC_ROPE, other = SOC_Q_BUFFER, flash = operands;
        __asm__ volatile("" : "+r"(table), "+r"(other), "+r"(flash));
        const uint32_t alone = looped([&](uint32_t) { read_half(table); });
        const uint32_t beside = looped([&](uint32_t) {
            read_half(table);
            read_half(other);
        });
        const uint32_t boundary = looped([&](uint32_t) {
            read_half(flash);
            flash += 32;
        });
        if (round == 0) continue;
        result("index_remainder", by_rem, 256);
        result("index_mask", by_and, 256);
        result("table_alone", alone, 256);
        result("table_beside", beside, 512);
        result("flash_line", boundary, 256);
    }
}

// A function called in a loop, as RoPE calls one for each pair: for the simulator's counts of
// calls, returns and wrong guesses.
__attribute__((noinline)) uint32_t callee(uint32_t x) {
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}
void call_case() {
    uint32_t x = 0;
    SOC_MARK(1);
    const uint32_t begin = cycle();
    for (uint32_t i = 0; i < 4096; ++i) x = callee(x);
    const uint32_t taken = cycle() - begin;
    SOC_MARK(0);
    result("calls", taken, x);
}

}  // namespace

// The timer's handler as a C compiler makes one that calls a function: it saves all registers that
// a call may change, integer and float.
volatile uint32_t ticks;
__attribute__((noinline)) void next_tick() {
    ticks = ticks + 1;
    reg(CLINT_MTIMECMP(0) + 4) = 0xffffffffu;
}
extern "C" __attribute__((interrupt, aligned(4))) void tick() {
    next_tick();
}

namespace {

// One timer interrupt within a counted stretch of nothing: its whole cost, and that of the handler
// that does nothing but return.
extern "C" void empty_handler();
__asm__(".text\n.balign 4\nempty_handler:\n    csrw mie, zero\n    mret\n");

__attribute__((noinline)) uint32_t interrupted(void (*handler)(), bool fire) {
    const uint32_t on = 0x80, global = 8;
    __asm__ volatile("csrw mtvec, %0" ::"r"(handler));
    reg(CLINT_MTIMECMP(0) + 4) = fire ? 0 : 0xffffffffu;
    reg(CLINT_MTIMECMP(0)) = 0;
    uint32_t left = 64;
    __asm__ volatile("csrw mie, %0" ::"r"(on));
    const uint32_t begin = cycle();
    __asm__ volatile("csrs mstatus, %1\n1: addi %0, %0, -1\n bnez %0, 1b\n csrc mstatus, %1"
                     : "+r"(left)
                     : "r"(global)
                     : "memory");
    return cycle() - begin;
}
void interrupt_case() {
    for (int round = 0; round < 2; ++round) {
        const uint32_t none = interrupted(tick, false);
        const uint32_t full = interrupted(tick, true);
        const uint32_t empty = interrupted(empty_handler, true);
        if (round == 0) continue;
        result("tick_handler", full - none);
        result("empty_handler", empty - none);
    }
}

}  // namespace

extern "C" void* memset(void* to, int value, unsigned int bytes) {
    for (unsigned int i = 0; i < bytes; ++i)
        static_cast<volatile char*>(to)[i] = static_cast<char>(value);
    return to;
}

extern "C" int baseline_main() {
    switch (reg(SOC_FLASH_BASE)) {
        case 1:
            mau_case();
            break;
        case 2:
            dma_case();
            break;
        case 3:
            cpu_case();
            break;
        case 4:
            call_case();
            break;
        case 5:
            interrupt_case();
            break;
        case 104:
            tiles_case(4, false);
            break;
        case 108:
            tiles_case(8, false);
            break;
        case 116:
            tiles_case(16, false);
            break;
        case 204:
            tiles_case(4, true);
            break;
        case 208:
            tiles_case(8, true);
            break;
        case 216:
            tiles_case(16, true);
            break;
        default:
            print("no such case\n");
            return 2;
    }
    return 0;
}
