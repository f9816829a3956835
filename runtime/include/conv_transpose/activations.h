/* The activations, one list of them: the enumerations of conv_transpose.h (Activation) and conv_transpose_c.h
 * (conv_transpose_activation) are made of this list, in its order. Each is X(name in C++, name in C, whether it is
 * smooth); the others are a slope of negative sums.
 *
 * prelu's slopes, of which there are as many as biases, stand behind the biases: behind the biases of a group the
 * group's. It needs a bias, and a kernel that takes it: those are of 16 bits and read tensor maps. Without one planning
 * throws Unsupported. */
#ifndef CONV_TRANSPOSE_ACTIVATIONS_H
#define CONV_TRANSPOSE_ACTIVATIONS_H

#define CONV_TRANSPOSE_ACTIVATIONS(X) \
    X(none, NONE, 0)                  \
    X(relu, RELU, 0)                  \
    X(leaky_relu, LEAKY_RELU, 0)      \
    X(tanh, TANH, 1)                  \
    X(sigmoid, SIGMOID, 1)            \
    X(prelu, PRELU, 0)

#endif
