# SPDX-License-Identifier: Apache-2.0
"""Documents that nobody writes, for pages that must survive them."""


def mutated(chance, value):
    """Returns the value with some members of other types and sizes."""
    if chance.random() < 0.07:
        return chance.choice([None, True, -1, 0, 1e300, 2 ** 53, "", "x" * 300, [], {}, [[]], [None], {"toString": 1},
                              {"length": 1e9}, [1e308, -1e308, 0, 1e-300], "__proto__", "\u202e<b>", ["a"] * 50])
    if isinstance(value, dict):
        return {("__proto__" if chance.random() < 0.01 else name): mutated(chance, part) for name, part in value.items()
                if chance.random() > 0.02}
    if isinstance(value, list):
        return [mutated(chance, part) for part in value for _ in range(chance.choice((1, 1, 1, 0, 3)))]
    return value
