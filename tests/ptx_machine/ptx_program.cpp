// Decoding: statement by statement, with a scope of register names for every pair of braces.
#include "ptx_program.h"

#include <algorithm>
#include <set>
#include <utility>

#include "arithmetic.h"
#include "cluster.h"
#include "mbarrier.h"
#include "memory.h"
#include "places.h"
#include "product_rules.h"
#include "ptx_text.h"
#include "tensor_cores.h"

namespace ptx_machine {

namespace {

/// The body of one .entry.
class KernelDecoder {
  public:
    explicit KernelDecoder(Kernel &kernel) : kernel_(kernel), places_(kernel) {}

    /// .param .u64 .ptr .global .align 1 name
    void parameter(const std::string &text) {
        int &end_of_all = kernel_.parameter_bytes;
        if (const size_t open = text.find('['); open != std::string::npos) {  // .param .align 64 .b8 name[128]
            const int alignment = std::stoi(text.substr(text.find(".align ") + 7)), bytes = std::stoi(text.substr(open + 1));
            const size_t begin = text.find_last_of(" \t", open) + 1;
            end_of_all = (end_of_all + alignment - 1) / alignment * alignment;
            kernel_.parameters.push_back({text.substr(begin, open - begin), end_of_all, bytes});
            places_.declare_parameter_array(kernel_.parameters.back().name, end_of_all);
            end_of_all += bytes;
            return;
        }
        static const char *const types[] = {".u64", ".b64", ".s64", ".u32", ".b32", ".s32", ".f32",
                                            ".u16", ".b16", ".s16", ".u8",  ".b8",  ".s8"};
        const auto type = std::find_if(std::begin(types), std::end(types), [&](const char *t) {
            return text.find(std::string(t) + " ") != std::string::npos;
        });
        if (type == std::end(types)) throw PtxError("a parameter of unknown type: " + text);
        const int bytes = bytes_of(*type);
        int &end = kernel_.parameter_bytes;
        end = (end + bytes - 1) / bytes * bytes;
        kernel_.parameters.push_back({text.substr(text.find_last_of(" \t") + 1), end, bytes});
        end += bytes;
    }

    void body(std::string_view text) {
        size_t begin = 0;
        int depth = 0;
        for (size_t i = 0; i < text.size(); i++) {
            const char c = text[i];
            const std::string_view so_far = trimmed(text.substr(begin, i - begin));
            if (c == '{' && so_far.empty()) {
                places_.open_scope();
                depth++;
            } else if (c == '}' && so_far.empty()) {
                places_.close_scope();
                if (--depth == 0) break;
            } else if (c == ':' && is_label(so_far, text.substr(i))) {
                labels_[std::string(so_far)] = static_cast<int>(kernel_.code.size());
            } else if (c == ';') {
                statement(so_far);
            } else {
                continue;
            }
            begin = i + 1;
        }
        resolve_jumps();
        require_an_end();
        drop_unused_loads();
        list_product_registers(kernel_);
    }

  private:
    static bool is_label(std::string_view text, std::string_view from_colon) {
        return !text.empty() && text.find_first_of(" \t,[{:") == std::string_view::npos &&
               !from_colon.starts_with("::");
    }

    void resolve_jumps() {
        for (const auto &[at, label] : jumps_) {
            const auto found = labels_.find(label);
            if (found == labels_.end()) throw PtxError("no label " + label);
            kernel_.code[at].number = found->second;
            if (found->second <= static_cast<int>(at)) kernel_.code[at].loop = kernel_.loops++;
        }
    }

    void require_an_end() const {
        const bool ends =
            !kernel_.code.empty() && !kernel_.code.back().guarded &&
            (kernel_.code.back().kind == Kind::exit || kernel_.code.back().kind == Kind::branch);
        if (!ends) throw PtxError("the program of " + kernel_.name + " does not end with ret");
    }

