// What will happen at which cycle. Events of one cycle happen in the order they were scheduled, so
// a run is the same every time.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

namespace ridge::rv32 {

// Who wants to be called. `tag` is the caller's own; a stale event is the caller's to recognise.
class EventTarget {
  public:
    virtual ~EventTarget() = default;
    virtual void event(uint64_t cycle, uint64_t tag) = 0;
};

class EventQueue {
  public:
    static constexpr uint64_t never = ~uint64_t{0};

    void schedule(uint64_t cycle, EventTarget* target, uint64_t tag) {
        heap_.push({cycle, order_++, target, tag});
        if (cycle < horizon) horizon = cycle;
    }
    uint64_t next() const { return heap_.empty() ? never : heap_.top().cycle; }
    bool empty() const { return heap_.empty(); }

    // Takes the first event and calls its target.
    void dispatch() {
        const Event e = heap_.top();
        heap_.pop();
        e.target->event(e.cycle, e.tag);
    }

    // The running hart stops before this cycle. The machine sets it for each turn; scheduling an
    // earlier event, or stop(), lowers it.
    uint64_t horizon = 0;
    void stop() { horizon = 0; }

  private:
    struct Event {
        uint64_t cycle, order;
        EventTarget* target;
        uint64_t tag;
        bool operator<(const Event& o) const {
            return cycle != o.cycle ? cycle > o.cycle : order > o.order;
        }
    };
    std::priority_queue<Event> heap_;
    uint64_t order_ = 0;
};

}  // namespace ridge::rv32
