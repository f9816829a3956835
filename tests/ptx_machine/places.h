// Where a kernel's registers, constants and arrays in local memory lie, by the names that its text gives them.
#ifndef CONV_TRANSPOSE_TESTS_PTX_PLACES_H
#define CONV_TRANSPOSE_TESTS_PTX_PLACES_H

#include <cctype>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "memory.h"
#include "ptx_program.h"
#include "ptx_text.h"

namespace ptx_machine {

class Places {
  public:
    explicit Places(Kernel &kernel) : kernel_(kernel) {
        scopes_.emplace_back();
        for (int &place : kernel_.special) place = allocate(1);
    }

    void open_scope() { scopes_.emplace_back(); }
    void close_scope() { scopes_.pop_back(); }
    bool is_wide(int place) const { return wide_.count(place) > 0; }

    /// .reg .b32 low, high;  or  .reg .b32 %r<100>;
    void declare_registers(std::string_view text) {
        text = trimmed(text.substr(4));
        const size_t end_of_type = text.find_first_of(" \t");
        const int words = words_of(text.substr(0, end_of_type));
        for (const std::string &name : split_operands(text.substr(end_of_type))) {
            if (const size_t open = name.find('<'); open != std::string::npos)
                families_.emplace_back(name.substr(0, open), words);
            else
                scopes_.back()[name] = place_of_scoped(name, words);
        }
    }

    /// .local .align 8 .b8 __local_depot0[256]
    void declare_local(const std::string &text) {
        const size_t open = text.find('['), begin = text.find_last_of(" \t", open) + 1;
        local_addresses_[text.substr(begin, open - begin)] = local_space + kernel_.local_bytes;
        kernel_.local_bytes += (std::stoi(text.substr(open + 1)) + 15) / 16 * 16;
    }

    void declare_parameter_array(const std::string &name, int offset) {
        local_addresses_[name] = parameter_space + offset;
    }

    /// A register, an immediate, or the name of an array in local memory or among the parameters.
    int operand(std::string_view text, int words) {
        const std::string name(trimmed(text));
        if (name.empty()) throw PtxError("an operand is missing");
        if (name.starts_with("0f")) return constant(std::stoul(name.substr(2), nullptr, 16), words);
        if (name[0] == '-') return constant(static_cast<uint64_t>(std::stoll(name, nullptr, 0)), words);
        if (std::isdigit(static_cast<unsigned char>(name[0])))
            return constant(std::stoull(name, nullptr, 0), words);
        if (const auto found = local_addresses_.find(name); found != local_addresses_.end())
            return constant(found->second, 2);
        return register_named(name);
    }

    /// One, or several in braces.
    std::vector<int> operands(std::string_view text, int words) {
        if (!is_braced(text)) return {operand(text, words)};
        std::vector<int> places;
        for (const std::string &name : split_operands(text.substr(1, text.size() - 2)))
            places.push_back(operand(name, words));
        return places;
    }

    int constant(uint64_t value, int words) {
        if (words == 1) value &= 0xffffffffu;
        const auto [known, fresh] = constants_.try_emplace({value, words}, 0);
        if (!fresh) return known->second;
        std::vector<uint32_t> &file = kernel_.constants;
        if (words == 2 && file.size() % 2) file.push_back(0);  // aligned
        known->second = ~static_cast<int>(file.size());
        for (int l = 0; l < lanes; l++) {
            file.push_back(static_cast<uint32_t>(value));
            if (words == 2) file.push_back(static_cast<uint32_t>(value >> 32));
        }
        return known->second;
    }

  private:
    int allocate(int words) {
        int &end = kernel_.register_words;
        if (words == 2) end = (end + 1) / 2 * 2;
        const int place = end;
        if (words == 2) wide_.insert(place);
        end += words * lanes;
        return place;
    }

    // Names of inner scopes come again and again: the same place serves.
    int place_of_scoped(const std::string &name, int words) {
        const auto [known, fresh] = scoped_.try_emplace({name, words}, 0);
        if (fresh) known->second = allocate(words);
        return known->second;
    }

    int register_named(const std::string &name) {
        for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
            if (const auto found = scope->find(name); found != scope->end()) return found->second;
        if (name == kernel_.shared_name) return kernel_.special[shared_base];
        static const char *const special[shared_base] = {"%tid.x",   "%tid.y",  "%tid.z",   "%ntid.x",
                                                               "%ntid.y",  "%ntid.z", "%ctaid.x", "%ctaid.y",
                                                               "%ctaid.z", "%laneid"};
        for (int i = 0; i < shared_base; i++)
            if (name == special[i]) return kernel_.special[i];
        const size_t digits = name.find_last_not_of("0123456789") + 1;
        for (const auto &[prefix, words] : families_)
            if (name.substr(0, digits) == prefix) return scopes_.front()[name] = allocate(words);
        throw PtxError("no register " + name);
    }

    Kernel &kernel_;
    std::set<int> wide_;  // places of 64-bit registers
    std::vector<std::map<std::string, int>> scopes_;
    std::map<std::pair<std::string, int>, int> scoped_;
    std::vector<std::pair<std::string, int>> families_;  // prefix and words
    std::map<std::pair<uint64_t, int>, int> constants_;
    std::map<std::string, uint64_t> local_addresses_;
};

}  // namespace ptx_machine

#endif
