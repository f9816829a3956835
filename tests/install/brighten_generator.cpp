// A Halide pipeline of the application's own: see beside_halide.cpp.
#include <Halide.h>

class Brighten : public Halide::Generator<Brighten> {
  public:
    Input<Buffer<float, 1>> input{"input"};
    Output<Buffer<float, 1>> output{"output"};

    void generate() { output(x) = input(x) + 1.f; }
    void schedule() { output.parallel(x); }

  private:
    Halide::Var x{"x"};
};

HALIDE_REGISTER_GENERATOR(Brighten, brighten)
