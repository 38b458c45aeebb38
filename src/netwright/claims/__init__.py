"""The numbered statements of the paper, each as an experiment that can fail."""
