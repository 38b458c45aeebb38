"""A language model with a context of 64 tokens runs a machine for longer than that.

python examples/resume_a_language_model.py

When a text fills the context it is read off, and the next prompt begins where it ended.
"""

import netwright as nw

net = nw.compile("busy-beaver-4", to="language-model", context=64)
print(net, "needs", 2 * 107 + 2, "tokens to halt")
for limit in (20, 40, 80, 107):
    print(net.run(max_steps=limit))

trace = net.trace()  # the first text alone
print(f"one context has {len(trace)} tokens; the last shows {trace[-1].configuration}")
