"""The code that exports carry: it does not depend on netwright, and is copied verbatim.

`export.sources` puts the parts that a file needs into one file. All code here needs only the
packages of its target: numpy, onnxruntime or torch.
"""