    void statement(std::string_view text) {
        if (text.empty() || text.starts_with(".loc") || text.starts_with(".pragma")) return;
        if (text.starts_with(".reg")) return places_.declare_registers(text);
        if (text.starts_with(".local")) return places_.declare_local(std::string(text));
        Instruction i;
        i.text = text;
        try {
            if (text[0] == '@') text = guard(i, text);
            const size_t end = std::min(text.find_first_of(" \t"), text.size());
            instruction(i, std::string(text.substr(0, end)), split_operands(text.substr(end)));
        } catch (const std::exception &e) {
            throw PtxError(std::string(e.what()) + ", in: " + i.text);
        }
        kernel_.code.push_back(std::move(i));
    }

    /// @%p1 or @!%p1; returns what follows.
    std::string_view guard(Instruction &i, std::string_view text) {
        i.guarded = true;
        i.guard_negated = text[1] == '!';
        const size_t begin = i.guard_negated ? 2 : 1, end = text.find_first_of(" \t");
        i.guard = places_.operand(text.substr(begin, end - begin), 1);
        return trimmed(text.substr(end));
    }

    void instruction(Instruction &i, const std::string &name, const std::vector<std::string> &o) {
        const std::vector<std::string> parts = split_name(name);
        const std::string &base = parts[0];
        if (control(i, name, o)) return;
        if (base == "wgmma")
            wgmma(i, name, o);
        else if (base == "mbarrier")
            mbarrier(i, name, o);
        else if (name.starts_with("cp.async.bulk"))
            bulk_copy(i, name, o);
        else if (base == "cp")
            copy(i, name, o);
        else if (base == "ld" || base == "st")
            memory(i, parts, o);
        else if (name.starts_with("fence.proxy.async"))
            i.execute = execute_proxy_fence;
        else if (name.starts_with("fence.mbarrier_init."))
            i.execute = execute_mbarrier_fence;
        else if (base == "ldmatrix" || base == "stmatrix")
            matrices(i, name, o);
        else if (name == "movmatrix.sync.aligned.m8n8.trans.b16")
            movmatrix(i, o);
        else if (name == "shfl.sync.up.b32" || name == "shfl.sync.down.b32")
            shuffle(i, name.find("down") != std::string::npos, o);
        else if (name == "mapa.shared::cluster.u32")
            of_block_of_cluster(i, o);
        else if (base == "mma")
            mma_sync(i, name, o);
        else if (base == "mov" && (is_braced(o.at(0)) || is_braced(o.at(1))))
            halves(i, parts, o);
        else
            arithmetic(i, parts, o);
    }

    bool control(Instruction &i, const std::string &name, const std::vector<std::string> &o) {
        if (name == "bra" || name == "bra.uni") {
            i.kind = Kind::branch;
            jumps_.emplace_back(kernel_.code.size(), o.at(0));
        } else if (name == "ret" || name == "exit") {
            i.kind = Kind::exit;
        } else if (name == "trap") {
            i.execute = [](Warp &, const Instruction &t, uint32_t) { fail(t, "the kernel gives up"); };
        } else if (name == "bar.sync" || name == "barrier.sync" || name == "bar.arrive") {
            i.kind = name == "bar.arrive" ? Kind::barrier_arrive : Kind::barrier;
            i.a = places_.operand(o.at(0), 1);
            i.has_count = o.size() > 1;
            if (i.has_count) i.b = places_.operand(o[1], 1);
        } else if (name == "griddepcontrol.wait") {
            i.execute = [](Warp &, const Instruction &, uint32_t) {};
            kernel_.waits_first = !i.guarded && kernel_.code.empty();
        } else if (name.starts_with("setmaxnreg.")) {
            i.kind = Kind::whole_warp;
            i.execute = [](Warp &, const Instruction &, uint32_t) {};
        } else if (name == "bar.warp.sync") {
            i.kind = Kind::warp_barrier;
        } else if (name == "barrier.cluster.arrive.release") {
            i.kind = Kind::whole_warp;
            i.execute = execute_cluster_arrive;
        } else if (name == "barrier.cluster.wait.acquire") {
            i.kind = Kind::cluster_wait;
        } else {
            return false;
        }
        return true;
    }

