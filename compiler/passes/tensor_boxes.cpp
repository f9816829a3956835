// Elements of boxes are calls of a function that nobody defines: see tensor_boxes.h.
#include "compiler/passes/tensor_boxes.h"

#include <string>

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

const std::string name_of_call = "conv_element_of_box", name_of_store = "conv_stored_in_box";

/// All lanes of a vector have the same; an expression that differs has no value.
Expr of_all_lanes(const Expr &e) {
    const Broadcast *same = e.as<Broadcast>();
    return same ? same->value : e.type().is_scalar() ? e : Expr();
}

}  // namespace

// The element, which map, how many coordinates, these, offsets.
Expr element_of_box(const TensorBox &box) {
    std::vector<Expr> arguments{box.element, box.map, static_cast<int>(box.coordinates.size())};
    arguments.insert(arguments.end(), box.coordinates.begin(), box.coordinates.end());
    arguments.insert(arguments.end(), box.offsets.begin(), box.offsets.end());
    return Call::make(box.element.type(), name_of_call, arguments, Call::PureExtern);
}

std::optional<TensorBox> box_of_element(const Expr &value) {
    const Call *call = value.as<Call>();
    if (!call || call->name != name_of_call) return std::nullopt;
    constexpr std::size_t first = 3;
    const auto constant = [&](int i) { return static_cast<int>(*as_const_int(of_all_lanes(call->args[i]))); };
    TensorBox box{call->args[0], {}, {}, constant(1)};
    const std::size_t offsets = first + constant(2);
    for (std::size_t i = first; i < call->args.size(); i++) {
        std::vector<Expr> &part = i < offsets ? box.coordinates : box.offsets;
        part.push_back(of_all_lanes(call->args[i]));
        if (!part.back().defined()) return std::nullopt;
    }
    return box;
}

// The element, which map, whether at all, positions, coordinates.
Expr stored_in_box(const StoredBox &box) {
    std::vector<Expr> arguments{box.element, box.map, box.stored_if, box.positions};
    arguments.insert(arguments.end(), box.coordinates.begin(), box.coordinates.end());
    return Call::make(box.element.type(), name_of_store, arguments, Call::PureExtern);
}

std::optional<StoredBox> stored_box_of(const Expr &value) {
    const Call *call = value.as<Call>();
    if (!call || call->name != name_of_store) return std::nullopt;
    return StoredBox{call->args[0], {call->args.begin() + 4, call->args.end()}, call->args[3], call->args[2],
                     static_cast<int>(*as_const_int(call->args[1]))};
}

bool has_element_of_box(const Stmt &statement) {
    class Finder : public IRVisitor {
      public:
        bool found = false;

      private:
        using IRVisitor::visit;
        void visit(const Call *call) override {
            found = found || call->name == name_of_call;
            IRVisitor::visit(call);
        }
    };
    Finder finder;
    statement.accept(&finder);
    return finder.found;
}

Expr ElementsOfBoxes::visit(const Call *call) {
    return call->name == name_of_call || call->name == name_of_store ? mutate(call->args[0]) : IRMutator::visit(call);
}

}  // namespace conv_transpose
