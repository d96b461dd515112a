// The program behind `ridge run --board` and the benchmarks: does what the run request behind the
// image asks (image.h) and reports over the UART. Ids come from the logits in SRAM.
#include "boards/ai-max-395/firmware/image.h"
#include "boards/ai-max-395/firmware/prefill.h"

extern "C" uint32_t tick_period;  // in microseconds; traps.S and timer_tick() add it

namespace {

int32_t ids[SOC_KV_SLOTS];
float logits[IMAGE_MAX_VOCAB];

void put(char c) {
    *reinterpret_cast<volatile uint8_t*>(UART_BASE) = static_cast<uint8_t>(c);
}
void put(const char* s) {
    while (*s != 0) put(*s++);
}
void put_number(uint64_t n) {
    char digits[20];
    int count = 0;
    do {
        digits[count++] = static_cast<char>('0' + n % 10);
        n /= 10;
    } while (n != 0);
    while (count > 0) put(digits[--count]);
}
void put_signed(int32_t n) {
    if (n < 0) put('-');
    put_number(static_cast<uint64_t>(n < 0 ? -static_cast<int64_t>(n) : n));
}
void put_hex(uint32_t n) {
    for (int shift = 28; shift >= 0; shift -= 4) put("0123456789abcdef"[(n >> shift) & 15u]);
}

uint64_t instructions() {
    uint32_t high, low, again;
    do {
        __asm__ volatile("csrr %0, minstreth\n csrr %1, minstret\n csrr %2, minstreth"
                         : "=r"(high), "=r"(low), "=r"(again));
    } while (high != again);
    return static_cast<uint64_t>(high) << 32 | low;
}
uint64_t cycles() {
    uint32_t high, low, again;
    do {
        __asm__ volatile("csrr %0, mcycleh\n csrr %1, mcycle\n csrr %2, mcycleh"
                         : "=r"(high), "=r"(low), "=r"(again));
    } while (high != again);
    return static_cast<uint64_t>(high) << 32 | low;
}

void start_tick(uint32_t period) {
    if (period == 0) return;
    tick_period = period;
    volatile uint32_t* const time = reinterpret_cast<volatile uint32_t*>(CLINT_MTIME);
    volatile uint32_t* const compare = reinterpret_cast<volatile uint32_t*>(CLINT_MTIMECMP(0));
    const uint32_t low = time[0];
    compare[1] = 0;
    compare[0] = low + period;
    __asm__ volatile("csrs mie, %0\n csrsi mstatus, 8" ::"r"(0x80));
}

uint32_t greedy(uint32_t vocabulary) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < vocabulary; ++i)
        if (logits[i] > logits[best]) best = i;
    return best;
}

void print_result(uint32_t flags, uint64_t spent, uint32_t vocabulary, uint32_t token) {
    if (flags & RUN_PRINT_LOGITS) {
        put("logits");
        for (uint32_t i = 0; i < vocabulary; ++i) {
            uint32_t bits;
            __builtin_memcpy(&bits, &logits[i], 4);
            put(' ');
            put_hex(bits);
        }
        put('\n');
    }
    put("token ");
    put_number(token);
    put(" cycles=");
    put_number(spent);
    put('\n');
}

int32_t run_sequence(const RunSequence& s, const int32_t* prompt, uint32_t vocabulary) {
    const uint32_t count = s.prefill > SOC_KV_SLOTS ? SOC_KV_SLOTS : s.prefill;
    for (uint32_t i = 0; i < count && i < s.prompt; ++i) ids[i] = prompt[i];
    uint64_t spent = cycles(), retired = instructions();
    prefill_run(ids, static_cast<int32_t>(s.prefill), logits);
    retired = instructions() - retired;
    spent = cycles() - spent;
    int32_t status = prefill_status();
    put("prefill status=");
    put_signed(status);
    put(" cycles=");
    put_number(spent);
    put(" instret=");
    put_number(retired);
    put('\n');
    for (uint32_t i = 0; status == PREFILL_OK; ++i) {
        const uint32_t token = greedy(vocabulary);
        print_result(s.flags, spent, vocabulary, token);
        if (i + 1 >= s.generate || static_cast<int32_t>(token) == s.stop) break;
        int32_t next = static_cast<int32_t>(token);
        if (s.flags & RUN_FORCED) next = prompt[s.prefill + i];
        spent = cycles();
        decode_step(next, logits);
        spent = cycles() - spent;
        status = prefill_status();
    }
    put("end status=");
    put_signed(status);
    put(" masked=");
    put_number(prefill_longest_mask());
    put('\n');
    return status;
}

// The request behind the image; null where there is none or it leaves the flash.
const RunRequest* find_request(const ImageHeader& header) {
    const uint32_t offset = (header.image_bytes + RUN_ALIGN - 1) / RUN_ALIGN * RUN_ALIGN;
    if (offset > SOC_FLASH_BYTES - sizeof(RunRequest)) return nullptr;
    const auto* const r = reinterpret_cast<const RunRequest*>(SOC_FLASH_BASE + offset);
    if (r->magic != RUN_MAGIC || r->version != RUN_VERSION || r->bytes < sizeof(RunRequest) ||
        r->bytes > SOC_FLASH_BYTES - offset)
        return nullptr;
    uint32_t left = r->bytes - sizeof(RunRequest);
    const auto* at = reinterpret_cast<const uint8_t*>(r + 1);
    for (uint32_t i = 0; i < r->sequences; ++i) {
        if (left < sizeof(RunSequence)) return nullptr;
        left -= sizeof(RunSequence);
        const auto& s = *reinterpret_cast<const RunSequence*>(at);
        if (s.prompt > left / 4 || s.prefill > s.prompt) return nullptr;
        if ((s.flags & RUN_FORCED) && s.generate > 1 + s.prompt - s.prefill) return nullptr;
        left -= 4 * s.prompt;
        at += sizeof(RunSequence) + 4 * s.prompt;
    }
    return r;
}

}  // namespace

int main() {
    auto* const image = reinterpret_cast<uint8_t*>(SOC_FLASH_BASE);
    prefill_init(image, SOC_SRAM_BASE);
    int32_t status = prefill_status();
    const RunRequest* request = nullptr;
    const auto& header = *reinterpret_cast<const ImageHeader*>(image);
    if (status == PREFILL_OK) {
        request = find_request(header);
        if (request == nullptr) status = PREFILL_BAD_REQUEST;
    }
    put("status ");
    put_signed(status);
    put('\n');
    if (status != PREFILL_OK) return status;
    for (volatile uint32_t i = 0; i < request->delay;) i = i + 1;
    start_tick(request->tick_us);
    const auto* at = reinterpret_cast<const uint8_t*>(request + 1);
    for (uint32_t i = 0; i < request->sequences; ++i) {
        const auto& s = *reinterpret_cast<const RunSequence*>(at);
        put("sequence ");
        put_number(i);
        put('\n');
        const int32_t result =
            run_sequence(s, reinterpret_cast<const int32_t*>(&s + 1), header.vocab_used);
        if (status == PREFILL_OK) status = result;
        at += sizeof(RunSequence) + 4 * s.prompt;
    }
    prefill_cleanup();
    put("done\n");
    return status;
}
