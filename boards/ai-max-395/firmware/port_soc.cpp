// The port of the chip. Hart 0 computes and pushes launches into a queue; hart 1 (prefill_feeder)
// keeps the matrix unit and DMA channel 0 busy: it starts the next launch, whose registers it has
// set while the one before ran, and fetches the next unit of weights into the slot that became
// free. Channel 1 is hart 0's.
//
// A wait asks hart 1 and sleeps (wfi) until it answers, even where the launch is long done: so
// waits execute the same instructions whatever the timing. The answer is a software interrupt whose
// handler goes on behind the sleep (traps.S), so nothing is masked while hart 0 waits.
//
// With RIDGE_FW_DOUBLE_BUFFER=0 hart 0 does all of it, one thing after the other.
#include "boards/ai-max-395/baseline/scalar_product.h"
#include "boards/ai-max-395/firmware/port.h"

extern "C" {
void wait_line(uint32_t lines);  // traps.S
uint32_t tick_period;            // of the timer's interrupt, in ticks of mtime

// The general handler's part of a tick.
void timer_tick() {
    auto* const compare = reinterpret_cast<volatile uint32_t*>(CLINT_MTIMECMP(0));
    const uint64_t next = (static_cast<uint64_t>(compare[1]) << 32 | compare[0]) + tick_period;
    compare[1] = 0xffffffffu;  // no interrupt in between
    compare[0] = static_cast<uint32_t>(next);
    compare[1] = static_cast<uint32_t>(next >> 32);
}
}

