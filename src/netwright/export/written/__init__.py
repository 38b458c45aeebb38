"""The code that exports carry: it knows nothing of netwright, and is copied as it stands.

`export.sources` puts the parts that a file needs into one file. Everything here runs with what its
target has: numpy, onnxruntime or torch.
"""
