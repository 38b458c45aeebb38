"""One engine: moments evaluated once from the weights, remembered, and followed by one kernel."""