    void wgmma(Instruction &i, const std::string &name, const std::vector<std::string> &o) {
        if (name.starts_with("wgmma.fence")) {
            i.kind = Kind::wgmma_fence;
        } else if (name.starts_with("wgmma.commit_group")) {
            i.kind = Kind::wgmma_commit;
        } else if (name.starts_with("wgmma.wait_group")) {
            i.kind = Kind::wgmma_wait;
            i.number = std::stoi(o.at(0));
        } else {
            i.factors = factors(name);
            i.registers_of_a = is_braced(o.at(1));
            // Those of 16 bits may be transposed, but for registers.
            if (o.size() > 6) i.transposed = {!i.registers_of_a && o[6] == "1", o.back() == "1"};
            i.kind = Kind::wgmma;
            i.number = std::stoi(name.substr(name.find("m64n") + 4));
            i.vector = places_.operands(o.at(0), 1);
            if (i.registers_of_a) {
                for (const int place : places_.operands(o[1], 1)) i.vector.push_back(place);
            } else {
                i.a = places_.operand(o[1], 2);
            }
            const int registers = i.number / 2 + (i.registers_of_a ? 4 : 0);
            if (static_cast<int>(i.vector.size()) != registers)
                throw PtxError("other than " + std::to_string(registers) + " registers");
            i.b = places_.operand(o.at(2), 2);
            i.c = places_.operand(o.at(3), 1);
        }
    }

    static Factors factors(const std::string &name) {
        const auto has = [&](const char *types) { return name.find(types) != std::string::npos; };
        if (has("k8.") && has(".tf32.tf32")) return Factors::tf32;
        if (has("k16.") && has(".f16.f16")) return Factors::f16;
        if (has("k16.") && has(".bf16.bf16")) return Factors::bf16;
        throw PtxError("a product of other types");
    }

    void matrices(Instruction &i, const std::string &name, const std::vector<std::string> &o) {
        const bool load = name.starts_with("ld");
        i.kind = Kind::whole_warp;
        i.transposed[0] = name.find(".trans.") != std::string::npos;
        i.execute = load ? execute_ldmatrix : execute_stmatrix;
        i.vector = places_.operands(o.at(load ? 0 : 1), 1);
        if (name.find(".x" + std::to_string(i.vector.size()) + ".") == std::string::npos)
            throw PtxError("a wrong number of matrices");
        address(i, o.at(load ? 1 : 0), true);
    }

    /// An address in the shared memory of another block.
    void of_block_of_cluster(Instruction &i, const std::vector<std::string> &o) {
        i.execute = execute_mapa;
        i.d = places_.operand(o.at(0), 1);
        i.a = places_.operand(o.at(1), 1);
        i.b = places_.operand(o.at(2), 1);
    }

    void movmatrix(Instruction &i, const std::vector<std::string> &o) {
        i.kind = Kind::whole_warp;
        i.execute = execute_movmatrix;
        i.d = places_.operand(o.at(0), 1);
        i.a = places_.operand(o.at(1), 1);
    }

    /// d, a, lanes, the last lane that is read, all lanes
    void shuffle(Instruction &i, bool down, const std::vector<std::string> &o) {
        if (o.at(3) != (down ? "31" : "0") || o.at(4) != "0xffffffff") throw PtxError("a shuffle of other lanes than all");
        i.kind = Kind::whole_warp;
        i.execute = execute_shuffle;
        i.d = places_.operand(o[0], 1);
        i.a = places_.operand(o.at(1), 1);
        i.number = down ? -std::stoi(o.at(2)) : std::stoi(o.at(2));
    }

