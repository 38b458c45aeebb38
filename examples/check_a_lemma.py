"""Check Lemma B.4 on a run, for all inputs, and by taking away every residual connection.

    python examples/check_a_lemma.py

The same from the command line: `netwright claims B.4`, `netwright certify palindrome`,
`netwright ablate palindrome abba`.
"""

import netwright as nw

net = nw.compile("palindrome")
print("on runs:       ", net.verify("abba", "ab", random=5))
obligations = [each for each in net.certify().obligations if "B.4" in each.name]
print("for all inputs:", *(f"{each.name}, {each.cases} cases" for each in obligations))

residuals = [part for part in net.parts if part.startswith("residual:")]
for row in net.ablate("abba", parts=residuals):
    print(f"without {row.part:<28} {row.statement} fails, y_{row.output} is wrong, {row.answer}")
