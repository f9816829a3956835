// Arithmetic, comparisons and conversions: a table of lane functions for every type.
#include "arithmetic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <compare>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "half.h"
#include "warp.h"

namespace ptx_machine {

namespace {

// ---- from a function of one lane to an instruction of a warp

/// How a lane's value lies in the register file: predicates and 16-bit values take a word.
template <class T>
using Stored = std::conditional_t<sizeof(T) < 4, uint32_t, T>;

template <class T>
constexpr int words = sizeof(Stored<T>) / 4;

template <class T>
Stored<T> stored(T value) {
    if constexpr (sizeof(T) == 2)
        return static_cast<uint16_t>(value);
    else
        return value;
}

template <class Function, class D, class... A>
void lane_by_lane(Warp &w, const Instruction &i, uint32_t mask) {
    const int places[] = {i.a, i.b, i.c};
    Stored<D> *const d = w.to<Stored<D>>(i.d);
    [&]<size_t... n>(std::index_sequence<n...>) {
        const std::tuple sources{w.from<Stored<A>>(places[n])...};
        Stored<D> results[lanes];  // apart from the operands, which lets the compiler use vectors
        for (int l = 0; l < lanes; l++)
            results[l] = stored<D>(Function{}(static_cast<A>(std::get<n>(sources)[l])...));
        if (mask == ~0u) {
            std::memcpy(d, results, sizeof results);
            return;
        }
        for (int l = 0; l < lanes; l++) d[l] = mask >> l & 1 ? results[l] : d[l];
    }
    (std::index_sequence_for<A...>());
}

template <class Function, class D, class... A>
Arithmetic instruction(D (*)(A...)) {
    const int sources[3] = {words<A>...};
    return {lane_by_lane<Function, D, A...>, words<D>, sources[0], sources[1], sources[2]};
}

/// The types of the function are those of the result and the operands.
template <class Function>
Arithmetic lanes_of(Function function) {
    return instruction<Function>(+function);
}

using Table = std::map<std::string_view, Arithmetic>;

Arithmetic look_up(const Table &table, std::string_view name, std::string_view kind) {
    const auto found = table.find(name);
    if (found == table.end()) throw PtxError("unknown " + std::string(kind) + " " + std::string(name));
    return found->second;
}

// ---- the tables

/// Comparisons of 16 bits see this of a register.
struct HalfLane {
    uint16_t bits;
    explicit HalfLane(uint32_t word) : bits(static_cast<uint16_t>(word)) {}
    friend std::partial_ordering operator<=>(HalfLane a, HalfLane b) { return from_half(a.bits) <=> from_half(b.bits); }
    friend bool operator==(HalfLane a, HalfLane b) { return from_half(a.bits) == from_half(b.bits); }
};

template <class T>
const Table &comparisons() {
    static const Table table = [] {
        // "Unordered" comparisons, of floats, are true for NaN; unsigned ones have names of their own.
        Table t{{"lt", lanes_of([](T a, T b) { return a < b; })},
                {"le", lanes_of([](T a, T b) { return a <= b; })},
                {"gt", lanes_of([](T a, T b) { return a > b; })},
                {"ge", lanes_of([](T a, T b) { return a >= b; })},
                {"eq", lanes_of([](T a, T b) { return a == b; })},
                {"ne", lanes_of([](T a, T b) { return a < b || a > b; })},
                {"ltu", lanes_of([](T a, T b) { return !(a >= b); })},
                {"leu", lanes_of([](T a, T b) { return !(a > b); })},
                {"gtu", lanes_of([](T a, T b) { return !(a <= b); })},
                {"geu", lanes_of([](T a, T b) { return !(a < b); })},
                {"equ", lanes_of([](T a, T b) { return !(a < b || a > b); })},
                {"neu", lanes_of([](T a, T b) { return a != b; })},
                {"nan", lanes_of([](T a, T b) { return a != a || b != b; })},
                {"num", lanes_of([](T a, T b) { return a == a && b == b; })}};
        t["lo"] = t["lt"], t["ls"] = t["le"], t["hi"] = t["gt"], t["hs"] = t["ge"];
        return t;
    }();
    return table;
}

/// Wraps around, as registers do.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) == 2, uint32_t, std::make_unsigned_t<T>>;

template <class T>
const Table &integers() {
    using U = Wrapping<T>;
    constexpr T minus_one = static_cast<T>(-1);
    static const Table table{
        {"add", lanes_of([](T a, T b) { return static_cast<T>(U(a) + U(b)); })},
        {"sub", lanes_of([](T a, T b) { return static_cast<T>(U(a) - U(b)); })},
        {"mul", lanes_of([](T a, T b) { return static_cast<T>(U(a) * U(b)); })},
        {"mad", lanes_of([](T a, T b, T c) { return static_cast<T>(U(a) * U(b) + U(c)); })},
        {"neg", lanes_of([](T a) { return static_cast<T>(U(0) - U(a)); })},
        {"abs", lanes_of([](T a) { return a < 0 ? static_cast<T>(U(0) - U(a)) : a; })},
        {"div", lanes_of([](T a, T b) {
             if (b == 0) return minus_one;
             return std::is_signed_v<T> && b == minus_one ? static_cast<T>(U(0) - U(a))
                                                          : static_cast<T>(a / b);
         })},
        {"rem", lanes_of([](T a, T b) {
             if (b == 0) return a;
             return std::is_signed_v<T> && b == minus_one ? T(0) : static_cast<T>(a % b);
         })},
        {"min", lanes_of([](T a, T b) { return a < b ? a : b; })},
        {"max", lanes_of([](T a, T b) { return a > b ? a : b; })},
        {"shr", lanes_of([](T a, uint32_t n) {
             return static_cast<T>(n < 8 * sizeof(T) ? a >> n : a < 0 ? -1 : 0);
         })},
        // The highest bit of a signed field fills the rest.
        {"bfe", lanes_of([](T a, uint32_t at, uint32_t n) {
             constexpr uint32_t bits = 8 * sizeof(T);
             const T shifted = static_cast<T>(at < bits ? a >> at : a < 0 ? -1 : 0);
             if (n == 0 || n >= bits) return n == 0 ? T(0) : shifted;
             return static_cast<T>(static_cast<T>(U(shifted) << (bits - n)) >> (bits - n));
         })}};
    return table;
}

/// Products of twice the width, or the upper half of such.
template <class T, class Wide>
const Table &wide_integers() {
    static const Table table{
        {"mul", lanes_of([](T a, T b) { return static_cast<Wide>(Wide{a} * Wide{b}); })},
        {"mad", lanes_of([](T a, T b, Wide c) { return static_cast<Wide>(Wide{a} * Wide{b} + c); })},
        {"hi", lanes_of([](T a, T b) { return static_cast<T>(Wide{a} * Wide{b} >> 8 * sizeof(T)); })}};
    return table;
}

template <class T>
const Table &bits() {
    static const Table table{
        {"and", lanes_of([](T a, T b) { return static_cast<T>(a & b); })},
        {"or", lanes_of([](T a, T b) { return static_cast<T>(a | b); })},
        {"xor", lanes_of([](T a, T b) { return static_cast<T>(a ^ b); })},
        {"not", lanes_of([](T a) { return static_cast<T>(~a); })},
        {"shl", lanes_of([](T a, uint32_t n) { return static_cast<T>(n < 8 * sizeof(T) ? a << n : 0); })},
        {"shr", lanes_of([](T a, uint32_t n) { return static_cast<T>(n < 8 * sizeof(T) ? a >> n : 0); })},
        {"prmt", lanes_of([](T a, T b, uint32_t which) {
             const uint64_t both = static_cast<uint32_t>(a) | static_cast<uint64_t>(b) << 32;
             T bytes = 0;
             for (int i = 0; i < 4; i++) {
                 const uint32_t one = which >> 4 * i & 0xf, byte = both >> 8 * (one & 7) & 0xff;
                 // The fourth bit asks for the sign alone.
                 bytes |= static_cast<T>(one & 8 ? (byte >> 7) * 0xff : byte) << 8 * i;
             }
             return bytes;
         })},
        {"selp", lanes_of([](T a, T b, uint32_t p) { return p ? a : b; })},
        {"mov", lanes_of([](T a) { return a; })}};
    return table;
}

const Table &predicates() {
    static const Table table{{"and", lanes_of([](uint32_t a, uint32_t b) { return a && b; })},
                             {"or", lanes_of([](uint32_t a, uint32_t b) { return a || b; })},
                             {"xor", lanes_of([](uint32_t a, uint32_t b) { return (a != 0) != (b != 0); })},
                             {"not", lanes_of([](uint32_t a) { return !a; })},
                             {"mov", lanes_of([](uint32_t a) { return a != 0; })}};
    return table;
}

/// The approximate functions are exact here.
const Table &floats() {
    static const Table table{
        {"add", lanes_of([](float a, float b) { return a + b; })},
        {"sub", lanes_of([](float a, float b) { return a - b; })},
        {"mul", lanes_of([](float a, float b) { return a * b; })},
        {"div", lanes_of([](float a, float b) { return a / b; })},
        {"fma", lanes_of([](float a, float b, float c) { return std::fma(a, b, c); })},
        {"min", lanes_of([](float a, float b) { return std::fmin(a, b); })},  // not of NaN
        {"max", lanes_of([](float a, float b) { return std::fmax(a, b); })},
        {"neg", lanes_of([](float a) { return -a; })},
        {"abs", lanes_of([](float a) { return std::fabs(a); })},
        {"rcp", lanes_of([](float a) { return 1 / a; })},
        {"sqrt", lanes_of([](float a) { return std::sqrt(a); })},
        {"rsqrt", lanes_of([](float a) { return 1 / std::sqrt(a); })},
        {"ex2", lanes_of([](float a) { return std::exp2(a); })},
        {"lg2", lanes_of([](float a) { return std::log2(a); })},
        {"tanh", lanes_of([](float a) { return std::tanh(a); })},
        {"selp", lanes_of([](float a, float b, uint32_t p) { return p ? a : b; })},
        {"mov", lanes_of([](float a) { return a; })}};
    return table;
}

int32_t to_integer(float a) {
    if (std::isnan(a)) return 0;
    if (a >= 0x1p31f) return std::numeric_limits<int32_t>::max();
    return a <= -0x1p31f ? std::numeric_limits<int32_t>::min() : static_cast<int32_t>(a);
}

/// To nearest, ties away from zero: what is cut off by the tensor cores is zero then.
uint32_t to_tf32(float a) {
    const uint32_t bits = std::bit_cast<uint32_t>(a);
    const bool finite = (bits & 0x7f800000u) != 0x7f800000u;
    return finite ? (bits + 0x1000u) & ~0x1fffu : bits;
}

/// By rounding and types: result, operand.
const Table &conversions() {
    static const Table table{
        {"rna.tf32.f32", lanes_of([](float a) { return to_tf32(a); })},
        {"rn.f16.f32", lanes_of([](float a) { return to_half(a); })},
        {"rn.bf16.f32", lanes_of([](float a) { return to_bfloat(a); })},
        {"f32.f16", lanes_of([](uint16_t a) { return from_half(a); })},
        {"f32.bf16", lanes_of([](uint16_t a) { return from_bfloat(a); })},
        // The first operand becomes the upper half.
        {"rn.f16x2.f32", lanes_of([](float a, float b) { return uint32_t{to_half(a)} << 16 | to_half(b); })},
        {"rn.bf16x2.f32", lanes_of([](float a, float b) { return uint32_t{to_bfloat(a)} << 16 | to_bfloat(b); })},
        {"f32.f32", lanes_of([](float a) { return a; })},
        {"rmi.f32.f32", lanes_of([](float a) { return std::floor(a); })},
        {"rpi.f32.f32", lanes_of([](float a) { return std::ceil(a); })},
        {"rzi.f32.f32", lanes_of([](float a) { return std::trunc(a); })},
        {"rni.f32.f32", lanes_of([](float a) { return std::nearbyint(a); })},
        {"rzi.s32.f32", lanes_of([](float a) { return to_integer(a); })},
        {"rmi.s32.f32", lanes_of([](float a) { return to_integer(std::floor(a)); })},
        {"rni.s32.f32", lanes_of([](float a) { return to_integer(std::nearbyint(a)); })},
        {"rn.f32.s32", lanes_of([](int32_t a) { return static_cast<float>(a); })},
        {"rn.f32.u32", lanes_of([](uint32_t a) { return static_cast<float>(a); })},
        {"s64.s32", lanes_of([](int32_t a) { return int64_t{a}; })},
        {"s64.low_s32", lanes_of([](uint64_t a) { return int64_t{static_cast<int32_t>(a)}; })},
        {"s64.low_u32", lanes_of([](uint64_t a) { return uint64_t{static_cast<uint32_t>(a)}; })},
        {"u64.low_u32", lanes_of([](uint64_t a) { return uint64_t{static_cast<uint32_t>(a)}; })},
        {"s64.u32", lanes_of([](uint32_t a) { return uint64_t{a}; })},
        {"u64.u32", lanes_of([](uint32_t a) { return uint64_t{a}; })},
        {"u32.u64", lanes_of([](uint64_t a) { return static_cast<uint32_t>(a); })},
        {"s32.s64", lanes_of([](uint64_t a) { return static_cast<uint32_t>(a); })},
        {"u32.u16", lanes_of([](uint16_t a) { return uint32_t{a}; })},
        {"u64.u16", lanes_of([](uint16_t a) { return uint64_t{a}; })},
        {"s64.s16", lanes_of([](int16_t a) { return int64_t{a}; })},
        {"s32.s16", lanes_of([](int16_t a) { return int32_t{a}; })},
        {"u32.u8", lanes_of([](uint32_t a) { return a & 0xff; })},
        {"s32.s8", lanes_of([](uint32_t a) { return int32_t{static_cast<int8_t>(a)}; })},
        {"u16.u16", lanes_of([](uint16_t a) { return a; })},
        {"u16.u32", lanes_of([](uint32_t a) { return static_cast<uint16_t>(a); })},
        {"u16.u64", lanes_of([](uint64_t a) { return static_cast<uint16_t>(a); })}};
    return table;
}

Arithmetic comparison(std::string_view how, std::string_view type) {
    const auto of = [&](const Table &table) { return look_up(table, how, "comparison"); };
    if (type == "s32") return of(comparisons<int32_t>());
    if (type == "u32" || type == "b32") return of(comparisons<uint32_t>());
    if (type == "s64") return of(comparisons<int64_t>());
    if (type == "u64" || type == "b64") return of(comparisons<uint64_t>());
    if (type == "s16") return of(comparisons<int16_t>());
    if (type == "u16" || type == "b16") return of(comparisons<uint16_t>());
    if (type == "f32") return of(comparisons<float>());
    if (type == "f16") return of(comparisons<HalfLane>());
    throw PtxError("unknown type " + std::string(type));
}

Arithmetic conversion(const std::vector<std::string> &parts) {
    std::string name;
    for (size_t i = 1; i < parts.size(); i++)
        if (parts[i] != "ftz" && parts[i] != "sat") name += (name.empty() ? "" : ".") + parts[i];
    return look_up(conversions(), name, "conversion");
}

Arithmetic wide_integer(std::string_view name, std::string_view type) {
    const auto of = [&](const Table &table) { return look_up(table, name, "wide instruction"); };
    if (type == "s32") return of(wide_integers<int32_t, int64_t>());
    if (type == "u32") return of(wide_integers<uint32_t, uint64_t>());
    if (type == "s16") return of(wide_integers<int16_t, int32_t>());
    if (type == "u16") return of(wide_integers<uint16_t, uint32_t>());
    throw PtxError("unknown type of twice the width " + std::string(type));
}

bool is_of_bits(std::string_view name) {
    return name == "mov" || name == "selp" || name == "shl";
}

Arithmetic typed(std::string_view name, std::string_view type) {
    if (type == "f32") return look_up(floats(), name, "instruction on f32:");
    if (type == "pred") return look_up(predicates(), name, "instruction on predicates:");
    const bool wide = type.ends_with("64");
    if (type.starts_with('b') || is_of_bits(name))
        return look_up(wide ? bits<uint64_t>() : bits<uint32_t>(), name, "instruction on bits:");
    const auto of = [&](const Table &table) { return look_up(table, name, "instruction on integers:"); };
    if (type == "s32") return of(integers<int32_t>());
    if (type == "u32") return of(integers<uint32_t>());
    if (type == "s64") return of(integers<int64_t>());
    if (type == "u64") return of(integers<uint64_t>());
    if (type == "s16") return of(integers<int16_t>());
    if (type == "u16") return of(integers<uint16_t>());
    throw PtxError("unknown instruction " + std::string(name) + " of type " + std::string(type));
}

}  // namespace

Arithmetic find_arithmetic(const std::vector<std::string> &parts) {
    const std::string &name = parts[0], &type = parts.back();
    const auto has = [&](const char *part) {
        return std::find(parts.begin(), parts.end(), part) != parts.end();
    };
    if (name == "setp") return comparison(parts.at(1), type);
    if (name == "cvt") return conversion(parts);
    if (name == "cvta") return typed("mov", "u64");
    if (has("wide")) return wide_integer(name, type);
    if (has("hi")) return wide_integer("hi", type);
    return typed(name, type);
}

// `number` bits make up the whole.
void execute_pack(Warp &w, const Instruction &i, uint32_t mask) {
    const int bits = i.number / static_cast<int>(i.vector.size());
    for (int l = 0; l < lanes; l++) {
        if (!(mask >> l & 1)) continue;
        uint64_t whole = 0;
        for (size_t v = 0; v < i.vector.size(); v++)
            whole |= (w.from<uint32_t>(i.vector[v])[l] & ~0u >> (32 - bits)) * (uint64_t{1} << bits * v);
        if (i.number == 64)
            w.to<uint64_t>(i.d)[l] = whole;
        else
            w.to<uint32_t>(i.d)[l] = static_cast<uint32_t>(whole);
    }
}

void execute_unpack(Warp &w, const Instruction &i, uint32_t mask) {
    const int bits = i.number / static_cast<int>(i.vector.size());
    for (int l = 0; l < lanes; l++) {
        if (!(mask >> l & 1)) continue;
        const uint64_t whole = i.number == 64 ? w.from<uint64_t>(i.a)[l] : w.from<uint32_t>(i.a)[l];
        for (size_t v = 0; v < i.vector.size(); v++)
            w.to<uint32_t>(i.vector[v])[l] = static_cast<uint32_t>(whole >> bits * v) & ~0u >> (32 - bits);
    }
}

}  // namespace ptx_machine