    void mma_sync(Instruction &i, const std::string &name, const std::vector<std::string> &o) {
        i.factors = factors(name);
        if (!name.starts_with("mma.sync.aligned.m16n8k") || name.find(".row.col.f32.") == std::string::npos)
            throw PtxError("a product of another shape");
        i.kind = Kind::whole_warp;
        i.execute = execute_mma_sync;
        for (int operand = 0; operand < 4; operand++)
            for (int place : places_.operands(o.at(operand), 1)) i.vector.push_back(place);
    }

    /// mov.b64, or mov.b32, of two halves (or four quarters) in braces.
    void halves(Instruction &i, const std::vector<std::string> &parts, const std::vector<std::string> &o) {
        const bool unpack = is_braced(o[0]);
        i.number = 8 * bytes_of(parts.back());
        i.vector = places_.operands(o[unpack ? 0 : 1], 1);
        if (i.vector.size() != 2 && i.vector.size() != 4) throw PtxError("other than two halves or four quarters");
        (unpack ? i.a : i.d) = places_.operand(o[unpack ? 1 : 0], i.number / 32);
        i.execute = unpack ? execute_unpack : execute_pack;
    }

    /// cp.async.cg.shared.global [to], [from], bytes, bytes that are read
    void copy(Instruction &i, const std::string &name, const std::vector<std::string> &o) {
        if (name == "cp.async.commit_group") {
            i.execute = execute_copy_commit;
        } else if (name == "cp.async.wait_group") {
            i.execute = execute_copy_wait;
            i.number = std::stoi(o.at(0));
        } else {
            i.execute = execute_copy;
            i.d = places_.operand(o.at(0).substr(1, o[0].size() - 2), 1);
            if (places_.is_wide(i.d)) throw PtxError("a wide address in shared memory is not supported");
            address(i, o.at(1), false);
            i.number = std::stoi(o.at(2));
            i.b = o.size() > 3 ? places_.operand(o[3], 1) : places_.constant(i.number, 1);
        }
    }

    void mbarrier(Instruction &i, const std::string &name, const std::vector<std::string> &o) {
        if (name.find(".shared") == std::string::npos) throw PtxError("an mbarrier out of shared memory");
        if (name.starts_with("mbarrier.init.")) {
            i.execute = execute_mbarrier_init;
            address(i, o.at(0), true);
            i.b = places_.operand(o.at(1), 1);
        } else if (name.starts_with("mbarrier.arrive.")) {
            // The only waiting that is known is that for a parity: nothing reads the state.
            i.execute = execute_mbarrier_arrive;
            address(i, o.at(1), true);
            i.has_count = name.starts_with("mbarrier.arrive.expect_tx.");
            if (i.has_count) i.b = places_.operand(o.at(2), 1);
        } else if (name.starts_with("mbarrier.try_wait.parity.") || name.starts_with("mbarrier.test_wait.parity.")) {
            i.kind = Kind::mbarrier_wait;
            i.d = places_.operand(o.at(0), 1);
            address(i, o.at(1), true);
            i.b = places_.operand(o.at(2), 1);
        } else {
            throw PtxError("unknown instruction " + name);
        }
    }

    /// [to], [from], bytes, [mbarrier]
    void bulk_copy(Instruction &i, const std::string &name, const std::vector<std::string> &o) {
        if (name.starts_with("cp.async.bulk.tensor.")) return tensor_copy(i, name, o);
        if (name == "cp.async.bulk.commit_group" || name.starts_with("cp.async.bulk.wait_group") ||
            name == "cp.async.bulk.global.shared::cta.bulk_group")
            return bulk_store(i, name, o);
        if (name != "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes")
            throw PtxError("unknown instruction " + name);
        const auto in_brackets = [](const std::string &text) { return text.substr(1, text.size() - 2); };
        i.execute = execute_bulk_copy;
        i.d = places_.operand(in_brackets(o.at(0)), 1);
        address(i, o.at(1), false);
        i.b = places_.operand(o.at(2), 1);
        i.c = places_.operand(in_brackets(o.at(3)), 1);
    }