namespace ridge::fw {

namespace {

constexpr bool ahead = RIDGE_FW_MAU && RIDGE_FW_DOUBLE_BUFFER;

constexpr uint32_t mie_software = 8u, mie_external = 0x800u;

inline volatile uint32_t& reg(uint32_t address) {
    return *reinterpret_cast<volatile uint32_t*>(address);
}
inline uint32_t cycle_low() {
    uint32_t c;
    __asm__ volatile("csrr %0, mcycle" : "=r"(c));
    return c;
}
inline uint32_t pending() {
    uint32_t p;
    __asm__ volatile("csrr %0, mip" : "=r"(p)::"memory");
    return p;
}
constexpr bool skips(Wait w) {
    return w != Wait::none && static_cast<uint32_t>(w) == RIDGE_FW_SKIP_WAIT;
}

// Written by hart 0: queue, pushed, wanted, asking = true, command. By hart 1: the rest.
struct Feed {
    Launch queue[launch_queue];
    volatile uint32_t pushed, done, wanted, command, asking;
    WeightStream stream;
    uint32_t staged, running, begun;  // launches set up, started; one is set up, is running
    bool is_staged, is_running, copying;
    uint32_t cursor, chunk, loaded, started, released, slot;
    bool exhausted;
};
Feed feed;
volatile bool wrong;
uint32_t mask_longest;
#if RIDGE_FW_MASKED
uint32_t mask_since;
#endif

// --- masked windows of hart 0: where it sets up a unit ---

inline void mask() {
#if RIDGE_FW_MASKED
    __asm__ volatile("csrci mstatus, 8" ::: "memory");
    mask_since = cycle_low();
#endif
}
inline void unmask() {
#if RIDGE_FW_MASKED
    const uint32_t window = cycle_low() - mask_since;
    __asm__ volatile("csrsi mstatus, 8" ::: "memory");
    const auto more = static_cast<int32_t>(window - mask_longest);
    mask_longest += static_cast<uint32_t>(more & ~(more >> 31));
#endif
}

// --- the matrix unit ---

inline void configure(const Launch& l, uint32_t irq) {
    volatile uint32_t* const mau = reinterpret_cast<volatile uint32_t*>(MAU_BASE);
    mau[MAU_CTRL / 4] = (l.ctrl & 0xffu) | irq;
    mau[MAU_Q_ADDR / 4] = l.q;
    mau[MAU_Q_STRIDE / 4] = l.q_stride;
    mau[MAU_K_ADDR / 4] = l.k;
    mau[MAU_K_STRIDE / 4] = l.k_stride;
    mau[MAU_O_ADDR / 4] = l.o;
    mau[MAU_O_STRIDE / 4] = l.o_stride;
    mau[MAU_DIM_M_N / 4] = l.m_n;
    mau[MAU_DIM_K / 4] = l.depth;
    mau[MAU_SHIFT / 4] = l.shift;
    mau[MAU_CLAMP / 4] = 0;
}
inline void start(const Launch& l) {
    if (l.ctrl & launch_attention) {
        SOC_MARK(STAGE_ATTENTION);
        reg(MAU_BASE + MAU_START) = 1;
        SOC_MARK(0);
    } else {
        reg(MAU_BASE + MAU_START) = 1;
    }
}

// An empty launch: zeros.
constexpr Launch warm_up{
    .q = warm_up_area,
    .q_stride = 16,
    .k = warm_up_area + 16u,
    .k_stride = 16,
    .o = warm_up_area + 32u,
    .o_stride = 16,
    .m_n = 1u | 1u << 16,
    .depth = 8,
    .ctrl = MAU_CTRL_TRANSPOSE_B,
    .shift = MAU_NO_SHIFT,
    .needs = 0,
    .releases = 0,
};
constexpr uint32_t warm_up_launches = 4;

void warm() {
    for (uint32_t i = 0; RIDGE_FW_WARM_UP && RIDGE_FW_MAU && i < warm_up_launches; ++i) {
        configure(warm_up, 0);
        reg(MAU_BASE + MAU_START) = 1;
        while (reg(MAU_BASE + MAU_STATUS) & MAU_STATUS_BUSY) {
        }
    }
}

// --- weights ---

// Starts the next transfer of the stream on channel 0. False where all have been started.
bool start_unit(uint32_t irq) {
    const WeightStream& s = feed.stream;
    if (feed.cursor == s.layer_units && feed.chunk + 1 < s.chunks) {
        feed.cursor = 0;
        ++feed.chunk;
    }
    if (feed.cursor == s.all_units) return false;
    const ImageUnit& u = s.units[feed.cursor++];
    volatile uint32_t* const dma = reinterpret_cast<volatile uint32_t*>(DMA_CHANNEL(0));
    dma[DMA_SRC / 4] = reinterpret_cast<uint32_t>(s.image) + u.offset;
    dma[DMA_DST / 4] = weight_ring + feed.slot * SOC_WEIGHT_UNIT;
    dma[DMA_LEN / 4] = u.bytes;
    dma[DMA_CTRL / 4] = DMA_CTRL_START | irq;
    feed.slot = feed.slot + 1 == ring_units ? 0 : feed.slot + 1;
    ++feed.started;
    return true;
}

void reset_stream() {
    feed.cursor = feed.chunk = feed.loaded = feed.started = feed.released = feed.slot = 0;
    feed.exhausted = false;
}

// --- hart 1 ---

inline void start_staged() {
    if (!feed.is_staged || (feed.is_running && !skips(Wait::idle))) return;
    const Launch& l = feed.queue[feed.running % launch_queue];
    if (feed.loaded < l.needs && !skips(Wait::weights)) return;
    start(l);
    ++feed.running;
    feed.is_running = true;
    feed.is_staged = false;
}
inline void stage_next() {
    if (feed.is_staged || feed.staged == feed.pushed) return;
    configure(feed.queue[feed.staged % launch_queue], MAU_CTRL_IRQ);
    ++feed.staged;
    feed.is_staged = true;
}
inline void finish_launch() {
    const uint32_t releases = feed.queue[feed.done % launch_queue].releases;
    feed.is_running = false;
    if (releases != 0) feed.released = releases;
    feed.done = feed.done + 1;
}
inline void copy_next() {
    if (feed.copying || feed.exhausted || feed.started - feed.released >= ring_units) return;
    feed.copying = start_unit(DMA_CTRL_IRQ);
    feed.exhausted = !feed.copying;
}
inline void answer() {
    if (feed.asking == 0 || static_cast<int32_t>(feed.done - feed.wanted) < 0) return;
    feed.asking = 0;
    reg(CLINT_MSIP(0)) = 1;
}

}  // namespace

extern "C" [[noreturn]] void prefill_feeder() {
    reg(PLIC_BASE + PLIC_ENABLE(1)) = 1u << PLIC_SOURCE_MAU | 1u << PLIC_SOURCE_DMA0;
    feed.exhausted = true;
    __asm__ volatile("csrw mie, %0" ::"r"(mie_software | mie_external));
    for (;;) {
        __asm__ volatile("wfi" ::: "memory");
        const uint32_t why = pending();
        if (why & mie_external) {
            const uint32_t source = reg(PLIC_BASE + PLIC_CLAIM(1));
            if (source == PLIC_SOURCE_MAU) finish_launch();
            if (source == PLIC_SOURCE_DMA0) {
                feed.copying = false;
                ++feed.loaded;
            }
            start_staged();
        }
        if (why & mie_software) {
            reg(CLINT_MSIP(1)) = 0;
            if (feed.command != 0) {
                feed.command = 0;
                reset_stream();
                copy_next();
                warm();
            }
        }
        answer();
        copy_next();
        stage_next();
        start_staged();
    }
}

// --- hart 0 ---

namespace {

uint32_t push_one(const Launch& l) {
    if constexpr (ahead) {
        if (!RIDGE_FW_TILED) {  // so many launches that there may be no room
            const uint32_t count = feed.pushed;
            if (count - feed.done >= launch_queue)
                wait_launch(Wait::none, count - launch_queue + 1);
        }
        const uint32_t at = feed.pushed;
        if (at - feed.done >= launch_queue) wrong = true;  // never: the kernels bound it
        feed.queue[at % launch_queue] = l;
        __asm__ volatile("" ::: "memory");  // hart 1 reads what lies before `pushed`
        feed.pushed = at + 1;
        reg(CLINT_MSIP(1)) = 1;
        return at + 1;
    }
    while (feed.loaded < l.needs) {
        if (!start_unit(0)) {
            wrong = true;
            break;
        }
        while (!skips(Wait::weights) && (reg(DMA_CHANNEL(0) + DMA_STATUS) & DMA_STATUS_BUSY)) {
        }
        ++feed.loaded;
    }
    if (RIDGE_FW_MAU) {
        mask();
        configure(l, 0);
        start(l);
        unmask();
        while (!skips(Wait::idle) && (reg(MAU_BASE + MAU_STATUS) & MAU_STATUS_BUSY)) {
        }
    } else {
        scalar_product(l);
    }
    feed.pushed = feed.pushed + 1;
    return feed.pushed;
}

}  // namespace

uint32_t push(const Launch& l) {
    if (RIDGE_FW_TILED) return push_one(l);
    const uint32_t rows = l.m_n & 0xffffu;
    Launch one = l;
    one.m_n = 1u | (l.m_n & 0xffff0000u);
    one.releases = 0;
    for (uint32_t r = 0; r + 1 < rows; ++r) {
        push_one(one);
        one.q += l.q_stride;
        one.o += l.o_stride;
    }
    one.releases = l.releases;
    return push_one(one);
}

void wait_launch(Wait which, uint32_t count) {
    if (!ahead || skips(which)) return;
    feed.wanted = count;
    feed.asking = 1;
    reg(CLINT_MSIP(1)) = 1;
    wait_line(mie_software);
    reg(CLINT_MSIP(0)) = 0;
}

void begin_pass(const WeightStream& stream) {
    feed.stream = stream;
#if RIDGE_FW_ISR_REDIRECT
    extern char trap_short[] __asm__("trap_short");
    __asm__ volatile("csrw mtvec, %0" ::"r"(trap_short));
#endif
    if constexpr (ahead) {
        feed.command = 1;
        wait_launch(Wait::none, feed.pushed);
    } else {
        reset_stream();
        warm();
    }
}

void end_pass() {
#if RIDGE_FW_ISR_REDIRECT
    extern char trap_general[] __asm__("trap_general");
    __asm__ volatile("csrw mtvec, %0" ::"r"(trap_general));
#endif
    if (reg(MAU_BASE + MAU_STATUS) & (MAU_STATUS_ALIGNMENT | MAU_STATUS_CONFIG)) wrong = true;
    if ((reg(DMA_CHANNEL(0) + DMA_STATUS) | reg(DMA_CHANNEL(1) + DMA_STATUS)) & DMA_STATUS_ERROR)
        wrong = true;
}

namespace {
void copy(uint32_t to, uint32_t to_stride, uint32_t from, uint32_t from_stride, uint32_t bytes,
          uint32_t rows) {
    volatile uint32_t* const dma = reinterpret_cast<volatile uint32_t*>(DMA_CHANNEL(1));
    mask();
    dma[DMA_SRC / 4] = from;
    dma[DMA_DST / 4] = to;
    dma[DMA_LEN / 4] = bytes;
    if (RIDGE_FW_RELOAD_K) {
        dma[DMA_ROWS / 4] = rows;
        dma[DMA_SRC_STRIDE / 4] = from_stride;
        dma[DMA_DST_STRIDE / 4] = to_stride;
    }
    dma[DMA_CTRL / 4] = DMA_CTRL_START | DMA_CTRL_IRQ;
    unmask();
}
}  // namespace

void copy_start(uint32_t to, const uint8_t* from, uint32_t bytes) {
    copy(to, 0, reinterpret_cast<uint32_t>(from), 0, bytes, 1);
}

void copy_rows(uint32_t to, uint32_t to_stride, uint32_t from, uint32_t from_stride, uint32_t bytes,
               uint32_t rows) {
    copy(to, to_stride, from, from_stride, bytes, rows);
}

void copy_wait(Wait which) {
    if (skips(which)) return;
    wait_line(mie_external);
    const uint32_t claimed = reg(PLIC_BASE + PLIC_CLAIM(0));
    static_cast<void>(claimed);
}

uint64_t now() {
    uint32_t high, low, again;
    do {
        __asm__ volatile("csrr %0, mcycleh\n csrr %1, mcycle\n csrr %2, mcycleh"
                         : "=r"(high), "=r"(low), "=r"(again));
    } while (high != again);
    return static_cast<uint64_t>(high) << 32 | low;
}

uint32_t flash_bytes(const uint8_t* image) {
    const uint32_t offset = reinterpret_cast<uint32_t>(image) - SOC_FLASH_BASE;
    return offset < SOC_FLASH_BYTES ? SOC_FLASH_BYTES - offset : 0;
}

uint32_t swap(volatile uint32_t* word, uint32_t value) {
    uint32_t old;
    __asm__ volatile("amoswap.w %0, %2, (%1)" : "=r"(old) : "r"(word), "r"(value) : "memory");
    return old;
}

void port_init() {
    wrong = false;
    mask_longest = 0;
    reg(PLIC_BASE + PLIC_ENABLE(0)) = 1u << PLIC_SOURCE_DMA1;
    __asm__ volatile("csrsi mstatus, 8" ::: "memory");  // for the lines that mie has
    reg(MAU_BASE + MAU_STATUS) = MAU_STATUS_SATURATED | MAU_STATUS_ALIGNMENT | MAU_STATUS_CONFIG;
    for (uint32_t c = 0; c < DMA_CHANNELS; ++c)
        reg(DMA_CHANNEL(c) + DMA_STATUS) = DMA_STATUS_DONE | DMA_STATUS_ERROR;
}

void port_cleanup() {
    reg(PLIC_BASE + PLIC_ENABLE(0)) = 0;
}

bool device_error() {
    return wrong;
}

uint32_t longest_mask() {
    return mask_longest;
}

}  // namespace ridge::fw
