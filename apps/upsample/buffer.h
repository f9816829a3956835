// Memory for samples that is not filled beforehand: what a picture claims to need costs nothing until it comes.
#ifndef UPSAMPLE_BUFFER_H
#define UPSAMPLE_BUFFER_H

#include <cstddef>
#include <memory>

namespace upsample {

/// Grows and keeps no content when it does. A vector would write zeros to every page.
template <typename Value>
class Buffer {
  public:
    void reserve(std::size_t count) {
        if (count <= count_) return;
        values_.reset();  // first, so that both are not there at the same time
        count_ = 0;
        values_ = std::make_unique_for_overwrite<Value[]>(count);
        count_ = count;
    }
    void release() { *this = Buffer(); }
    Value *data() { return values_.get(); }
    const Value *data() const { return values_.get(); }
    std::size_t size() const { return count_; }

  private:
    std::unique_ptr<Value[]> values_;
    std::size_t count_ = 0;
};

}  // namespace upsample

#endif