    /// [to], [from], bytes; and the groups of such stores.
    void bulk_store(Instruction &i, const std::string &name, const std::vector<std::string> &o) {
        if (name == "cp.async.bulk.commit_group") {
            i.execute = execute_bulk_commit;
        } else if (name.find(".wait_group") != std::string::npos) {
            i.execute = execute_bulk_wait;
            i.number = std::stoi(o.at(0));
        } else {
            i.execute = execute_bulk_store;
            address(i, o.at(0), false);
            i.d = places_.operand(o.at(1).substr(1, o[1].size() - 2), 1);
            i.b = places_.operand(o.at(2), 1);
        }
    }

    /// [to], [map, {coordinates}], [mbarrier], {offsets}; a block of a tensor has no offsets; [map, {coordinates}], [from]
    void tensor_copy(Instruction &i, const std::string &name, const std::vector<std::string> &o) {
        i.number = name[std::string("cp.async.bulk.tensor.").size()] - '0';
        if (name.ends_with("d.global.shared::cta.tile.bulk_group") || name.ends_with("d.global.shared::cta.bulk_group")) {
            i.execute = execute_tensor_store;
            i.d = places_.operand(o.at(1).substr(1, o[1].size() - 2), 1);
            return of_map(i, o.at(0));
        }
        const bool is_block = name.ends_with("d.shared::cluster.global.tile.mbarrier::complete_tx::bytes");
        if (!is_block && !name.ends_with("d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"))
            throw PtxError("unknown instruction " + name);
        const auto in_brackets = [](const std::string &text) { return text.substr(1, text.size() - 2); };
        i.execute = execute_tensor_copy;
        i.d = places_.operand(in_brackets(o.at(0)), 1);
        i.c = places_.operand(in_brackets(o.at(2)), 1);
        of_map(i, o.at(1));
        if (is_block) return;
        for (const int place : places_.operands(o.at(3), 1)) i.vector.push_back(place);
        if (static_cast<int>(i.vector.size()) != 2 * i.number - 2)
            throw PtxError("other than two more coordinates than offsets");
    }

    /// [map, {coordinates}]
    void of_map(Instruction &i, const std::string &text) {
        const std::vector<std::string> parts = split_operands(text.substr(1, text.size() - 2));
        i.a = places_.operand(parts.at(0), 2);
        i.vector = places_.operands(parts.at(1), 1);
        if (static_cast<int>(i.vector.size()) != i.number) throw PtxError("a coordinate for each dimension");
    }

    void memory(Instruction &i, const std::vector<std::string> &parts, const std::vector<std::string> &o) {
        const bool load = parts[0] == "ld", in_cluster = contains(parts, "shared::cluster"),
                   shared = in_cluster || contains(parts, "shared");
        const size_t count = contains(parts, "v4") ? 4 : contains(parts, "v2") ? 2 : 1;
        const std::string &type = parts.back();
        i.number = bytes_of(type);
        i.is_signed = type[0] == 's';
        i.vector = places_.operands(o.at(load ? 0 : 1), words_of(type));
        if (i.vector.size() != count) throw PtxError("a wrong number of elements");
        // A register may be wider than the element.
        for (size_t v = 0; v < count; v++) i.d |= static_cast<int>(places_.is_wide(i.vector[v])) << v;
        address(i, o.at(load ? 1 : 0), shared);
        if (contains(parts, "param"))
            i.execute = execute_load_parameter;
        else if (load)
            i.execute = in_cluster ? execute_load_cluster : shared ? execute_load_shared : execute_load;
        else if (in_cluster)
            throw PtxError("stores to other blocks are not supported");
        else
            i.execute = shared ? execute_store_shared : execute_store;
    }

    /// [register + offset] or [parameter + offset]
    void address(Instruction &i, std::string_view text, bool shared) {
        text = trimmed(text.substr(1, text.size() - 2));
        const size_t plus = std::min(text.find('+'), text.size());
        if (plus < text.size())
            i.offset = std::stoll(std::string(trimmed(text.substr(plus + 1))), nullptr, 0);
        const std::string_view base = trimmed(text.substr(0, plus));
        for (const Parameter &p : kernel_.parameters)
            if (p.name == base) {
                i.offset += p.offset;
                return;
            }
        i.a = places_.operand(base, shared ? 1 : 2);
        i.wide_address = !shared || places_.is_wide(i.a);
    }

    void arithmetic(Instruction &i, const std::vector<std::string> &parts,
                    const std::vector<std::string> &o) {
        const Arithmetic found = find_arithmetic(reads_half_a_register(parts, o) ? of_low_half(parts) : parts);
        const int words[] = {found.d_words, found.a_words, found.b_words, found.c_words};
        int *const places[] = {&i.d, &i.a, &i.b, &i.c};
        const size_t count = std::count_if(std::begin(words), std::end(words), [](int n) { return n > 0; });
        if (o.size() != count) throw PtxError("other than " + std::to_string(count) + " operands");
        i.execute = found.execute;
        i.compares = parts[0] == "setp" && found.a_words == 1;
        for (size_t k = 0; k < count; k++) *places[k] = places_.operand(o[k], words[k]);
    }

    // cvt.s64.s32 of a 64-bit register takes its low half.
    bool reads_half_a_register(const std::vector<std::string> &parts, const std::vector<std::string> &o) {
        return parts[0] == "cvt" && parts.back().ends_with("32") && o.size() == 2 && o[1][0] == '%' &&
               places_.is_wide(places_.operand(o[1], 0));
    }
    static std::vector<std::string> of_low_half(std::vector<std::string> parts) {
        parts.back() = "low_" + parts.back();
        return parts;
    }

    // As ptxas does: a load whose value nobody uses stands for its address and may lie anywhere.
    void drop_unused_loads() {
        std::set<int> used;
        for (const Instruction &i : kernel_.code) {
            used.insert({i.a, i.b, i.c});
            if (i.guarded) used.insert(i.guard);
            if (i.execute != execute_load) used.insert(i.vector.begin(), i.vector.end());
        }
        const auto is_used = [&](int place) { return used.count(place) > 0; };
        for (Instruction &i : kernel_.code)
            if (i.execute == execute_load && std::none_of(i.vector.begin(), i.vector.end(), is_used))
                i.execute = [](Warp &, const Instruction &, uint32_t) {};
    }

    Kernel &kernel_;
    Places places_;
    std::map<std::string, int> labels_;
    std::vector<std::pair<size_t, std::string>> jumps_;
};

}  // namespace

Module decode(std::string_view ptx) {
    const std::string text = without_comments(ptx);
    Module module;
    for (size_t at = text.find(".entry"); at != std::string::npos; at = text.find(".entry", at + 1)) {
        auto kernel = std::make_unique<Kernel>();
        const size_t open = text.find('(', at), close = text.find(')', open);
        kernel->name = trimmed(std::string_view(text).substr(at + 6, open - at - 6));
        // .extern .shared .align 1024 .b8 name[];
        if (const size_t shared = text.rfind(".extern .shared ", at); shared != std::string::npos) {
            const size_t end = text.find('[', shared), begin = text.find_last_of(" \t", end) + 1;
            kernel->shared_name = text.substr(begin, end - begin);
        }
        if (const size_t target = text.find(".target sm_"); target < at) kernel->target = std::stoi(text.substr(target + 11));
        KernelDecoder decoder(*kernel);
        for (const std::string &parameter :
             split_operands(std::string_view(text).substr(open + 1, close - open - 1)))
            decoder.parameter(parameter);
        // Launch bounds may stand between the parameters and the body.
        decoder.body(std::string_view(text).substr(text.find('{', close)));
        const std::string name = kernel->name;
        module.emplace(name, std::move(kernel));
    }
    if (module.empty()) throw PtxError("no .entry in the text");
    return module;
}

}  // namespace ptx_machine
